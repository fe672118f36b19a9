#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ctl/json_access.h"
#include "ctl/table.h"
#include "ctl/views.h"

namespace ktraced {

namespace {

using nlohmann::json;

// Width of a line, in which no list of fields is cut on a common terminal.
constexpr size_t kLineWidth = 120;
// More names than these are a count.
constexpr size_t kNamesMax = 12;
constexpr size_t kReasonsMax = 4;

// "hex_t args[6]", "char filename[]"
std::string field_text(const json& field) {
  std::string type = text_at(field, "type");
  std::string name = text_at(field, "name");
  size_t bracket = std::min(type.find('['), type.size());
  return fmt::format("{} {}{}", type.substr(0, bracket), name, type.substr(bracket));
}

// What an event is; of one that does not say so (a tracepoint) the names of its fields.
std::string description(const json& event) {
  if (!flag_at(event, "available")) return "not available: " + text_at(event, "reason");
  if (std::string doc = text_at(event, "doc"); !doc.empty()) return doc;
  std::string names;
  for (const json& field : list_at(event, "fields"))
    names += (names.empty() ? "" : ", ") + text_at(field, "name");
  return names;
}

Table::Cell state_cell(const json& event, const Colours& colours) {
  if (!flag_at(event, "available"))
    return {.text = "-", .paint = [&colours](std::string_view text) { return colours.red(text); }};
  if (!flag_at(event, "enabled")) return {.text = "off"};
  return {.text = "on", .paint = [&colours](std::string_view text) { return colours.green(text); }};
}

std::string fields_and_format(const json& event, const Colours& colours) {
  std::string out;
  for (const json& field : list_at(event, "fields")) {
    std::string doc = text_at(field, "doc");
    out += fmt::format("    {:<28}  {}", field_text(field), doc.empty() ? "" : colours.dim(doc));
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  if (const std::string print = text_at(event, "print"); !print.empty())
    out += fmt::format("    print format: {}\n", print);
  return out;
}

std::string verbose_view(const json& events, const Colours& colours) {
  std::string out;
  for (const json& event : events) {
    const bool available = flag_at(event, "available");
    out += fmt::format("{}  id {}  group {}  {}\n", colours.bold(text_at(event, "name")),
                       number_at(event, "id"), text_at(event, "group"),
                       !available                  ? colours.red(description(event))
                       : flag_at(event, "enabled") ? colours.green("on")
                                                   : "off");
    if (std::string doc = text_at(event, "doc"); !doc.empty()) out += fmt::format("    {}\n", doc);
    out += fields_and_format(event, colours);
  }
  return out;
}

// A last column that makes no line longer than kLineWidth, unless it says why there is no event.
std::string cut_to(std::string text, size_t width) {
  if (text.size() <= width) return text;
  text.resize(width > 4 ? width - 4 : 0);
  return text.substr(0, text.rfind(' ')) + " ...";
}

}  // namespace

std::string events_view(const json& answer, bool verbose, const Colours& colours) {
  const json& events = list_at(answer, "events");
  if (verbose) return verbose_view(events, colours);
  if (events.empty()) return "";
  size_t before = 5;  // the columns before the last one, and the spaces between all
  size_t names = 5, groups = 5;
  for (const json& event : events) {
    names = std::max(names, text_at(event, "name").size());
    groups = std::max(groups, text_at(event, "group").size());
  }
  before += names + groups + 6;
  std::vector<Table::Cell> head;
  add_headings(head, {"EVENT", "GROUP", "STATE", "DESCRIPTION"}, false, colours);
  Table table(std::move(head));
  for (const json& event : events) {
    std::string last = description(event);
    if (flag_at(event, "available"))
      last = cut_to(std::move(last), kLineWidth - std::min(before, kLineWidth - 30));
    table.add({{.text = text_at(event, "name")},
               {.text = text_at(event, "group")},
               state_cell(event, colours),
               {.text = std::move(last)}});
  }
  return table.text();
}

std::string changed_events_view(const json& answer, bool enabled) {
  const char* done = enabled ? "enabled" : "disabled";
  const auto names = texts_at(answer, "events");
  std::string out = names.size() > kNamesMax
                        ? fmt::format("{} events {}\n", grouped(names.size()), done)
                        : fmt::format("{}: {}\n", done, fmt::join(names, ", "));
  if (names.empty()) out = fmt::format("no event {}\n", done);
  // Events that share a reason share a line.
  std::map<std::string, std::vector<std::string>> reasons;
  const json& skipped = member(answer, "skipped");
  for (const auto& [name, reason] : skipped.items())
    if (reason.is_string()) reasons[reason.get<std::string>()].push_back(name);
  size_t lines = 0, not_named = 0;
  for (const auto& [reason, events] : reasons) {
    if (++lines > kReasonsMax)
      not_named += events.size();
    else if (events.size() > kNamesMax)
      out += fmt::format("not {}: {} events: {}\n", done, grouped(events.size()), reason);
    else
      out += fmt::format("not {}: {}: {}\n", done, fmt::join(events, ", "), reason);
  }
  if (not_named != 0)
    out += fmt::format("not {}: {} more events; --json lists them\n", done, grouped(not_named));
  return out;
}

}  // namespace ktraced

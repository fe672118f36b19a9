// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"
#include "base/text/text_list.h"
#include "ctl/terminal/table.h"
#include "ctl/views/views.h"

namespace ktraced {

namespace {

using nlohmann::json;

// Line width at which lists of fields are not truncated on common terminals.
constexpr size_t kLineWidth = 120;
constexpr size_t kReasonsMax = 4;

// "hex_t args[6]", "char filename[]"
std::string field_text(const json& field) {
  std::string type = text_at(field, "type");
  std::string name = text_at(field, "name");
  size_t bracket = std::min(type.find('['), type.size());
  return fmt::format("{} {}{}", type.substr(0, bracket), name, type.substr(bracket));
}

// The event's description; for an event without one (a tracepoint), the names of its fields.
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

// The width of the last column, so that no line is longer than kLineWidth.
size_t description_width(const json& events) {
  constexpr size_t kGap = 2, kStateWidth = 5, kWidthMin = 30;
  size_t name = 5, group = 5;  // the headings
  for (const json& event : events) {
    name = std::max(name, text_columns(text_at(event, "name")));
    group = std::max(group, text_columns(text_at(event, "group")));
  }
  const size_t before = name + kGap + group + kGap + kStateWidth + kGap;
  return kLineWidth - std::min(before, kLineWidth - kWidthMin);
}

std::string cut_after_word(const std::string& text, size_t width) {
  constexpr std::string_view kTruncated = " ...";
  if (text_columns(text) <= width) return text;
  const std::string fits = cut_to(text, width - kTruncated.size());
  return fits.substr(0, fits.rfind(' ')).append(kTruncated);
}

}  // namespace

std::string events_view(const json& answer, bool verbose, const Colours& colours) {
  const json& events = list_at(answer, "events");
  if (verbose) return verbose_view(events, colours);
  if (events.empty()) return "";
  const size_t width = description_width(events);
  Table table(headings({"EVENT", "GROUP", "STATE", "DESCRIPTION"}, colours));
  for (const json& event : events) {
    const std::string whole = description(event);
    // The reason why an event is not available is never truncated.
    table.add({{.text = text_at(event, "name")},
               {.text = text_at(event, "group")},
               state_cell(event, colours),
               {.text = flag_at(event, "available") ? cut_after_word(whole, width) : whole}});
  }
  return table.text();
}

std::string changed_events_view(const json& answer, bool enabled) {
  const char* done = enabled ? "enabled" : "disabled";
  const auto names = texts_at(answer, "events");
  std::string out = names.size() > kNamesInMessage
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
    else
      out += fmt::format("not {}: {}: {}\n", done, names_or_count(events, "events"), reason);
  }
  if (not_named != 0)
    out += fmt::format("not {}: {} more events; --json lists them\n", done, grouped(not_named));
  return out;
}

}  // namespace ktraced

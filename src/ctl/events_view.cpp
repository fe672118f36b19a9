#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "ctl/json_access.h"
#include "ctl/views.h"

namespace ktraced {

namespace {

using nlohmann::json;

std::string state_of(const json& event, const Colours& colours) {
  if (!flag_at(event, "available"))
    return colours.red(fmt::format("not available: {}", text_at(event, "reason")));
  return flag_at(event, "enabled") ? colours.green("enabled") : "disabled";
}

// "hex_t args[6]", "char filename[]"
std::string field_text(const json& field) {
  std::string type = text_at(field, "type");
  std::string name = text_at(field, "name");
  size_t bracket = std::min(type.find('['), type.size());
  return fmt::format("{} {}{}", type.substr(0, bracket), name, type.substr(bracket));
}

}  // namespace

std::string events_view(const json& answer, const Colours& colours) {
  std::string out;
  for (const json& event : list_at(answer, "events")) {
    out += fmt::format("{}  id {}  group {}  {}\n", colours.bold(text_at(event, "name")),
                       number_at(event, "id"), text_at(event, "group"), state_of(event, colours));
    if (std::string doc = text_at(event, "doc"); !doc.empty()) out += fmt::format("    {}\n", doc);
    for (const json& field : list_at(event, "fields")) {
      std::string doc = text_at(field, "doc");
      out += fmt::format("    {:<28}  {}", field_text(field), doc.empty() ? "" : colours.dim(doc));
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
    }
  }
  return out;
}

}  // namespace ktraced

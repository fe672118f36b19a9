// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/ftrace/ftrace_formats.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace ktraced {

namespace {

using Kind = FormatStep::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 7> kKinds{{{"comm", Kind::comm},
                                                                   {"hex", Kind::hex},
                                                                   {"pointer", Kind::pointer},
                                                                   {"symbol", Kind::symbol},
                                                                   {"truth", Kind::truth},
                                                                   {"accounted", Kind::accounted},
                                                                   {"status", Kind::status}}};

// "pid:comm", the text between braces.
std::optional<FormatStep> parse_reference(std::string_view reference, const Event& event) {
  size_t colon = std::min(reference.find(':'), reference.size());
  auto field = std::ranges::find(event.fields, reference.substr(0, colon), &Field::name);
  if (field == event.fields.end()) return std::nullopt;
  FormatStep step{.kind = Kind::value, .text = {}, .field = *field};
  if (colon == reference.size()) return step;
  std::string_view kind = reference.substr(colon + 1);
  if (kind.size() == 2 && kind[0] == '0' && kind[1] >= '1' && kind[1] <= '9') {
    step.kind = Kind::padded;
    step.width = static_cast<size_t>(kind[1] - '0');
    return step;
  }
  auto known = std::ranges::find(kKinds, kind, &std::pair<std::string_view, Kind>::first);
  if (known == kKinds.end()) return std::nullopt;
  step.kind = known->second;
  return step;
}

std::vector<FormatStep> generic_format(const Event& event) {
  std::vector<FormatStep> steps;
  for (const Field& field : event.fields) {
    std::string_view space = steps.empty() ? "" : " ";
    steps.push_back(
        {.kind = Kind::literal, .text = std::string(space) + field.name + "=", .field = {}});
    steps.push_back({.kind = Kind::value, .text = {}, .field = field});
  }
  return steps;
}

}  // namespace

std::optional<std::vector<FormatStep>> parse_format(std::string_view format, const Event& event) {
  std::vector<FormatStep> steps;
  while (!format.empty()) {
    size_t open = std::min(format.find('{'), format.size());
    if (open != 0)
      steps.push_back(
          {.kind = Kind::literal, .text = std::string(format.substr(0, open)), .field = {}});
    format.remove_prefix(open);
    if (format.empty()) break;
    size_t close = format.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    auto step = parse_reference(format.substr(1, close - 1), event);
    if (!step) return std::nullopt;
    steps.push_back(std::move(*step));
    format.remove_prefix(close + 1);
  }
  return steps;
}

std::vector<FormatStep> ftrace_format_of(const Event& event) {
  if (!event.ftrace.empty())
    if (auto steps = parse_format(event.ftrace, event)) return std::move(*steps);
  return generic_format(event);
}

}  // namespace ktraced

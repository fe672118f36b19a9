// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/call_pins.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "bpf/shared_state.h"
#include "kernel/calls/call_functions.h"

namespace ktraced {
namespace {

constexpr std::string_view kEnter = "enter_", kReturn = "return_";

}  // namespace

std::string call_pin_name(const std::string& function, uint16_t place) {
  return fmt::format("{}{}", place == CALL_ENTERED ? kEnter : kReturn, function);
}

std::vector<std::string> functions_of_pins(const std::vector<std::string>& names) {
  std::set<std::string_view> pinned;
  for (const std::string_view name : names)
    for (const std::string_view place : {kEnter, kReturn})
      if (name.starts_with(place)) pinned.insert(name.substr(place.size()));
  if (pinned.empty()) return {};
  std::vector<std::string> functions = CallFunctions::possible();
  std::erase_if(functions, [&](const std::string& name) { return !pinned.contains(name); });
  return functions;
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include <nlohmann/json.hpp>

#include "base/text/json_access.h"
#include "ctl/terminal/table.h"
#include "ctl/views/views.h"

namespace ktraced {
namespace {

using nlohmann::json;

double real_at(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

}  // namespace

std::string overhead_view(const json& overhead, const Colours& colours) {
  const double seconds = static_cast<double>(number_at(overhead, "duration_ns")) / 1e9;
  if (list_at(overhead, "programs").empty())
    return fmt::format("no BPF program of ktraced ran within {:.1f} s\n", seconds);
  Table table(headings({"PROGRAM", ">HITS/S", ">NS/HIT", ">% OF A CPU"}, colours));
  const auto add = [&](const json& program) {
    const double rate = seconds > 0 ? static_cast<double>(number_at(program, "runs")) / seconds : 0;
    table.add({{text_at(program, "program")},
               {grouped(static_cast<uint64_t>(rate)), true},
               {fmt::format("{:.0f}", real_at(program, "ns_per_run")), true},
               {fmt::format("{:.3f}", real_at(program, "cpu_percent")), true}});
  };
  for (const json& program : list_at(overhead, "programs")) add(program);
  add(member(overhead, "total"));
  return table.text();
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "analysis/stacks/stack_names.h"
#include "ctl/reports/stack_reports.h"
#include "decoders/text/frame_namer.h"

namespace ktraced {
namespace {

using nlohmann::json;

// Numbers things in the order of their appearance.
template <class Thing>
class Numbers {
 public:
  uint64_t of(const Thing& thing) {
    const auto [known, is_new] = numbers_.try_emplace(thing, things_.size());
    if (is_new) things_.push_back(thing);
    return known->second;
  }
  [[nodiscard]] const std::vector<Thing>& things() const { return things_; }

 private:
  std::map<Thing, uint64_t> numbers_;
  std::vector<Thing> things_;
};

class StackPage {
 public:
  StackPage(const StackTable& table, FrameNamer namer)
      : table_(table), names_(table, std::move(namer)) {}

  json points(const StackSums& sums, uint64_t begin_ns, bool with_ns) {
    std::vector<std::pair<uint64_t, uint64_t>> rows;  // owner and stack
    for (const StackRow& row : sums.rows()) rows.push_back(numbers_of(row, sums, !with_ns));
    std::vector<uint64_t> ts, ns, cpu, owner, stack;
    for (const StackPoint& point : sums.points()) {
      ts.push_back(std::max(point.ts, begin_ns) - begin_ns);
      if (with_ns) ns.push_back(point.ns);
      cpu.push_back(point.cpu);
      owner.push_back(rows[point.row].first);
      stack.push_back(rows[point.row].second);
    }
    uint64_t all = 0;
    for (const StackRow& row : sums.rows()) all += row.weight.count;
    json ends;
    add_stack_ends(ends, sums, table_);
    return {{"ts", std::move(ts)},       {"ns", std::move(ns)},       {"cpu", std::move(cpu)},
            {"owner", std::move(owner)}, {"stack", std::move(stack)}, {"of", all},
            {"ends", std::move(ends)}};
  }
  [[nodiscard]] json functions() const {
    json out = json::array();
    for (const uint32_t number : functions_.things()) {
      const FrameText& text = names_.text(number);
      out.push_back(text.module.empty() ? text.function
                                        : fmt::format("{} [{}]", text.function, text.module));
    }
    return out;
  }
  [[nodiscard]] const std::vector<std::vector<uint64_t>>& stacks() const {
    return stacks_.things();
  }
  [[nodiscard]] const std::vector<std::string>& owners() const { return owners_.things(); }

 private:
  std::pair<uint64_t, uint64_t> numbers_of(const StackRow& row, const StackSums& sums,
                                           bool is_sample) {
    if (row.others) return {owners_.of("(others)"), stacks_.of({})};
    std::vector<uint64_t> functions;
    for (const uint32_t text : names_.texts_of(row.key.at, row.ts) | std::views::reverse)
      functions.push_back(functions_.of(text));
    if (is_sample && cpu_mode_of(row.key.what) == CpuMode::guest)
      functions.push_back(functions_.of(names_.number_of({.function = "[guest]", .module = {}})));
    const json owner = owner_json(sums.owners()[row.key.at.owner], sums.by());
    return {owners_.of(owner_label(owner)), stacks_.of(functions)};
  }

  const StackTable& table_;
  StackNames names_;
  Numbers<uint32_t> functions_;
  Numbers<std::vector<uint64_t>> stacks_;
  Numbers<std::string> owners_;
};

}  // namespace

json html_stacks(StackAnalyses& analyses, ReportInput& input, uint64_t begin_ns) {
  const StackTable& table = analyses.table.table();
  if (analyses.samples.sums().lacks_any(table) || analyses.sleeps.sums().lacks_any(table))
    input.read_stacks(analyses.table);
  StackPage page(table, frame_namer([&input](uint64_t address) { return input.symbol(address); }));
  json samples = page.points(analyses.samples.sums(), begin_ns, false);
  json sleeps = page.points(analyses.sleeps.sums(), begin_ns, true);
  return {{"functions", page.functions()},
          {"stacks", page.stacks()},
          {"owners", page.owners()},
          {"samples", std::move(samples)},
          {"sleeps", std::move(sleeps)}};
}

}  // namespace ktraced

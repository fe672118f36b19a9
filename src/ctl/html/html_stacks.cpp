// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_stacks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "analysis/stacks/stack_names.h"
#include "ctl/reports/stack_reports.h"

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
  StackPage(const TraceStacks& stacks, FrameNamer namer) : names_(stacks, std::move(namer)) {}

  json points(const StackSums& sums, uint64_t begin_ns, bool with_ns) {
    using OwnedStack = std::pair<uint64_t, uint64_t>;  // owner and stack
    std::vector<OwnedStack> rows, wakers;
    for (const StackRow& row : sums.rows()) {
      rows.push_back(numbers_of(row, sums, !with_ns));
      if (with_ns) wakers.push_back(numbers_of_waker(row, sums));
    }
    std::vector<uint64_t> ts, ns, cpu, owner, stack, waker, waker_stack;
    for (const StackPoint& point : sums.points()) {
      ts.push_back(std::max(point.ts, begin_ns) - begin_ns);
      if (with_ns) {
        ns.push_back(point.ns);
        waker.push_back(wakers[point.row].first);
        waker_stack.push_back(wakers[point.row].second);
      }
      cpu.push_back(point.cpu);
      owner.push_back(rows[point.row].first);
      stack.push_back(rows[point.row].second);
    }
    uint64_t all = 0;
    for (const StackRow& row : sums.rows()) all += row.weight.count;
    json out = {{"ts", std::move(ts)},
                {"ns", std::move(ns)},
                {"cpu", std::move(cpu)},
                {"owner", std::move(owner)},
                {"stack", std::move(stack)},
                {"of", all},
                {"ends", stack_ends_json(ends_of(sums.rows(), names_))}};
    if (with_ns) {
      out["waker_ends"] = stack_ends_json(ends_of_wakers(sums.rows(), names_));
      out["waker"] = std::move(waker);
      out["waker_stack"] = std::move(waker_stack);
    }
    return out;
  }
  [[nodiscard]] json functions() const {
    json out = json::array();
    for (const uint32_t number : functions_.things()) out.push_back(label_of(names_.text(number)));
    return out;
  }
  [[nodiscard]] const std::vector<std::vector<uint64_t>>& stacks() const {
    return stacks_.things();
  }
  // Their names, and the processes that they are.
  [[nodiscard]] json owners() const {
    json out = json::array();
    for (const auto& [name, pid] : owners_.things()) out.push_back(name);
    return out;
  }
  [[nodiscard]] json pids() const {
    json out = json::array();
    for (const auto& [name, pid] : owners_.things()) out.push_back(pid ? json(*pid) : json());
    return out;
  }

 private:
  std::pair<uint64_t, uint64_t> numbers_of(const StackRow& row, const StackSums& sums,
                                           bool is_sample) {
    if (row.others) return {owners_.of({"(others)", std::nullopt}), stacks_.of({})};
    std::vector<uint64_t> functions = functions_at(row.key.at, row.ts);
    if (is_sample && cpu_mode_of(row.key.what) == CpuMode::guest)
      functions.push_back(functions_.of(
          names_.number_of({.function = "[guest]", .module = {}, .is_named = false})));
    return {owner_of(row.key.at, sums), stacks_.of(functions)};
  }

  std::pair<uint64_t, uint64_t> numbers_of_waker(const StackRow& row, const StackSums& sums) {
    const StackPlace& waker = row.key.waker;
    if (row.others) return {owners_.of({"(others)", std::nullopt}), stacks_.of({})};
    if (waker.owner == StackKey::kNobody)
      return {owners_.of({"(waker not in the trace)", std::nullopt}), stacks_.of({})};
    return {owner_of(waker, sums), stacks_.of(functions_at(waker, row.waker_ts))};
  }

  uint64_t owner_of(const StackPlace& at, const StackSums& sums) {
    const StackOwner& owner = sums.owners()[at.owner];
    const bool is_known = owner.known && !owner.others;
    return owners_.of({owner_label(owner_json(owner, sums.by())),
                       is_known ? std::optional(owner.pid) : std::nullopt});
  }
  // Their numbers, the outermost first.
  std::vector<uint64_t> functions_at(const StackPlace& at, uint64_t ts) {
    std::vector<uint64_t> functions;
    for (const uint32_t text : names_.texts_of(at, ts) | std::views::reverse)
      functions.push_back(functions_.of(text));
    return functions;
  }

  StackNames names_;
  Numbers<uint32_t> functions_;
  Numbers<std::vector<uint64_t>> stacks_;
  Numbers<std::pair<std::string, std::optional<uint32_t>>> owners_;  // name, process
};

}  // namespace

json html_stacks(StackAnalyses& analyses, ReportInput& input, uint64_t begin_ns,
                 const FrameOptions& frames) {
  TraceStacks& stacks = analyses.stacks;
  if (analyses.samples.sums().may_lack(stacks.table()) ||
      analyses.sleeps.sums().may_lack(stacks.table()))
    input.read_stacks(stacks);
  input.add_files(stacks);
  FrameNames files(file_options(frames));
  StackPage page(stacks,
                 frame_namer([&input](uint64_t address) { return input.symbol(address); }, files));
  json samples = page.points(analyses.samples.sums(), begin_ns, false);
  json sleeps = page.points(analyses.sleeps.sums(), begin_ns, true);
  return {{"functions", page.functions()},  {"stacks", page.stacks()},
          {"owners", page.owners()},        {"pids", page.pids()},
          {"samples", std::move(samples)},  {"sleeps", std::move(sleeps)},
          {"caveats", frame_caveats(files)}};
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/stack_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "ctl/reports/actor_json.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr TreeUnit kSamples = {
    .chosen_by = "'sampling' in the configuration says which stacks samples take"};
constexpr TreeUnit kSleeps = {.name = "ns",
                              .of = &StackWeight::ns,
                              .kind = CellKind::duration,
                              .title = "ASLEEP",
                              .events = "SLEEPS"};

// Beside the time of a sample, the CPU ran what has no frames.
const char* inside_of_sample(uint32_t what) {
  return cpu_mode_of(what) == CpuMode::guest ? "[guest]" : nullptr;
}

// Members of the counts, with their sum.
json modes_json(const ModeCounts& counts) {
  json out;
  uint64_t all = 0;
  for (size_t mode = 0; mode < kCpuModes; ++mode) {
    out[std::string(name_of(static_cast<CpuMode>(mode)))] = counts[mode];
    all += counts[mode];
  }
  out["samples"] = all;
  return out;
}

std::string mode_share(const json& row, const json& report) {
  return share_text(number_at(row, "samples"), number_at(report, "samples"));
}

// Names of functions, the innermost first.
json stack_json(const std::vector<uint32_t>& frames, const StackNames& names) {
  json out = json::array();
  for (const uint32_t frame : frames) out.push_back(label_of(names.text(frame)));
  return out;
}

json sleep_json(const StackRow& row, const StackSums& sums, StackNames& names) {
  const StackKey& key = row.key;
  json out = {{"count", row.weight.count},
              {"total_ns", row.weight.ns},
              {"longest_ns", row.weight.longest_ns},
              {"longest_ts", row.weight.longest_ts},
              {"waker", nullptr}};
  if (row.others) {
    out["others"] = true;
    return out;
  }
  out["kind"] = kind_of_sleep(key.what);
  out["owner"] = owner_json(sums.owners()[key.at.owner], sums.by());
  out["stack"] = stack_json(names.texts_of(key.at, row.ts), names);
  if (key.waker.owner == StackKey::kNobody) return out;
  out["waker"] = owner_json(sums.owners()[key.waker.owner], sums.by());
  out["waker"]["stack"] = stack_json(names.texts_of(key.waker, row.waker_ts), names);
  return out;
}

json kinds_json(const OffCpuAnalysis& analysis) {
  std::vector<json> rows;
  for (const auto& [kind, sums] : analysis.kinds())
    rows.push_back({{"kind", kind},
                    {"count", sums.ended.count},
                    {"total_ns", sums.ended.ns},
                    {"longest_ns", sums.ended.longest_ns},
                    {"longest_ts", sums.ended.longest_ts},
                    {"open", sums.open},
                    {"longest_open_ns", sums.longest_open_ns}});
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const json& row) { return number_at(row, "total_ns"); });
  return json(std::move(rows));
}

// Both stacks beside each other.
std::string pair_text(const json& sleep, const Colours& colours) {
  constexpr size_t kShown = 20;                         // frames
  constexpr size_t kIndent = 2, kGap = 2, kLeast = 20;  // columns
  const bool is_limited = colours.columns() != SIZE_MAX;
  const size_t room = std::max(colours.columns(), kIndent + kGap) - kIndent - kGap;
  const size_t width = is_limited ? std::max(room / 2, kLeast) : SIZE_MAX;
  const json& waker = member(sleep, "waker");
  std::vector<std::string> left = texts_at(sleep, "stack"), right = texts_at(waker, "stack");
  for (auto* side : {&left, &right})
    if (side->size() > kShown) {
      const size_t more = side->size() - kShown + 1;
      side->resize(kShown - 1);
      side->push_back(fmt::format("… {} more", more));
    }
  Table table({heading("SLEEPS AT", false, colours),
               heading(waker.is_null() ? "WAKER NOT IN THE TRACE"
                                       : fmt::format("WOKEN BY {} AT", owner_label(waker)),
                       false, colours)});
  const auto cell = [width](const std::vector<std::string>& side, size_t i) {
    return Table::Cell{i < side.size() ? shortened_within(printable(side[i]), width)
                                       : std::string()};
  };
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i)
    table.add({cell(left, i), cell(right, i)});
  return fmt::format("{} in {}, the longest {} at {:.6f}: {}, {}\n",
                     duration_text(number_at(sleep, "total_ns")),
                     counted_text(number_at(sleep, "count"), "sleeps"),
                     duration_text(number_at(sleep, "longest_ns")),
                     in_seconds(number_at(sleep, "longest_ts")),
                     owner_label(member(sleep, "owner")), text_at(sleep, "kind")) +
         table.text(kIndent) + "\n";
}

}  // namespace

const std::vector<ReportTable>& cpu_tables() {
  using namespace columns;
  static const std::vector<ReportTable> kTables = [] {
    std::vector<ReportTable> tables = tree_tables(kSamples);
    tables.push_back({"modes", make_columns(text("mode", "CPUS WERE"), count("samples", "SAMPLES"),
                                            number("", "SHARE", mode_share))});
    tables.push_back(
        {"cpus",
         make_columns(number("cpu", "CPU"), count("samples", "SAMPLES"), count("user", "USER"),
                      count("kernel", "KERNEL"), count("kernel_thread", "KERNEL THREAD"),
                      count("guest", "GUEST"), count("idle", "IDLE"), "unknown")});
    return tables;
  }();
  return kTables;
}

json cpu_report(const CpuSampleAnalysis& analysis, const TraceStacks& stacks,
                const FrameNamer& namer, const ReportCommand& command) {
  json modes = json::array(), cpus = json::array();
  const ModeCounts counts = analysis.modes();
  for (const CpuMode mode : {CpuMode::user, CpuMode::kernel, CpuMode::kernel_thread, CpuMode::guest,
                             CpuMode::idle, CpuMode::unknown})
    if (const uint64_t samples = counts[static_cast<size_t>(mode)]; samples != 0)
      modes.push_back({{"mode", name_of(mode)}, {"samples", samples}});
  for (const auto& [number, of_cpu] : analysis.cpus()) {
    cpus.push_back(modes_json(of_cpu));
    cpus.back()["cpu"] = number;
  }
  json report = {{"samples", number_at(modes_json(counts), "samples")},
                 {"modes", std::move(modes)},
                 {"cpus", std::move(cpus)},
                 {"lost", analysis.lost()}};
  add_stack_trees(report,
                  {.sums = analysis.sums(),
                   .stacks = stacks,
                   .namer = namer,
                   .unit = kSamples,
                   .inside = inside_of_sample},
                  command);
  return report;
}

std::string cpu_report_text(const json& report, const Colours& colours) {
  const auto& tables = cpu_tables();
  return section_text(tables[2], report, colours) + section_text(tables[3], report, colours) +
         stack_trees_text(report, kSamples, colours) +
         notes_text(report, {{"lost", "samples were lost"}}) + caveats_text(report);
}

const std::vector<ReportTable>& off_cpu_tables() {
  using namespace columns;
  static const std::vector<ReportTable> kTables = [] {
    std::vector<ReportTable> tables = tree_tables(kSleeps);
    tables.push_back(
        {"kinds", make_columns(text("kind", "KIND OF SLEEP"), count("count", "SLEEPS"),
                               duration("total_ns", "TOTAL"), duration("longest_ns", "LONGEST"),
                               "longest_ts", count("open", "STILL ASLEEP"),
                               duration("longest_open_ns", "FOR UP TO"))});
    tables.push_back({"waits", make_columns("kind", "count", "total_ns", "longest_ns", "longest_ts",
                                            "owner.pid", "owner.tid", "owner.comm", "owner.cgroup",
                                            "stack", "waker.pid", "waker.tid", "waker.comm",
                                            "waker.cgroup", "waker.stack", "others")});
    return tables;
  }();
  return kTables;
}

json off_cpu_report(const OffCpuAnalysis& analysis, const TraceStacks& stacks,
                    const FrameNamer& namer, const ReportCommand& command) {
  json report = {{"kinds", kinds_json(analysis)},
                 {"lost", analysis.lost()},
                 {"uncertain", analysis.uncertain()},
                 {"not_followed", analysis.not_followed()}};
  StackNames names(stacks, namer);
  const auto before = [](const StackRow& a, const StackRow& b) {
    return a.weight.ns > b.weight.ns;
  };
  report["waits"] =
      first_rows(analysis.sums().rows(), command.top, before,
                 [&](const StackRow& row) { return sleep_json(row, analysis.sums(), names); });
  add_stack_trees(report,
                  {.sums = analysis.sums(), .stacks = stacks, .namer = namer, .unit = kSleeps},
                  command);
  report["stacks"]["wakers"] = stack_ends_json(ends_of_wakers(analysis.sums().rows(), names));
  return report;
}

std::string off_cpu_report_text(const json& report, const Colours& colours) {
  std::string out = section_text(off_cpu_tables()[2], report, colours);
  const json& waits = member(report, "waits");
  for (const json& sleep : list_at(waits, "rows"))
    if (!flag_at(sleep, "others")) out += pair_text(sleep, colours);
  if (const std::string more = more_rows(waits); !more.empty()) out += more + "\n";
  return out + stack_trees_text(report, kSleeps, colours) +
         stack_ends_text(member(member(report, "stacks"), "wakers"),
                         {.whose = "the wakers of ", .events = "sleeps"}) +
         notes_text(
             report,
             {{"lost", "events were lost"},
              {"uncertain", "sleeps are not counted: something is missing in the middle"},
              {"not_followed", "sleeps were not followed: too many threads slept at once"}}) +
         caveats_text(report);
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <fmt/format.h>

#include "analysis/coverage/call_result.h"
#include "analysis/intervals/call_paths.h"
#include "ctl/tables/analysis_scan.h"
#include "ctl/tables/interval_names.h"
#include "ctl/tables/tables.h"
#include "schema/names.h"

namespace ktraced {
namespace {

constexpr std::string_view kPathUses[] = {
    "sys_enter",     "sys_exit",           "sys_enter_string",  "sys_exit_string",
    "sys_completed", "sched_process_exec", "sched_process_exit"};
constexpr std::string_view kPathNeeds[] = {"sys_enter", "sys_exit", "sys_enter_string",
                                           "sys_exit_string"};
constexpr std::string_view kPathRows[] = {"sys_enter_string"};

class PathCallScan : public AnalysisScan, public PathCallSink {
 public:
  // All is read from the beginning: a path may come before the beginning of its call.
  PathCallScan(const TableInput& input, const std::vector<Column>& columns,
               const ScanLimits& limits, const std::atomic<bool>& stop)
      : AnalysisScan(input, columns, limits, stop, false) {}

  void on_path_call(const PathCall& call) override {
    for (const CallPath& path : call.paths)
      if (!path.names_nothing()) add(call, path);
  }

 private:
  void add(const PathCall& call, const CallPath& path) {
    add_times(call.begin_ns, call.end_ns, call.known());
    rows().integer(call.cpu);
    add_task(call.tid, call.begin_ns, std::nullopt);
    rows().integer(static_cast<uint64_t>(call.nr));
    rows().name(syscall_name(call.abi, call.nr));
    rows().integer(call.abi);
    add_result(call);
    add_path(path);
    rows().name(name_of(call.unknown));
  }
  void add_result(const PathCall& call) {
    const int32_t error = call.known() ? error_of_call(call.nr, call.ret) : 0;
    const bool opened = call.known() && error == 0 && arguments_.opens(call.abi, call.nr);
    rows().integer(call.known() ? std::optional(static_cast<uint64_t>(call.ret)) : std::nullopt);
    rows().name(errno_name(error));
    rows().integer(call.known() ? std::optional<uint64_t>(opened ? 1U : 0U) : std::nullopt);
  }
  void add_path(const CallPath& path) {
    if (path.unreadable)
      rows().null();
    else
      rows().text(std::string_view(path.text));
    rows().name(name_of(path.role));
    const auto directory = path.relative_to();
    if (!directory || *directory == AT_FDCWD)
      rows().name(directory ? "cwd" : "");
    else
      rows().text(std::string_view(fmt::format("fd {}", *directory)));
    rows().integer(path.cut ? 1U : 0U);
    rows().integer(path.unreadable ? 1U : 0U);
  }
  [[nodiscard]] bool is_open(uint64_t ns) const override { return paths_.is_open(ns); }
  [[nodiscard]] Analysis& analysis() override { return paths_; }
  void finish(TraceInput& input) override { paths_.finish(input.facts({}).end_ns); }

  CallPaths paths_{*this};
  PathArguments arguments_;
};

}  // namespace

std::unique_ptr<QueryTable> path_calls_table(const TableInput& input) {
  std::vector<Column> columns;
  add_time_columns(columns, "when the call began", "when it returned");
  // A call comes when its paths are complete, which is after its end.
  columns[1].limits = Limits::nothing;
  columns.push_back({.name = "cpu", .doc = "on which it returned", .limits = Limits::cpu});
  add_task_columns(columns);
  columns.push_back({.name = "nr", .doc = "the number of the call"});
  columns.push_back({.name = "syscall", .is_text = true, .doc = "its name"});
  columns.push_back({.name = "abi", .doc = "0: x86_64, 1: i386, 2: x32"});
  columns.push_back({.name = "ret", .doc = "what it returned; NULL if that is not certain"});
  columns.push_back({.name = "error", .is_text = true, .doc = "ENOENT …; NULL if it succeeded"});
  columns.push_back({.name = "opened", .doc = "1: it opened the file, 0: it did not"});
  columns.push_back({.name = "path",
                     .is_text = true,
                     .doc = "a path, as the call got it; NULL if it could not be read"});
  columns.push_back({.name = "role",
                     .is_text = true,
                     .doc = "path; of two old_path, new_path, link_target or mount_source"});
  columns.push_back({.name = "relative_to",
                     .is_text = true,
                     .doc = "of a relative path: cwd, or fd 5 for a descriptor"});
  columns.push_back({.name = "cut", .doc = "1: the path is longer"});
  columns.push_back({.name = "unreadable", .doc = "1: it could not be read"});
  columns.push_back(
      {.name = "unknown", .is_text = true, .doc = "why dur and ret are NULL: lost …"});
  return std::make_unique<AnalysisTable<PathCallScan>>(
      input, "path_calls", "system calls with the paths that they got, a row for each path",
      std::move(columns), kPathUses, kPathNeeds, kPathRows);
}

}  // namespace ktraced

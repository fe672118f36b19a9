// SPDX-License-Identifier: BSD-2-Clause
// Traces of a few events, and the reports on them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/reports/report.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {

using nlohmann::json;

inline constexpr uint64_t kSite = 0xffffffff81000001;

inline Bytes kmalloc_at(uint64_t ts, uint64_t ptr, uint64_t site = kSite) {
  return make_record(
      EVENT_kmalloc, ts, 8,
      rec_kmalloc{.call_site = site, .ptr = ptr, .bytes_req = 300, .bytes_alloc = 512});
}
inline Bytes kfree_at(uint64_t ts, uint64_t ptr) {
  return make_record(EVENT_kfree, ts, 9, rec_kfree{.call_site = kSite, .ptr = ptr});
}
// The last thread of a process ends.
inline Bytes ended(uint64_t ts, int32_t tid, int32_t code) {
  return make_record(EVENT_sched_process_exit, ts, static_cast<uint32_t>(tid),
                     rec_sched_process_exit{.pid = tid, .exit_code = code, .group_dead = 1});
}
class ReportTest : public ::testing::Test {
 protected:
  // Two allocations on CPU 0, of which CPU 1 frees the first; and a free of something else.
  static TraceSpec spec(uint64_t start = kSecond) {
    return {.schema = built_schema(),
            .packets = {{.cpu = 0,
                         .records = {kmalloc_at(start, 0x1000), kmalloc_at(start + 100, 0x2000)}},
                        {.cpu = 1,
                         .records = {kfree_at(start + kSecond, 0x1000),
                                     kfree_at(start + kSecond + 1, 0x9000)}}},
            .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine")},
            .symbols = {{kSite, "put_pid+0x1/0x2"}},
            .begin_ns = start,
            .end_ns = start + 2 * kSecond};
  }
  std::string write(const TraceSpec& spec, const std::function<void(Manifest&)>& change = {},
                    const std::string& name = "a") {
    const auto path = directory_.path() / name;
    auto writer = begin_trace(path, spec);
    Manifest manifest = manifest_of(*writer, spec);
    if (change) change(manifest);
    check(writer->finish(manifest, spec.symbols));
    return path;
  }
  void run(ReportCommand command, bool as_json) {
    Options options;
    options.json = as_json;
    ::testing::internal::CaptureStdout();
    result_ = run_report(command, options);
    out_ = ::testing::internal::GetCapturedStdout();
  }
  json report(ReportCommand::Kind kind, std::vector<std::string> directories) {
    run(command(kind, std::move(directories)), true);
    return json::parse(out_);
  }
  json kmem(const std::string& directory) { return report(ReportCommand::Kind::kmem, {directory}); }
  std::string text(ReportCommand::Kind kind, const std::string& directory) {
    run(command(kind, {directory}), false);
    return out_;
  }
  static ReportCommand command(ReportCommand::Kind kind, std::vector<std::string> directories) {
    ReportCommand command;
    command.kind = kind;
    command.directories = std::move(directories);
    return command;
  }

  TempDirectory directory_;
  Result<> result_;
  std::string out_;
};

}  // namespace ktraced::test

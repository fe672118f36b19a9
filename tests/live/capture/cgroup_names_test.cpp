// SPDX-License-Identifier: BSD-2-Clause
// The control groups of threads are in streams and traces, without any filter.
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "bpf/records.h"
#include "harness/client/process_rows.h"
#include "harness/client/stream.h"
#include "harness/machine/cgroups.h"
#include "harness/machine/process.h"
#include "harness/machine/puppet.h"
#include "harness/traces/flight.h"
#include "harness/traces/truth.h"
#include "trace/directory/trace_reader.h"

namespace ktraced::live {
namespace {

const json kProcessEvents = {{"events", {{"process", true}}}, {"flight", {{"enabled", true}}}};

TraceReader opened(const std::filesystem::path& path) {
  auto reader = TraceReader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  return std::move(*reader);
}

TraceReader snapshot_of(Daemon& daemon) {
  const json snapshot = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  return opened(snapshot["path"].get<std::string>());
}

std::string path_at(const TraceReader& trace, uint32_t tid, uint64_t ts) {
  return std::string(trace.names().cgroup_path(trace.names().cgroup_at(tid, ts)));
}

std::string below_root(const Cgroup& group) {
  return "/" + group.path().lexically_relative(cgroup2_mount()).string();
}

TEST(CgroupNames, AreThoseOfGroupsMadeBeforeAndAfterTheStart) {
  const Cgroup before(cgroup2_mount(), "ktraced-before");
  Daemon daemon(kProcessEvents);
  std::vector<std::pair<pid_t, std::string>> expected;
  {
    const Cgroup after(cgroup2_mount(), "ktraced-after");
    for (const Cgroup* group : {&before, &after}) {
      const json truth = run_truth({"--cgroup", group->path(), "fork", "1"});
      expected.emplace_back(truth["pid"], below_root(*group));
      expected.emplace_back(truth["children"][0]["pid"], below_root(*group));
    }
  }  // removed before the snapshot
  const TraceReader trace = snapshot_of(daemon);
  const uint64_t end = trace.end_ns();
  for (const auto& [pid, path] : expected)
    EXPECT_EQ(path_at(trace, static_cast<uint32_t>(pid), end), path) << pid;
}

TEST(CgroupNames, OfGroupsThatExistStayWhileManyOthersComeAndGo) {
  constexpr int kMany = 3000;
  const Cgroup old(cgroup2_mount(), "ktraced-old");
  const Cgroup parent(cgroup2_mount(), "ktraced-many");
  const Puppet puppet;
  old.write("cgroup.procs", std::to_string(puppet.pid()));
  Daemon daemon(kProcessEvents);
  for (int i = 0; i < kMany; ++i) {
    const std::filesystem::path other = parent.path() / std::to_string(i);
    ASSERT_EQ(::mkdir(other.c_str(), 0755), 0) << errno_text(errno);
    ASSERT_EQ(::rmdir(other.c_str()), 0) << errno_text(errno);
  }
  const TraceReader trace = snapshot_of(daemon);
  EXPECT_EQ(path_at(trace, static_cast<uint32_t>(puppet.pid()), trace.end_ns()), below_root(old));
  EXPECT_NE(path_at(trace, static_cast<uint32_t>(::getpid()), trace.end_ns()), "");
}

// The programs' table of the control groups that exist.
class ExistingGroups {
 public:
  explicit ExistingGroups(const Daemon& daemon)
      : map_(bpf_obj_get((daemon.pinned_object() / "maps/cgroups").c_str())) {
    if (!map_) throw std::runtime_error("cgroups is not pinned");
  }
  [[nodiscard]] std::optional<rec_metadata_cgroup> find(uint64_t id) const {
    rec_metadata_cgroup group{};
    if (bpf_map_lookup_elem(map_.get(), &id, &group) != 0) return std::nullopt;
    return group;
  }
  void put(const rec_metadata_cgroup& group) const {
    if (bpf_map_update_elem(map_.get(), &group.cgroup, &group, BPF_ANY) != 0)
      throw std::runtime_error("cannot put a group back: " + errno_text(errno));
  }

 private:
  Fd map_;
};

uint64_t id_of(const Cgroup& group) {
  struct stat directory{};
  if (::stat(group.path().c_str(), &directory) != 0) throw std::runtime_error(errno_text(errno));
  return directory.st_ino;
}

TEST(CgroupNames, OfGroupsThatAreRemovedWhileNothingIsTracedAreKnown) {
  Daemon daemon(kProcessEvents);
  const ExistingGroups existing(daemon);
  auto group = std::make_unique<const Cgroup>(cgroup2_mount(), "ktraced-paused");
  const uint64_t id = id_of(*group);
  auto puppet = std::make_unique<const Puppet>();
  const auto pid = static_cast<uint32_t>(puppet->pid());
  const std::string path = below_root(*group);
  group->write("cgroup.procs", std::to_string(pid));
  const uint64_t moved = boottime_ns();
  const auto known = existing.find(id);
  ASSERT_TRUE(known);
  daemon.call("pause");
  puppet.reset();
  group.reset();
  existing.put(*known);  // a detached program may run for a moment, and have seen the removal
  daemon.call("resume");
  EXPECT_TRUE(eventually([&] { return !existing.find(id); })) << "a removed group keeps its room";
  EXPECT_EQ(path_at(snapshot_of(daemon), pid, moved), path);
}

TEST(CgroupNames, HaveTheTimesOfMoves) {
  Daemon daemon(kProcessEvents);
  const Cgroup group(cgroup2_mount(), "ktraced-moved");
  Command record = {"record",
                    "-o",
                    (daemon.directory() / "trace").string(),
                    "--",
                    kTruthProgram,
                    "--cgroup",
                    group.path().string(),
                    "rename"};
  const Finished recorded = daemon.ctl(record);
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  const auto pid = truth_of(recorded)["pid"].get<uint32_t>();
  const TraceReader trace = opened(daemon.directory() / "trace");
  const std::string own = path_at(trace, static_cast<uint32_t>(::getpid()), trace.end_ns());
  ASSERT_NE(own, "");
  EXPECT_EQ(path_at(trace, pid, trace.names().task_at(pid, 0)->since), own) << "as it was started";
  EXPECT_EQ(path_at(trace, pid, trace.end_ns()), below_root(group));
  const std::string selected = daemon.ctl_ok({"show", (daemon.directory() / "trace").string(),
                                              "--cgroup", below_root(group), "--format", "json"});
  EXPECT_NE(selected.find("task_rename"), std::string::npos);
  EXPECT_EQ(selected.find("sched_process_exec"), std::string::npos) << "before the move";
  EXPECT_EQ(daemon.ctl_ok({"show", (daemon.directory() / "trace").string(), "--cgroup",
                           group.path().string(), "--format", "json"}),
            selected)
      << "by the path of its directory";
  EXPECT_EQ(
      process_column(daemon, daemon.directory() / "trace", static_cast<pid_t>(pid), "cgroup_id"),
      id_of(group));
}

}  // namespace
}  // namespace ktraced::live

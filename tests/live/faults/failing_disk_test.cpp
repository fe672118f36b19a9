// SPDX-License-Identifier: BSD-2-Clause
// A disk that accepts writes and then loses them, so that fsync() fails once, and one that cannot
// read what it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/client/daemon.h"
#include "harness/client/stream_output.h"
#include "harness/disks/faulty_disk.h"
#include "harness/disks/thin_disk.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNoRoom = "No space left on device";
constexpr const char* kBadBlock = "Input/output error";

// `error`: why the disk fails.
void expect_honest_traces(auto& disk, const char* error) {
  WaitingTruth first({"numbered", "1000"}), much({"numbered", "30000"}), last({"numbered", "1000"});
  Daemon daemon(for_processes({first.pid(), much.pid(), last.pid()},
                              output_config(disk.path() / "d", {{"max_file_mb", 1}})));
  first.act();
  wait_until_on_disk(daemon, disk.path() / "d");
  disk.fail();
  much.act();
  ASSERT_TRUE(daemon.logged("the stream cannot be recorded, trying again"));
  EXPECT_THAT(output_status(daemon)["last_error"].get<std::string>(), HasSubstr(error));
  disk.repair();
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["failing"] == false; }));
  last.act();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_TRUE(daemon.logged("recording continues"));

  const std::vector<fs::path> traces = traces_in(disk.path() / "d");
  uint64_t next = manifest_of(traces.front())["begin_ns"];
  for (const fs::path& trace : traces) {
    const json manifest = manifest_of(trace);
    EXPECT_EQ(manifest["begin_ns"], next) << trace;
    next = manifest["end_ns"].get<uint64_t>() + 1;
  }
  EXPECT_EQ(show_calls(traces, last.pid()).numbers, from_to(1, 1000));
  EXPECT_EQ(show_calls({traces.front()}, first.pid()).numbers, from_to(1, 1000))
      << "what the disk did not lose, or the kernel still has";
  const json reasons = manifest_of(traces.front())["incomplete_because"];
  EXPECT_THAT(reasons.dump(), HasSubstr("may be missing"));
  EXPECT_THAT(manifest_of(traces.back())["incomplete_because"].dump(),
              Not(HasSubstr("may be missing")));
}

void expect_one_failed_snapshot(auto& disk, const char* error) {
  WaitingTruth before({"numbered", "1000"}), lost({"numbered", "20000"}),
      after({"numbered", "1000"});
  Daemon daemon(flight_config_for({before.pid(), lost.pid(), after.pid()},
                                  {{"directory", disk.path() / "snapshots"}}));
  before.act();
  daemon.ctl_ok({"snapshot", "take", "--name", "before"});
  lost.act();
  disk.fail();
  const Finished failed = daemon.ctl({"snapshot", "take", "--name", "failed"});
  EXPECT_EQ(failed.exit_code, 74) << failed.out << failed.err;
  // The kernel has one error for what it cannot write of the file system's own blocks.
  EXPECT_THAT(failed.err, AnyOf(HasSubstr(error), HasSubstr(kBadBlock)));
  EXPECT_TRUE(daemon.logged("snapshot failed could not be written, its history is lost"));
  EXPECT_FALSE(fs::exists(disk.path() / "snapshots/failed"));
  disk.repair();
  after.act();
  daemon.ctl_ok({"snapshot", "take", "--name", "after"});
  EXPECT_EQ(numbers_in(disk.path() / "snapshots/before", before.pid()), from_to(1, 1000));
  EXPECT_EQ(numbers_in(disk.path() / "snapshots/after", after.pid()), from_to(1, 1000));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(FailingDisk, LeavesNoTraceOfTheStreamThatClaimsToBeComplete) {
  ThinDisk thin;
  expect_honest_traces(thin, kNoRoom);
  FaultyDisk faulty;
  expect_honest_traces(faulty, kBadBlock);
  EXPECT_GT(faulty.failed(), 0U);
}

TEST(FailingDisk, FailsASnapshotWithTheReasonAndTakesTheNextOne) {
  ThinDisk thin;
  expect_one_failed_snapshot(thin, kNoRoom);
  FaultyDisk faulty;
  expect_one_failed_snapshot(faulty, kBadBlock);
  EXPECT_GT(faulty.failed(), 0U);
}

TEST(FailingDisk, ReportsWhatItCannotReadAndTakesOtherSnapshots) {
  FaultyDisk disk;
  const fs::path snapshots = disk.path() / "snapshots";
  WaitingTruth before({"numbered", "1000"}), after({"numbered", "1000"});
  Daemon daemon(flight_config_for({before.pid(), after.pid()}, {{"directory", snapshots}}));
  before.act();
  daemon.ctl_ok({"snapshot", "take", "--name", "before"});
  disk.fail_reads(snapshots);
  const Finished shown = daemon.ctl({"show", snapshots / "before"});
  EXPECT_EQ(shown.exit_code, 74) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr(kBadBlock));
  after.act();
  daemon.ctl_ok({"snapshot", "take", "--name", "after"});
  const json list = daemon.call("snapshot.list")["snapshots"];
  EXPECT_EQ(list.size(), 2U) << list;
  disk.repair();
  EXPECT_GT(disk.failed(), 0U);
  EXPECT_THAT(daemon.ctl_ok({"snapshot", "list"}), Not(HasSubstr("unreadable")));
  EXPECT_EQ(numbers_in(snapshots / "before", before.pid()), from_to(1, 1000));
  EXPECT_EQ(numbers_in(snapshots / "after", after.pid()), from_to(1, 1000));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

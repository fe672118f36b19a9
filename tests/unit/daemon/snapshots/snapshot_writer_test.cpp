// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "trace/directory/trace_reader.h"
#include "trace/metadata/lost_names.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint16_t kKmalloc = 10;
constexpr uint64_t kMs = kSecond / 1000;
constexpr size_t kBytes = 4096;
constexpr uint64_t kFits = kBytes / sizeof(record);  // records in a ring

// Writes snapshots of two CPUs whose rings became empty 1 s after boot.
class SnapshotWriterTest : public testing::Test {
 protected:
  SnapshotWriterTest() {
    job.path = directory.path() / "snapshot";
    job.frozen.begin_ts = kSecond;
    job.frozen.swap_ts = 9 * kSecond;
    for (uint32_t cpu = 0; cpu < rings.size(); ++cpu) job.frozen.rings[cpu] = &rings[cpu];
    job.manifest.origin = test_origin();
    job.manifest.previous = "before";
    job.manifest.config = {{"events", {"kmalloc"}}, {"state", "running"}};
    job.manifest.schema.add(
        {.id = kKmalloc, .name = "kmalloc", .fields = {}, .size = sizeof(record)});
  }
  // Writes records as the programs do, one each millisecond from `begin_ns` on.
  void fill(uint32_t cpu, uint64_t begin_ns, uint64_t records) {
    auto& header = *reinterpret_cast<flight_header*>(areas[cpu].data());
    for (uint64_t i = 0; i < records; ++i) {
      const Bytes bytes = bare_record(begin_ns + i * kMs, kKmalloc);
      header.head -= bytes.size();
      std::memcpy(areas[cpu].data() + sizeof(header) + (header.head & (kBytes - 1)), bytes.data(),
                  bytes.size());
      ++header.records[kKmalloc];
    }
  }
  Manifest written() {
    KernelSymbols symbols;
    const auto done = write_snapshot(job, symbols);
    if (!done) throw std::runtime_error(done.error().message);
    const auto trace = TraceReader::open(job.path);
    if (!trace) throw std::runtime_error(trace.error().message);
    EXPECT_THAT(trace->damage(), IsEmpty());
    return trace->manifest();
  }

  TempDirectory directory;
  std::array<std::vector<std::byte>, 2> areas = {
      std::vector<std::byte>(FlightRing::whole_size(kBytes)),
      std::vector<std::byte>(FlightRing::whole_size(kBytes))};
  std::array<FlightRing, 2> rings = {FlightRing::make_in_arena(ARENA_PAGE, areas[0], kBytes),
                                     FlightRing::make_in_arena(ARENA_PAGE, areas[1], kBytes)};
  SnapshotJob job;
};

TEST_F(SnapshotWriterTest, SaysWhichNamesMayBeWrongBeforeTheCommonWindowToo) {
  fill(0, kSecond, kFits + 500);
  fill(1, kSecond, 1);
  job.names.complete_since = kSecond + 200 * kMs;
  const Manifest manifest = written();
  EXPECT_EQ(manifest.begin_ns, kSecond + 500 * kMs) << "all names are known from here on";
  EXPECT_EQ(manifest.since_ns, kSecond);
  EXPECT_EQ(manifest.names_since_ns, job.names.complete_since);
  EXPECT_THAT(manifest.incomplete_because,
              Contains("threads may carry wrong names from 1.000 to 1.200 s after boot: more names "
                       "have changed than are kept"));
}

TEST_F(SnapshotWriterTest, SaysWhichNamesMayBeWrongInTheCommonWindow) {
  fill(0, kSecond, kFits + 500);
  fill(1, kSecond, kFits + 100);
  job.names.complete_since = 2 * kSecond;
  const Manifest manifest = written();
  EXPECT_EQ(manifest.since_ns, 0U) << "no CPU has its first records";
  EXPECT_THAT(manifest.incomplete_because,
              Contains(HasSubstr("wrong names from 1.100 to 2.000 s after boot")));
}

TEST_F(SnapshotWriterTest, SaysThatPathsOfControlGroupsAreMissing) {
  fill(0, kSecond, kFits + 500);
  fill(1, kSecond, 1);
  job.names.cgroups_since = kSecond + 200 * kMs;
  job.names.unkept_cgroups = 3;
  const Manifest manifest = written();
  EXPECT_EQ(manifest.names_since_ns, 0U) << "the names of threads are known";
  EXPECT_THAT(manifest.incomplete_because,
              ElementsAre("paths of control groups that were removed from 1.000 to 1.200 s after "
                          "boot may be missing: more were removed than are kept",
                          "paths of 3 control groups are missing: more exist than are kept"));
}

TEST_F(SnapshotWriterTest, IsCompleteIfTheNamesAreKnownFromTheFirstRecordOn) {
  fill(0, kSecond, kFits + 500);
  fill(1, kSecond, 1);
  job.names.complete_since = job.names.cgroups_since = kSecond;
  const Manifest manifest = written();
  EXPECT_EQ(manifest.names_since_ns, 0U);
  EXPECT_THAT(manifest.incomplete_because, IsEmpty());
}

TEST_F(SnapshotWriterTest, SaysThatCommandLinesAreMissing) {
  fill(0, kSecond, 1);
  job.commands = unread_commands_record;
  Manifest manifest = written();
  EXPECT_FALSE(manifest.commands_complete);
  EXPECT_THAT(manifest.incomplete_because, IsEmpty());
  std::filesystem::remove_all(job.path);
  job.commands = lost_commands_record;
  manifest = written();
  EXPECT_TRUE(manifest.commands_complete);
  EXPECT_THAT(manifest.incomplete_because,
              Contains("command lines of processes are missing: the daemon had no room for them"));
}

TEST_F(SnapshotWriterTest, AddsTheBuildIdsOfMappedFilesBeforeItEnds) {
  fill(0, kSecond, 1);
  uint64_t records = 0;
  job.user_code = [&](const TraceWriter& writer, const RealStart&) {
    records = writer.total().records;
  };
  EXPECT_EQ(written().total().records, 1U);
  EXPECT_EQ(records, 1U) << "all records are there when the files are asked for";
}

TEST_F(SnapshotWriterTest, BeginsWithACpuThatWasPluggedInBeforeItHadARingAndHasOverwritten) {
  fill(0, kSecond, 1);
  fill(1, 3 * kSecond, kFits + 500);
  job.unrecorded[1] = {{.count = 3, .event_id = kKmalloc, .reserved = 0}};
  const Manifest manifest = written();
  EXPECT_EQ(manifest.begin_ns, 3 * kSecond + 500 * kMs);
  EXPECT_EQ(window_of(manifest).furthest_ns, kSecond);
  EXPECT_EQ(manifest.since_ns, kSecond) << "of CPU 0";
}

TEST_F(SnapshotWriterTest, ReachesBackToNoOtherOneIfAllCpusLackWhatCameFirst) {
  fill(0, kSecond, kFits + 500);
  fill(1, 3 * kSecond, 1);
  EXPECT_EQ(written().previous, "before") << "CPU 1 has all its records";
  std::filesystem::remove_all(job.path);
  job.unrecorded[1] = {{.count = 3, .event_id = kKmalloc, .reserved = 0}};
  const Manifest manifest = written();
  EXPECT_EQ(manifest.previous, "");
  EXPECT_EQ(manifest.since_ns, 0U);
  EXPECT_THAT(manifest.incomplete_because,
              Contains("CPU 1: 3 kmalloc events are lost: they happened before it had its flight "
                       "ring"));
}

}  // namespace
}  // namespace ktraced::test

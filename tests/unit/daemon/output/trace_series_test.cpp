// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files/host.h"
#include "trace/directory/name_files.h"
#include "trace/directory/trace_reader.h"
#include "unit/daemon/output/fake_drain.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::FakeDrain;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr Uuid kUuid{1, 2, 3};  // of FakeDrain

class TraceSeriesTest : public testing::Test {
 protected:
  TraceFacts facts() {
    return {.manifest =
                [] {
                  Manifest manifest;
                  manifest.origin.uuid = kUuid;
                  return manifest;
                },
            .current_config = nullptr,
            .missed = [this] { return missed; },
            .follow_lost = [this] { return follow_lost; },
            .names = [this] { return names; },
            .symbol = [](uint64_t) { return std::nullopt; },
            .lost_before = [this] { return lost_before; },
            .mask = [this](const Schema&) { return mask; }};
  }
  TraceSeries series(uint64_t begin_ns = 100) {
    return {facts(),
            {.settings = {.directory = directory()},
             .begin_ns = begin_ns,
             .missed = missed,
             .current_config = std::make_shared<const json>(json{{"state", "running"}}),
             .names = names}};
  }
  fs::path directory() const { return root.path() / "d"; }

  static Result<> take(TraceSeries& series, const PacketBytes& packet, uint32_t max_files = 100) {
    return series.take(PacketView::parse(*packet).value(), max_files);
  }
  static void take_all(TraceSeries& series, const std::vector<PacketBytes>& batch,
                       uint32_t max_files = 100) {
    for (const PacketBytes& packet : batch) ASSERT_TRUE(take(series, packet, max_files));
  }
  static PacketBytes metadata_packet(uint64_t until, const std::vector<std::byte>& records = {}) {
    return build_metadata_packet(kUuid, 0, until, records);
  }

  // The manifests of the complete traces, oldest first.
  std::vector<Manifest> manifests() const {
    std::vector<Manifest> all;
    for (const StoredTrace& trace : std::vector(TraceStore(directory()).list().value()))
      all.push_back(TraceReader::open(directory() / trace.name).value().manifest());
    std::ranges::sort(all, {}, &Manifest::begin_ns);
    return all;
  }

  test::TempDirectory root;
  HitCounts missed;
  uint64_t follow_lost = 0;
  std::vector<std::byte> names;
  std::shared_ptr<AddressMask> mask;
  std::optional<uint64_t> lost_before;
};

TEST_F(TraceSeriesTest, BeginsEachTraceWhereThePreviousOneEnds) {
  FakeDrain drain(3, 1);
  uint64_t lost = 0, records = 0;
  {
    TraceSeries series = this->series();
    for (int i = 0; i < 60; ++i) {
      take_all(series, drain.batch(20, 2000 + static_cast<uint64_t>(i) * 1000));
      if (i % 10 != 9) continue;
      ASSERT_TRUE(series.finish_trace());
    }
    EXPECT_EQ(series.files(), 6U);
  }
  uint64_t end = 99;
  const auto all = manifests();
  EXPECT_THAT(all, SizeIs(6));
  for (const Manifest& manifest : all) {
    EXPECT_EQ(manifest.kind, TraceKind::recording);
    EXPECT_EQ(manifest.begin_ns, end + 1);
    EXPECT_EQ(manifest.complete(), manifest.total().lost == 0);
    end = manifest.end_ns;
    records += manifest.total().records;
    lost += manifest.total().lost;
  }
  EXPECT_EQ(end, 61'000U);
  uint64_t happened = 0;
  for (const auto& [cpu, counts] : drain.happened())
    for (const auto& [event, count] : counts) happened += count;
  EXPECT_EQ(records + lost, happened);
}

TEST_F(TraceSeriesTest, FirstTraceAfterACrashReportsLosses) {
  fs::create_directories(directory());
  TraceOrigin origin = test::test_origin();
  origin.boot_id = boot_id();
  test::begin_trace(directory() / "stream-1", {.origin = origin})->keep_unfinished();
  {
    TraceSeries series = this->series();
    take_all(series, {metadata_packet(200)});
    ASSERT_TRUE(series.finish_trace());
    take_all(series, {metadata_packet(300)});
    ASSERT_TRUE(series.finish_trace());
  }
  TraceSeries later = this->series(400);
  take_all(later, {metadata_packet(500)});
  ASSERT_TRUE(later.finish_trace());
  std::vector<std::vector<std::string>> reasons;
  for (const Manifest& manifest : manifests()) reasons.push_back(manifest.incomplete_because);
  EXPECT_THAT(reasons, ElementsAre(ElementsAre(HasSubstr("an unknown number of events is lost "
                                                         "between the end of stream-1.partial")),
                                   IsEmpty(), IsEmpty()));
}

TEST_F(TraceSeriesTest, FirstTraceAfterACrashReportsTheCountOfLossesIfKnown) {
  fs::create_directories(directory());
  TraceOrigin origin = test::test_origin();
  origin.boot_id = boot_id();
  test::begin_trace(directory() / "stream-1", {.origin = origin})->keep_unfinished();
  lost_before = 37'590;
  {
    TraceSeries series = this->series();
    take_all(series, {metadata_packet(200)});
    ASSERT_TRUE(series.finish_trace());
  }
  EXPECT_THAT(manifests().back().incomplete_because,
              ElementsAre(HasSubstr("37590 events are lost between the end of stream-1.partial")));
  lost_before = 0;
  fs::rename(directory() / "stream-1.partial", directory() / "stream-9.partial");
  fs::last_write_time(directory() / "stream-9.partial/manifest.json",
                      fs::file_time_type::clock::now());
  TraceSeries series = this->series(400);
  take_all(series, {metadata_packet(500)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests().back().incomplete_because, IsEmpty()) << "all of it was on the disk";
}

TEST_F(TraceSeriesTest, IgnoresTracesOfAnotherBoot) {
  fs::create_directories(directory());
  test::begin_trace(directory() / "stream-1", {})->keep_unfinished();
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests().at(0).incomplete_because, IsEmpty());
}

TEST_F(TraceSeriesTest, CountsTheBytesATraceBeginsWith) {
  TraceSeries series = this->series();
  EXPECT_EQ(series.carried_bytes(), 0U);
  take_all(series, {metadata_packet(200)});
  const uint64_t few = series.carried_bytes();
  EXPECT_GT(few, 0U);
  ASSERT_TRUE(series.finish_trace());
  for (uint32_t tid = 1; tid <= 1000; ++tid) {
    const auto name = test::task_name(tid, 1, tid, "carried");
    names.insert(names.end(), name.begin(), name.end());
  }
  take_all(series, {metadata_packet(300)});
  EXPECT_GT(series.carried_bytes(), few + 1000 * 40);
}

TEST_F(TraceSeriesTest, KeepsTheNewestIncludingTracesOfAnotherDaemon) {
  const fs::path left = directory() / "stream-0.partial";
  fs::create_directories(left / "ctf");
  fs::create_directories(directory() / "other.partial/ctf");
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)}, 2);
  EXPECT_EQ(series.files(), 2U);
  EXPECT_TRUE(fs::exists(left));
  ASSERT_TRUE(series.finish_trace());
  take_all(series, {metadata_packet(300)}, 2);
  EXPECT_EQ(series.files(), 2U);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(directory() / "other.partial")) << "not of this series";
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests(), SizeIs(2));
  take_all(series, {metadata_packet(400)}, 1);
  EXPECT_THAT(manifests(), IsEmpty());
  ASSERT_TRUE(series.finish_trace());
  EXPECT_EQ(manifests().at(0).end_ns, 400U);
  EXPECT_EQ(series.counts().traces, 3U);
  EXPECT_EQ(series.counts().evicted, 3U) << "the one left, and two of its own";
}

TEST_F(TraceSeriesTest, CountsTheBytesOfFinishedTracesAndOfTheOneThatItWrites) {
  FakeDrain drain(2, 5);
  TraceSeries series = this->series();
  uint64_t bytes = 0;
  const auto write = [&](uint64_t until) {
    for (const PacketBytes& packet : drain.batch(20, until)) {
      if (PacketView::parse(*packet).value().header().stream_id ==
          static_cast<uint32_t>(StreamId::events))
        bytes += packet->size();
      ASSERT_TRUE(take(series, packet));
    }
  };
  for (uint64_t until = 2000; until < 20'000; until += 1000) write(until);
  ASSERT_GT(bytes, 0U);
  EXPECT_GE(series.counts().written_bytes, bytes);
  const uint64_t first = series.counts().written_bytes;
  ASSERT_TRUE(series.finish_trace());
  EXPECT_EQ(series.counts().written_bytes, first);
  for (uint64_t until = 20'000; until < 40'000; until += 1000) write(until);
  EXPECT_GT(series.counts().written_bytes, first);
}

TEST_F(TraceSeriesTest, RetriesTheSamePacketAfterAFailure) {
  std::ofstream(directory()) << "not a directory";
  FakeDrain drain(2, 5);
  TraceSeries series = this->series();
  std::vector<PacketBytes> batch;
  while (batch.size() < 2) batch = drain.batch(20, 5000);
  auto failed = take(series, batch.front());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ExitCode::io);
  EXPECT_THAT(failed.error().message, HasSubstr(directory().string()));
  EXPECT_EQ(series.name(), "");
  fs::remove(directory());
  take_all(series, batch);
  ASSERT_TRUE(series.finish_trace());
  EXPECT_EQ(manifests().at(0).begin_ns, 100U);
  uint64_t records = 0;
  for (const PacketBytes& packet : batch)
    if (PublishedPacket published(packet); !published.is_metadata())
      for (const auto& [event, count] : published.records()) records += count;
  EXPECT_EQ(manifests().at(0).total().records, records);
}

TEST_F(TraceSeriesTest, ReportsUnwrittenEventsInOneTraceOnly) {
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  series.skip(500, "disk on fire");
  ASSERT_TRUE(series.finish_trace());
  take_all(series, {metadata_packet(600)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_EQ(manifests().at(0).end_ns, 500U);
  EXPECT_THAT(manifests().at(0).incomplete_because,
              ElementsAre("its last records could not be written: disk on fire"));
  EXPECT_EQ(manifests().at(1).begin_ns, 501U);
  EXPECT_TRUE(manifests().at(1).complete());
}

TEST_F(TraceSeriesTest, ReportsARemovedTraceAndBeginsAnother) {
  FakeDrain drain(1, 2);
  TraceSeries series = this->series();
  std::vector<PacketBytes> batch;
  while (batch.size() < 2) batch = drain.batch(20, 5000);
  take_all(series, batch);
  fs::remove_all(directory());
  ASSERT_TRUE(series.finish_trace());
  EXPECT_GT(series.removed_records(), 0U);
  take_all(series, {metadata_packet(6000)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests(), SizeIs(1));
  EXPECT_EQ(manifests().at(0).begin_ns, 5001U);
}

TEST_F(TraceSeriesTest, KeepsTheWrittenPartWhenItGivesUp) {
  TraceSeries series = this->series();
  EXPECT_EQ(series.give_up(), std::nullopt);
  take_all(series, {metadata_packet(200)});
  const auto left = series.give_up();
  ASSERT_TRUE(left);
  EXPECT_TRUE(TraceReader::open(*left, true));
  EXPECT_EQ(series.name(), "");
}

TEST_F(TraceSeriesTest, ReportsMissedHitsOfItsTime) {
  missed = {{"kmalloc", 5}};
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  missed = {{"kmalloc", 7}};
  ASSERT_TRUE(series.finish_trace());
  EXPECT_EQ(manifests().at(0).missed, (HitCounts{{"kmalloc", 2}}));
  EXPECT_THAT(manifests().at(0).incomplete_because,
              ElementsAre("the kernel skipped 2 hits of kmalloc"));
}

TEST_F(TraceSeriesTest, ReportsMissedHitsInAdjacentTracesOnly) {
  TraceSeries series = this->series();
  missed = {{"kmalloc", 9}};  // much later, because the disk was slow
  for (uint64_t end = 200; end <= 600; end += 100) {
    take_all(series, {metadata_packet(end)});
    series.note_missed({end + 10, end + 11, {{"kmalloc", end >= 400 ? 2U : 0U}}});
    ASSERT_TRUE(series.finish_trace());
  }
  std::vector<HitCounts> actual;
  for (const Manifest& manifest : manifests()) actual.push_back(manifest.missed);
  const HitCounts none, two = {{"kmalloc", 2}};
  EXPECT_THAT(actual, ElementsAre(none, none, two, two, none));
}

TEST_F(TraceSeriesTest, ReportsProcessesThatCouldNotBeFollowedOnce) {
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  follow_lost = 3;
  ASSERT_TRUE(series.finish_trace());
  take_all(series, {metadata_packet(300)});
  ASSERT_TRUE(series.finish_trace());
  EXPECT_THAT(manifests().at(0).incomplete_because,
              ElementsAre("3 processes could not be followed"));
  EXPECT_TRUE(manifests().at(1).complete());
}

TEST_F(TraceSeriesTest, RecordsConfigChangesInTheTraceOfTheirTime) {
  auto state = [](const char* text) { return std::make_shared<const json>(json{{"state", text}}); };
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)});
  series.change({.ns = 250, .current_config = state("paused")});
  series.change({.ns = 450, .current_config = state("running again")});
  take_all(series, {metadata_packet(300)});
  ASSERT_TRUE(series.finish_trace());
  take_all(series, {metadata_packet(500)});
  ASSERT_TRUE(series.finish_trace());
  const json first = manifests().at(0).config, second = manifests().at(1).config;
  EXPECT_EQ(first["state"], "running");
  EXPECT_EQ(first["changes"], json::array({{{"ns", 250}, {"config", {{"state", "paused"}}}}}));
  EXPECT_EQ(second["state"], "paused");
  EXPECT_EQ(second["changes"],
            json::array({{{"ns", 450}, {"config", {{"state", "running again"}}}}}));
}

// The tables know when a thread got its newest name, and may be ahead of the packets.
TEST_F(TraceSeriesTest, GivesPseudonymsToTracesThatReadersMayOpen) {
  constexpr uint64_t kAddress = 0xffff888012345678;
  const auto pseudonyms = AddressPseudonyms::random();
  TraceSeries series = this->series();
  const auto caches_of_next = [&] {
    take_all(series, {metadata_packet(200, test::cache_name(kAddress, "dentry"))});
    EXPECT_TRUE(series.finish_trace());
    return test::read_file(directory() / series.last_name() / kCachesFile);
  };
  const auto key = [](uint64_t value) { return fmt::format("{:x}", value); };
  EXPECT_THAT(caches_of_next(), HasSubstr(key(kAddress)));
  mask = std::make_shared<AddressMask>(pseudonyms, Schema());
  for (int trace = 0; trace < 2; ++trace)
    EXPECT_THAT(caches_of_next(),
                AllOf(HasSubstr(key(pseudonyms.hide(kAddress))), Not(HasSubstr(key(kAddress)))));
}

TEST_F(TraceSeriesTest, NextTraceHasTheNamesOfItsBeginning) {
  auto add = [](std::vector<std::byte>& to, const test::Bytes& name) {
    to.insert(to.end(), name.begin(), name.end());
  };
  add(names, test::task_name(7, 10, 7, "old", 10));
  add(names, test::task_name(8, 10, 8, "gone", 10));
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200, test::task_name(9, 150, 9, "named", 150))});
  ASSERT_TRUE(series.finish_trace());
  names.clear();
  add(names, test::task_name(7, 250, 7, "new", 10));    // renamed
  add(names, test::task_name(9, 220, 9, "next", 220));  // another thread with the same id
  take_all(series, {metadata_packet(300, test::task_name(7, 250, 7, "new", 10))});
  ASSERT_TRUE(series.finish_trace());

  const fs::path path = directory() / manifests().at(1).name;
  const TraceReader trace = TraceReader::open(path).value();
  auto comm = [&](uint32_t tid, uint64_t ts) -> std::string {
    const TaskName* name = trace.names().task_at(tid, ts);
    return name == nullptr ? "?" : std::string(name->comm());
  };
  EXPECT_EQ(comm(7, 240), "old");
  EXPECT_EQ(comm(7, 260), "new");
  EXPECT_EQ(comm(9, 210), "named");
  EXPECT_EQ(comm(9, 230), "next");
  EXPECT_EQ(comm(8, 210), "?") << "evicted from the tables";
}

}  // namespace
}  // namespace ktraced

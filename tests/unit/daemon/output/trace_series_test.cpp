// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/directory/name_files.h"
#include "trace/directory/trace_reader.h"
#include "unit/daemon/output/fake_drain.h"
#include "unit/daemon/output/trace_series_fixture.h"
#include "unit/support/refusing_disk.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using test::FakeDrain;
using test::TraceSeriesTest;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

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

TEST_F(TraceSeriesTest, RemovesNoDirectoryThatSomebodyElseHasPutThere) {
  const fs::path mine = directory() / "stream-mine";
  fs::create_directories(mine);
  std::ofstream(mine / "manifest.json") << "{}";
  std::ofstream(mine / "code.c") << "x";
  TraceSeries series = this->series();
  take_all(series, {metadata_packet(200)}, 1);
  ASSERT_TRUE(series.finish_trace());
  take_all(series, {metadata_packet(300)}, 1);
  EXPECT_TRUE(fs::exists(mine / "code.c"));
  EXPECT_EQ(series.files(), 1U);
  EXPECT_EQ(series.counts().evicted, 1U) << "its own first one";
}

TEST_F(TraceSeriesTest, CountsTheBytesOfFinishedTracesAndOfTheOneThatItWrites) {
  FakeDrain drain(2, 5);
  TraceSeries series = this->series();
  uint64_t bytes = 0;
  const auto write = [&](uint64_t until) {
    for (const PacketBytes& packet : drain.batch(20, until)) {
      if (!PacketView::of_built(packet).is_metadata()) bytes += packet->size();
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
  EXPECT_EQ(manifests().at(0).total().records, test::records_in(batch));
}

TEST_F(TraceSeriesTest, RemovesAPacketThatTheDiskHasTakenInPart) {
  FakeDrain drain(1, 4);
  TraceSeries series = this->series();
  std::vector<PacketBytes> first, second;
  while (first.size() < 2) first = drain.batch(20, 5000);
  while (second.size() < 2) second = drain.batch(20, 9000);
  take_all(series, first);
  const fs::path file = directory() / (series.name() + ".partial") / "ctf/cpu0";
  const uint64_t size = fs::file_size(file);
  {
    const test::RefusingDisk disk(size + 10);
    const auto failed = take(series, second.front());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ExitCode::io);
  }
  EXPECT_EQ(fs::file_size(file), size);
  take_all(series, second);
  ASSERT_TRUE(series.finish_trace());
  uint64_t happened = 0;
  for (const auto& [event, count] : drain.happened().at(0)) happened += count;
  const EventAccount total = manifests().at(0).total();
  EXPECT_EQ(total.records + total.lost, happened);
  const auto trace = TraceReader::open(directory() / series.last_name());
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->damage().empty());
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

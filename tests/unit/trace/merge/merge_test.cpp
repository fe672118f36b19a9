// SPDX-License-Identifier: BSD-2-Clause
#include "trace/merge/merge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using test::bare_record;
using test::make_packet;
using test::PacketSpec;

// Notes what is released: "cpu:ts" for records, "cpu:ts-count" for losses.
class Notes : public MergeSink {
 public:
  void on_record(const RecordOrigin& from, RecordView record) override {
    add(fmt::format("{}:{}", from.cpu, record.ts()));
  }
  void on_loss(const LossItem& loss) override {
    add(fmt::format("{}:{}-{}", loss.cpu, loss.ts, loss.count));
  }
  void on_stack(const RecordOrigin& from, RecordView record) override {
    add(fmt::format("{}:{}s", from.cpu, record.ts()));
  }
  std::string take() { return std::exchange(text_, ""); }

 private:
  void add(const std::string& item) { text_ += (text_.empty() ? "" : " ") + item; }
  std::string text_;
};

class MergerTest : public ::testing::Test {
 protected:
  void push(const PacketSpec& spec) {
    auto bytes = std::make_shared<test::Bytes>(make_packet(spec));
    auto packet = PacketView::parse(*bytes);
    ASSERT_TRUE(packet) << packet.error().message;
    merger_.push(*packet, bytes);
  }
  void push(uint32_t cpu, std::initializer_list<uint64_t> times) {
    PacketSpec spec{.cpu = cpu};
    for (uint64_t ts : times) spec.records.push_back(bare_record(ts));
    push(spec);
  }
  std::string release(uint64_t until) {
    merger_.release(until, notes_);
    return notes_.take();
  }

  Merger merger_;
  Notes notes_;
};

TEST_F(MergerTest, OrdersRecordsOfCpusByTime) {
  push(0, {1, 4, 7});
  push(1, {2, 3, 9});
  push(0, {8});
  EXPECT_EQ(release(UINT64_MAX), "0:1 1:2 1:3 0:4 0:7 0:8 1:9");
  EXPECT_EQ(merger_.pending_bytes(), 0U);
}

TEST_F(MergerTest, GivesStacksBeforeTheEventsThatNeedThem) {
  const auto stack = [](uint64_t ts) { return test::stack_record_of(ts, {.number = 9}); };
  const auto event = [](uint64_t ts) {
    return test::with_stacks(bare_record(ts), {.kernel = 9, .user = 0});
  };
  const test::Bytes file = test::file_record_of(4, 5, "/bin/true");
  const test::Bytes mapping = test::mapping_record_of(4, {.end = 1});
  push({.cpu = 0, .records = {bare_record(1), file, mapping, stack(4), event(4)}});
  push({.cpu = 1, .records = {stack(4), event(4), event(5)}});
  EXPECT_EQ(release(UINT64_MAX), "0:1 0:4s 0:4s 0:4s 0:4 1:4s 1:4 1:5");
}

TEST_F(MergerTest, KeepsRecordsAfterTheWatermark) {
  push(0, {1, 4, 7});
  push(1, {2, 5});
  EXPECT_EQ(release(4), "0:1 1:2 0:4");
  EXPECT_GT(merger_.pending_bytes(), 0U);
  push(1, {6});
  EXPECT_EQ(release(4), "");
  EXPECT_EQ(release(6), "1:5 1:6");
  EXPECT_EQ(release(100), "0:7");
}

TEST_F(MergerTest, OrdersEqualTimesByCpuThenByPacket) {
  push(2, {5, 5});
  push(1, {5});
  push(0, {5});
  push(1, {5, 6});
  EXPECT_EQ(release(10), "0:5 1:5 1:5 2:5 2:5 1:6");
}

TEST_F(MergerTest, OrdersACpuThatArrivesLate) {
  push(0, {10, 20, 30});
  EXPECT_EQ(release(15), "0:10");
  push(7, {18, 25});
  EXPECT_EQ(release(40), "7:18 0:20 7:25 0:30");
}

TEST_F(MergerTest, PlacesLossesWhereThePreviousPacketOfTheirCpuEnded) {
  push(0, {1, 10});
  push({.cpu = 0, .records = {bare_record(50)}, .lost = {{.count = 3, .event_id = 1}}});
  push(1, {5, 12, 40});
  EXPECT_EQ(release(100), "0:1 1:5 0:10 0:10-3 1:12 1:40 0:50");
}

TEST_F(MergerTest, PlacesLossesOfAFirstPacketAtItsBeginning) {
  push({.cpu = 0,
        .records = {bare_record(50)},
        .lost = {{.count = 3, .event_id = 1}, {.count = 4, .event_id = 2}}});
  push(1, {49, 51});
  EXPECT_EQ(release(100), "1:49 0:50-3 0:50-4 0:50 1:51");
}

TEST_F(MergerTest, AcceptsAPacketWithOnlyLosses) {
  push(0, {10});
  push({.cpu = 0, .lost = {{.count = 9, .event_id = 1}}, .begin = 20, .end = 30});
  push(0, {40});
  push({.cpu = 0, .records = {bare_record(60)}, .lost = {{.count = 2, .event_id = 1}}});
  EXPECT_EQ(release(100), "0:10 0:10-9 0:40 0:40-2 0:60");
}

TEST_F(MergerTest, DoesNotPlaceLossesBeforeReleasedRecords) {
  push(0, {10});
  push(1, {90});
  EXPECT_EQ(release(100), "0:10 1:90");
  push({.cpu = 0, .records = {bare_record(150)}, .lost = {{.count = 5, .event_id = 1}}});
  EXPECT_EQ(release(200), "0:100-5 0:150") << "all records of CPU 0 up to 100 had been released";
}

TEST_F(MergerTest, PlacesLossesBeforeTheRecordTheyPrecede) {
  push({.cpu = 0, .records = {bare_record(10)}, .end = 500});  // ends after its record
  push({.cpu = 0, .records = {bare_record(20)}, .lost = {{.count = 5, .event_id = 1}}});
  push(1, {15});
  EXPECT_EQ(release(100), "0:10 1:15 0:20-5 0:20");
}

TEST_F(MergerTest, KeepsNothingOfEmptyPackets) {
  push({.cpu = 0, .begin = 5, .end = 6});
  EXPECT_EQ(merger_.pending_bytes(), 0U);
}

TEST_F(MergerTest, FreesBytesWhenReleased) {
  auto bytes = std::make_shared<test::Bytes>(
      make_packet({.records = {bare_record(1), bare_record(5)}, .lost = {}}));
  merger_.push(*PacketView::parse(*bytes), bytes);
  EXPECT_EQ(bytes.use_count(), 2);
  release(3);
  EXPECT_EQ(bytes.use_count(), 2) << "the second record is still needed";
  release(5);
  EXPECT_EQ(bytes.use_count(), 1);
}

// For any split into packets, CPUs and releases, every record comes once, in time order.
TEST_F(MergerTest, SortsRandomStreamsCompletely) {
  std::mt19937_64 random(1);
  uint64_t now = 0;
  size_t pushed = 0;
  std::vector<uint64_t> seen;
  struct Collect : MergeSink {
    explicit Collect(std::vector<uint64_t>& times) : times_(times) {}
    void on_record(const RecordOrigin&, RecordView record) override {
      times_.push_back(record.ts());
    }
    void on_loss(const LossItem&) override {}
    std::vector<uint64_t>& times_;
  } collect(seen);
  for (int pass = 0; pass < 200; ++pass) {
    uint64_t batch_end = now + 1000;
    for (uint32_t cpu = 0; cpu < 8; ++cpu) {
      uint64_t ts = now;
      for (uint64_t packets = random() % 4; packets > 0; --packets) {
        PacketSpec spec{.cpu = cpu};
        for (uint64_t records = random() % 20; records > 0; --records)
          spec.records.push_back(bare_record(ts += random() % 20));
        pushed += spec.records.size();
        push(spec);
      }
    }
    merger_.release(batch_end, collect);
    now = batch_end + 1;
  }
  merger_.release_all(collect);
  EXPECT_EQ(seen.size(), pushed);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

}  // namespace
}  // namespace ktraced

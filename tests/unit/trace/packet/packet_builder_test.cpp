// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/packet_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace ktraced {
namespace {

struct NumberedRecord {
  record h;
  uint64_t number;
};

std::vector<std::byte> make_record(uint64_t ts, uint64_t number, uint16_t id = 1) {
  NumberedRecord r{.h = {.ts = ts, .id = id, .size = sizeof(NumberedRecord), .tid = 7},
                   .number = number};
  std::vector<std::byte> bytes(sizeof(r));
  std::memcpy(bytes.data(), &r, sizeof(r));
  return bytes;
}

PacketView view(const PacketBytes& packet) {
  auto parsed = PacketView::parse(*packet);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

std::vector<uint64_t> times(const std::vector<PacketBytes>& packets) {
  std::vector<uint64_t> out;
  for (const PacketBytes& packet : packets)
    view(packet).for_each_record([&](const RecordView& r) { out.push_back(r.ts()); });
  return out;
}

std::vector<uint64_t> numbers(const std::vector<PacketBytes>& packets) {
  std::vector<uint64_t> out;
  for (const PacketBytes& packet : packets)
    view(packet).for_each_record([&](const RecordView& r) {
      NumberedRecord copy;
      std::memcpy(&copy, r.bytes().data(), sizeof(copy));
      out.push_back(copy.number);
    });
  return out;
}

class PacketBuilderTest : public ::testing::Test {
 protected:
  PacketBuilder builder_{Uuid{1, 2, 3}, 5, 100};
  std::vector<PacketBytes> out_;
};

TEST_F(PacketBuilderTest, CopiesRecordsByteForByte) {
  auto bytes = make_record(200, 42);
  builder_.add(bytes);
  builder_.take(1000, out_);
  ASSERT_EQ(out_.size(), 1U);
  PacketView packet = view(out_[0]);
  EXPECT_EQ(packet.header().cpu_id, 5U);
  EXPECT_EQ(packet.header().timestamp_begin, 200U);
  EXPECT_EQ(packet.header().timestamp_end, 200U);
  EXPECT_EQ(packet.header().packet_seq_num, 0U);
  packet.for_each_record([&](const RecordView& r) {
    EXPECT_TRUE(std::equal(r.bytes().begin(), r.bytes().end(), bytes.begin(), bytes.end()));
  });
}

TEST_F(PacketBuilderTest, MakesNoPacketWithoutRecords) {
  builder_.take(1000, out_);
  EXPECT_TRUE(out_.empty());
}

TEST_F(PacketBuilderTest, SortsNestedRecordsByTime) {
  for (uint64_t ts : {110, 140, 130, 120, 150}) builder_.add(make_record(ts, ts));
  builder_.take(1000, out_);
  EXPECT_EQ(times(out_), (std::vector<uint64_t>{110, 120, 130, 140, 150}));
  EXPECT_EQ(numbers(out_), times(out_));
  EXPECT_EQ(builder_.late_records(), 0U);
}

TEST_F(PacketBuilderTest, KeepsRecentRecordsInTheReorderWindow) {
  builder_.add(make_record(110, 1));
  builder_.add(make_record(190, 3));
  builder_.take(150, out_);
  EXPECT_EQ(numbers(out_), (std::vector<uint64_t>{1}));
  builder_.add(make_record(180, 2));
  builder_.take(300, out_);
  EXPECT_EQ(numbers(out_), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(builder_.discard(), 0U);
}

TEST_F(PacketBuilderTest, KeepsTimeMonotonicWithALateRecord) {
  builder_.add(make_record(200, 1));
  builder_.take(1000, out_);
  builder_.add(make_record(150, 2));
  builder_.take(1000, out_);
  EXPECT_EQ(times(out_), (std::vector<uint64_t>{200, 200}));
  EXPECT_EQ(builder_.late_records(), 1U);
}

TEST_F(PacketBuilderTest, LossesEndThePacketWhereTheyHappened) {
  builder_.add(make_record(110, 1));
  std::vector<Lost> lost{{.count = 3, .event_id = 16}, {.count = 2, .event_id = 17}};
  builder_.lose(lost);
  builder_.add(make_record(130, 2));
  builder_.take(1000, out_);
  ASSERT_EQ(out_.size(), 2U);
  EXPECT_TRUE(view(out_[0]).lost().empty());
  EXPECT_EQ(view(out_[0]).header().events_discarded, 0U);
  EXPECT_EQ(view(out_[1]).lost(), lost);
  EXPECT_EQ(view(out_[1]).header().events_discarded, 5U);
  EXPECT_EQ(view(out_[1]).header().packet_seq_num, 1U);
}

TEST_F(PacketBuilderTest, ReportsLossesWithoutALaterRecord) {
  builder_.add(make_record(110, 1));
  builder_.lose(std::vector<Lost>{{.count = 9, .event_id = 16}});
  builder_.take(1000, out_);
  ASSERT_EQ(out_.size(), 2U);
  EXPECT_EQ(view(out_[1]).header().events_discarded, 9U);
  EXPECT_EQ(view(out_[1]).header().timestamp_begin, 110U);
  builder_.take(1000, out_);
  EXPECT_EQ(out_.size(), 2U) << "once";
}

TEST_F(PacketBuilderTest, ReportsLossesBeforeTheReorderWindowOnce) {
  builder_.lose(std::vector<Lost>{{.count = 4, .event_id = 16}});
  builder_.add(make_record(500, 1));
  builder_.take(150, out_);
  builder_.take(1000, out_);
  uint64_t lost = 0;
  for (const PacketBytes& packet : out_)
    for (const Lost& l : view(packet).lost()) lost += l.count;
  EXPECT_EQ(lost, 4U);
  EXPECT_EQ(numbers(out_), (std::vector<uint64_t>{1}));
}

TEST_F(PacketBuilderTest, KeepsPacketsSmallUnderLoad) {
  constexpr uint64_t kRecords = 100'000;
  for (uint64_t i = 0; i < kRecords; ++i) builder_.add(make_record(200 + i, i));
  builder_.take(UINT64_MAX, out_);
  EXPECT_GT(out_.size(), 1U);
  for (const PacketBytes& packet : out_)
    EXPECT_LE(packet->size(), PacketBuilder::kTargetBytes + 1024);
  std::vector<uint64_t> expected(kRecords);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(numbers(out_), expected);
}

TEST_F(PacketBuilderTest, ReportsDiscardedRecordsAsLost) {
  builder_.add(make_record(110, 1, 16));
  builder_.add(make_record(120, 2, 16));
  builder_.add(make_record(130, 3, 17));
  EXPECT_EQ(builder_.discard(), 3U);
  builder_.take(1000, out_);
  ASSERT_EQ(out_.size(), 1U);
  EXPECT_EQ(view(out_[0]).lost(),
            (std::vector<Lost>{{.count = 2, .event_id = 16}, {.count = 1, .event_id = 17}}));
}

TEST_F(PacketBuilderTest, CountsARecordWhoseSizeIsNotThatOfItsBytesAsLost) {
  auto longer = make_record(120, 2, 16);
  longer.resize(longer.size() + 8);
  auto nothing = make_record(130, 3, 17);
  std::ranges::fill(std::span(nothing).subspan(offsetof(record, size), 2), std::byte{0});
  builder_.add(make_record(110, 1));
  builder_.add(longer);
  builder_.add(nothing);
  builder_.add(make_record(140, 4));
  builder_.take(1000, out_);
  EXPECT_EQ(numbers(out_), (std::vector<uint64_t>{1, 4}));
  ASSERT_EQ(out_.size(), 2U);
  EXPECT_EQ(view(out_[1]).lost(),
            (std::vector<Lost>{{.count = 1, .event_id = 16}, {.count = 1, .event_id = 17}}));
}

TEST(MetadataPacket, HasAWatermarkAndRecords) {
  PacketBytes packet = build_metadata_packet(Uuid{9}, 3, 777, make_record(5, 6));
  EXPECT_EQ(view(packet).header().stream_id, static_cast<uint32_t>(StreamId::metadata));
  EXPECT_EQ(view(packet).header().timestamp_end, 777U);
  EXPECT_EQ(numbers({packet}), (std::vector<uint64_t>{6}));
}

TEST(MetadataPackets, AreReadHoweverManyRecordsThereAre) {
  std::vector<std::byte> records;
  uint64_t count = 0;
  for (; records.size() < 3 * kPacketMaxBytes; ++count)
    for (const std::byte byte : make_record(5, static_cast<uint32_t>(count)))
      records.push_back(byte);
  uint64_t sequence = 7;
  const auto packets =
      build_metadata_packets(Uuid{9}, sequence, {.before = 500, .complete_until = 777}, records);
  EXPECT_EQ(sequence, 7 + packets.size());
  EXPECT_EQ(numbers(packets).size(), count);
  for (const PacketBytes& packet : packets) {
    EXPECT_LE(packet->size(), kPacketMaxBytes);
    EXPECT_EQ(view(packet).header().timestamp_end, packet == packets.back() ? 777U : 500U);
  }
}

}  // namespace
}  // namespace ktraced

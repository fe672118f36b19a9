// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/packet.h"

#include <gtest/gtest.h>

#include <random>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using test::bare_record;
using test::Bytes;
using test::make_packet;

Bytes small_packet() {
  return make_packet({.cpu = 3,
                      .records = {bare_record(1), test::task_name(5, 2, 5, "bash"), bare_record(3)},
                      .lost = {{.count = 4, .event_id = 1}, {.count = 5, .event_id = 2}}});
}

// Acts like a reader of a packet: touches every byte the packet describes.
uint64_t read_all(const PacketView& packet) {
  uint64_t sum = 0;
  for (const Lost& lost : packet.lost()) sum += lost.count + lost.event_id;
  packet.for_each_record([&](RecordView record) {
    for (std::byte byte : record.bytes()) sum += std::to_integer<uint64_t>(byte);
  });
  return sum;
}

TEST(Packet, RoundTrips) {
  auto bytes = small_packet();
  auto packet = PacketView::parse(bytes);
  ASSERT_TRUE(packet) << packet.error().message;
  EXPECT_EQ(packet->header().cpu_id, 3U);
  EXPECT_EQ(packet->lost().at(1).count, 5U);
  std::vector<uint64_t> times;
  packet->for_each_record([&](RecordView record) { times.push_back(record.ts()); });
  EXPECT_EQ(times, (std::vector<uint64_t>{1, 2, 3}));
}

TEST(Packet, HasTheContextOfARecordBesideItsSize) {
  std::vector<Bytes> records;
  for (int context = 0; context <= RECORD_CONTEXT; ++context)
    records.push_back(
        test::in_context(static_cast<record_context>(context), bare_record(1 + context)));
  const auto bytes = make_packet({.records = records});
  auto packet = PacketView::parse(bytes);
  ASSERT_TRUE(packet) << packet.error().message;
  int next = 0;
  packet->for_each_record([&](RecordView record) {
    EXPECT_EQ(record.context(), next++);
    EXPECT_EQ(record.bytes().size(), sizeof(struct record));
  });
  EXPECT_EQ(next, RECORD_CONTEXT + 1);
}

TEST(Packet, HasTheNumbersOfStacksAtTheEndOfARecord) {
  const Bytes plain = bare_record(1, EVENT_kfree);
  const Bytes event = test::with_stacks(plain, {.kernel = 11, .user = 12});
  const Bytes both = test::in_context(CONTEXT_NMI, event);
  const RecordView view(both.data());
  EXPECT_EQ(view.id(), EVENT_kfree);
  EXPECT_EQ(view.context(), CONTEXT_NMI);
  EXPECT_EQ(view.bytes().size(), plain.size() + sizeof(stack_numbers));
  EXPECT_TRUE(view.has_stacks());
  EXPECT_EQ(view.stacks().kernel, 11U);
  EXPECT_EQ(view.stacks().user, 12U);

  EXPECT_FALSE(RecordView(plain.data()).has_stacks());
  EXPECT_EQ(RecordView(plain.data()).stacks().kernel, 0U);
}

TEST(Packet, HasNoStacksInARecordThatIsTooShortForThem) {
  Bytes bytes = bare_record(1, static_cast<uint16_t>(+EVENT_kfree | +RECORD_HAS_STACKS));
  EXPECT_FALSE(RecordView(bytes.data()).has_stacks());
  EXPECT_EQ(RecordView(bytes.data()).stacks().user, 0U);
}

TEST(Packet, RefusesARecordThatIsTooShortInAnyContext) {
  for (const u16 size : {0, 7, 8, 15}) {
    auto short_one = bare_record(1);
    std::memcpy(&short_one[offsetof(record, size)], &size, sizeof(size));
    EXPECT_FALSE(PacketView::parse(make_packet({.records = {short_one}}))) << size;
  }
}

TEST(Packet, IsRefusedAtEveryTruncation) {
  auto bytes = small_packet();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Bytes truncated(bytes.begin(),
                    bytes.begin() + static_cast<ptrdiff_t>(size));  // own memory, for ASan
    auto packet = PacketView::parse(truncated);
    ASSERT_FALSE(packet) << size;
    EXPECT_EQ(packet.error().code, ExitCode::data);
  }
}

TEST(Packet, SurvivesEveryFlippedBit) {
  auto bytes = small_packet();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    if (auto packet = PacketView::parse(flipped)) read_all(*packet);
  }
}

TEST(Packet, SurvivesRandomBytesAfterAGoodHeader) {
  std::mt19937_64 random(2);
  auto good = small_packet();
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = good;
    for (size_t at = sizeof(PacketHeader) + random() % 16; at < bytes.size();
         at += 1 + random() % 7)
      bytes[at] = static_cast<std::byte>(random());
    if (auto packet = PacketView::parse(bytes)) read_all(*packet);
  }
}

TEST(Packet, RefusesInvalidSizes) {
  auto with = [](auto change) {
    auto bytes = small_packet();
    PacketHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return packet_bytes(bytes).has_value();
  };
  EXPECT_TRUE(with([](PacketHeader&) {}));
  EXPECT_FALSE(with([](PacketHeader& h) { h.magic = 1; }));
  EXPECT_FALSE(with([](PacketHeader& h) { h.packet_size = h.content_size = 0; }));
  EXPECT_FALSE(with([](PacketHeader& h) { h.packet_size = h.content_size = UINT64_MAX - 63; }));
  EXPECT_FALSE(
      with([](PacketHeader& h) { h.packet_size = h.content_size = 8 * (kPacketMaxBytes + 8); }));
  EXPECT_FALSE(with([](PacketHeader& h) { h.content_size -= 64; }));
  EXPECT_FALSE(with([](PacketHeader& h) { h.lost_count = UINT32_MAX; }));
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/packet_assembler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "unit/support/packets.h"

namespace ktraced::test {
namespace {

// Feeds bytes in pieces of at most `piece`; returns copies of the resulting packets.
Result<std::vector<Bytes>> assemble(std::span<const std::byte> bytes, size_t piece) {
  PacketAssembler assembler;
  std::vector<Bytes> packets;
  while (!bytes.empty()) {
    auto room = assembler.room();
    size_t count = std::min({piece, room.size(), bytes.size()});
    std::ranges::copy(bytes.first(count), room.begin());
    bytes = bytes.subspan(count);
    auto filled = assembler.filled(count, [&](const PacketView& packet, const auto&) -> Result<> {
      packets.emplace_back(packet.bytes().begin(), packet.bytes().end());
      return {};
    });
    if (!filled) return propagate(filled);
  }
  return packets;
}

Bytes joined(const std::vector<Bytes>& packets) {
  Bytes all;
  for (const Bytes& packet : packets) all.insert(all.end(), packet.begin(), packet.end());
  return all;
}

Bytes packet_of_size(size_t records) {
  PacketSpec spec;
  for (size_t i = 0; i < records; ++i) spec.records.push_back(bare_record(i));
  return make_packet(spec);
}

TEST(PacketAssembler, AssemblesPacketsFromAnyPieces) {
  std::vector<Bytes> packets{packet_of_size(3), packet_of_size(0), metadata_packet(5),
                             packet_of_size(17), packet_of_size(1)};
  Bytes all = joined(packets);
  for (size_t piece = 1; piece <= all.size(); ++piece) {
    auto got = assemble(all, piece);
    ASSERT_TRUE(got) << piece << ": " << got.error().message;
    EXPECT_EQ(*got, packets) << piece;
  }
}

TEST(PacketAssembler, AcceptsManyAndLargePacketsAcrossBlocks) {
  std::mt19937 random(3);
  std::vector<Bytes> packets;
  for (int i = 0; i < 60; ++i) packets.push_back(packet_of_size(random() % 20000));
  packets.push_back(packet_of_size((kPacketMaxBytes - sizeof(PacketHeader)) / sizeof(record)));
  Bytes all = joined(packets);
  for (size_t piece : {4096UL, 65536UL, 1000003UL, all.size()}) {
    auto got = assemble(all, piece);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_TRUE(*got == packets) << piece;
  }
}

TEST(PacketAssembler, KeepsPacketsWhileTheyAreReferenced) {
  Bytes packet = packet_of_size(1000);
  PacketAssembler assembler;
  std::vector<std::pair<PacketView, std::shared_ptr<const void>>> kept;
  for (int i = 0; i < 500; ++i) {
    for (size_t at = 0; at < packet.size();) {
      auto room = assembler.room();
      size_t count = std::min(room.size(), packet.size() - at);
      std::copy_n(packet.begin() + static_cast<ptrdiff_t>(at), count, room.begin());
      at += count;
      ASSERT_TRUE(
          assembler.filled(count, [&](const PacketView& view, const auto& owner) -> Result<> {
            kept.emplace_back(view, owner);
            return {};
          }));
    }
  }
  ASSERT_EQ(kept.size(), 500U);
  for (const auto& [view, owner] : kept) EXPECT_TRUE(std::ranges::equal(view.bytes(), packet));
}

TEST(PacketAssembler, ReusesMemoryOfUnreferencedPackets) {
  PacketAssembler assembler;
  const std::byte* begin = assembler.room().data();
  Bytes packet = packet_of_size(10);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(assembler.room().data(), begin);
    std::ranges::copy(packet, assembler.room().begin());
    ASSERT_TRUE(
        assembler.filled(packet.size(), [](const auto&, const auto&) { return Result<>(); }));
  }
}

TEST(PacketAssembler, ReportsMissingData) {
  PacketAssembler assembler;
  Bytes packet = packet_of_size(2);
  std::copy_n(packet.begin(), packet.size() - 1, assembler.room().begin());
  ASSERT_TRUE(
      assembler.filled(packet.size() - 1, [](const auto&, const auto&) { return Result<>(); }));
  EXPECT_EQ(assembler.pending(), packet.size() - 1);
}

TEST(PacketAssembler, RefusesInvalidPackets) {
  Bytes garbage(200, std::byte{0x41});
  for (size_t piece : {1UL, 7UL, 200UL}) {
    auto got = assemble(garbage, piece);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ExitCode::data);
  }
}

TEST(PacketAssembler, SurvivesDamage) {
  Bytes good = joined({packet_of_size(3), metadata_packet(4), packet_of_size(5)});
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    (void)assemble(bytes, 50);
  }
}

TEST(PacketAssembler, PropagatesTheVisitorsResult) {
  PacketAssembler assembler;
  Bytes packet = packet_of_size(1);
  std::ranges::copy(packet, assembler.room().begin());
  auto filled = assembler.filled(packet.size(), [](const auto&, const auto&) -> Result<> {
    return fail(ExitCode::io, "enough");
  });
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().message, "enough");
}

}  // namespace
}  // namespace ktraced::test

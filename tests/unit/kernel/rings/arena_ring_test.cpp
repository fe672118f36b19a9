// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/arena_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Bytes = std::vector<std::byte>;

// Writes records like the programs do.
class StreamProducer {
 public:
  explicit StreamProducer(stream_header& header) : header_(header) {}

  // Position of the place; nothing if there is no room.
  std::optional<uint64_t> reserve(size_t size) {
    std::atomic_ref produced(header_.produced);
    const uint64_t begin = produced.load();
    const uint64_t released = std::atomic_ref(header_.released).load(std::memory_order_acquire);
    if (begin + size - released > header_.mask) return std::nullopt;
    produced.store(begin + size);
    return begin;
  }
  void commit(uint64_t position, const Bytes& bytes) {
    std::byte* place = at(position);
    const size_t end_of_size = offsetof(record, size) + sizeof(u16);
    std::memcpy(place, bytes.data(), offsetof(record, size));
    std::memcpy(place + end_of_size, bytes.data() + end_of_size, bytes.size() - end_of_size);
    u16 word = 0;
    std::memcpy(&word, bytes.data() + offsetof(record, size), sizeof(word));
    std::atomic_ref(*reinterpret_cast<u16*>(place + offsetof(record, size)))
        .store(word, std::memory_order_release);
  }
  bool write(const Bytes& bytes) {
    const auto position = reserve(bytes.size());
    if (position) commit(*position, bytes);
    return position.has_value();
  }
  std::byte* at(uint64_t position) {
    return reinterpret_cast<std::byte*>(&header_ + 1) + (position & header_.mask);
  }

 private:
  stream_header& header_;
};

// The bytes of record n differ from those of every other.
Bytes make_event(uint64_t n, size_t size) {
  Bytes bytes(size, static_cast<std::byte>(n * 31 + 7));
  const record head{
      .ts = n, .id = static_cast<u16>(1 + n % 20), .size = static_cast<u16>(size), .tid = 1};
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

class ArenaRingTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = ArenaRing::kSmallest;
  static constexpr size_t kMemory = ArenaRing::memory_for(kBytes);
  ArenaRingTest() : ring(ArenaRing::make(memory(), kBytes, kBytes / 4)), producer(header()) {}
  std::span<std::byte> memory() { return {reinterpret_cast<std::byte*>(pages_.data()), kMemory}; }
  stream_header& header() { return pages_.front(); }
  // Reads everything, and releases it.
  std::vector<Bytes> take() {
    std::vector<Bytes> records;
    ring.release(ring.read(ring.consumed(), ring.produced(), [&](uint64_t, auto bytes) {
      records.emplace_back(bytes.begin(), bytes.end());
    }));
    return records;
  }
  bool all_zero() {
    return std::ranges::all_of(memory().subspan(sizeof(stream_header)),
                               [](std::byte byte) { return byte == std::byte{}; });
  }

  std::vector<stream_header> pages_{kMemory / sizeof(stream_header) + 1};
  ArenaRing ring;
  StreamProducer producer;
};

TEST_F(ArenaRingTest, IsEmptyAtFirst) {
  EXPECT_EQ(ring.size(), kBytes);
  EXPECT_EQ(ring.produced(), 0U);
  EXPECT_THAT(take(), IsEmpty());
}

TEST_F(ArenaRingTest, ReadsRecordsInTheirOrderWithTheirPositions) {
  producer.write(make_event(1, 48));
  producer.write(make_event(2, 16));
  std::vector<uint64_t> positions;
  EXPECT_EQ(ring.read(0, ring.produced(), [&](uint64_t at, auto) { positions.push_back(at); }),
            64U);
  EXPECT_THAT(positions, ElementsAre(0U, 48U));
  EXPECT_THAT(take(), ElementsAre(make_event(1, 48), make_event(2, 16)));
}

TEST_F(ArenaRingTest, ReadsRecordsOfAllContexts) {
  std::vector<Bytes> written;
  for (uint64_t n = 1; n <= 16; ++n) {
    written.push_back(make_event(n, 48));
    written.back().at(offsetof(record, size)) |= static_cast<std::byte>(n & RECORD_CONTEXT);
    producer.write(written.back());
  }
  EXPECT_EQ(take(), written);
  EXPECT_TRUE(all_zero());
}

// In any order of sizes, over many turns of the ring.
TEST_F(ArenaRingTest, ContinuesARecordAtTheEndInTheSpillArea) {
  std::mt19937 random(1);
  uint64_t number = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<Bytes> written;
    for (;;) {
      const size_t size = std::uniform_int_distribution<size_t>(2, RECORD_MAX / 8)(random) * 8;
      Bytes bytes = make_event(++number, size);
      if (!producer.write(bytes)) break;
      written.push_back(std::move(bytes));
    }
    ASSERT_EQ(take(), written) << turn;
  }
  EXPECT_TRUE(all_zero());
}

TEST_F(ArenaRingTest, StopsAtARecordThatIsStillBeingWritten) {
  producer.write(make_event(1, 32));
  const uint64_t late = producer.reserve(48).value();
  producer.write(make_event(3, 32));
  EXPECT_THAT(take(), ElementsAre(make_event(1, 32)));
  EXPECT_THAT(take(), IsEmpty());
  producer.commit(late, make_event(2, 48));
  EXPECT_THAT(take(), ElementsAre(make_event(2, 48), make_event(3, 32)));
}

TEST_F(ArenaRingTest, StopsAtTheEndOfAStep) {
  for (uint64_t n = 1; n <= 3; ++n) producer.write(make_event(n, 32));
  EXPECT_EQ(ring.read(0, 40, [](uint64_t, auto) {}), 64U);
}

TEST_F(ArenaRingTest, HasRoomAgainOnlyAfterARelease) {
  while (producer.write(make_event(1, 64))) {
  }
  const uint64_t end = ring.produced();
  ring.read(0, end, [](uint64_t, auto) {});
  EXPECT_FALSE(producer.reserve(64));
  ring.release(64);
  EXPECT_TRUE(producer.write(make_event(2, 64)));
  EXPECT_FALSE(producer.reserve(64));
}

// A place that is reserved again must not have the size of an old record.
TEST_F(ArenaRingTest, ReleasedSpaceIsZero) {
  for (int turn = 0; turn < 3; ++turn) {
    while (producer.write(make_event(1, 56))) {
    }
    take();
    ASSERT_TRUE(all_zero());
  }
}

TEST_F(ArenaRingTest, IsAdoptedWithWhatIsUnread) {
  producer.write(make_event(1, 32));
  producer.write(make_event(2, 32));
  ring.release(32);
  auto adopted = ArenaRing::open(memory());
  ASSERT_TRUE(adopted);
  ring = *adopted;
  EXPECT_EQ(ring.consumed(), 32U);
  EXPECT_THAT(take(), ElementsAre(make_event(2, 32)));
}

// Killed after it has advanced the position, somewhere among the zeros.
TEST_F(ArenaRingTest, AdoptingCompletesTheReleaseOfAKilledDaemon) {
  while (producer.write(make_event(1, 64))) {
  }
  header().consumed = 640;
  std::memset(producer.at(64), 0, 100);
  ASSERT_TRUE(ArenaRing::open(memory()));
  EXPECT_EQ(header().released, 640U);
  EXPECT_TRUE(std::all_of(producer.at(0), producer.at(640),
                          [](std::byte byte) { return byte == std::byte{}; }));
  EXPECT_EQ(take().size(), kBytes / 64 - 1 - 10);
}

TEST_F(ArenaRingTest, AdoptsNothingThatIsNoRing) {
  const stream_header good = header();
  const auto refused = [&](auto&& damage) {
    header() = good;
    damage(header());
    return !ArenaRing::open(memory());
  };
  EXPECT_FALSE(refused([](stream_header&) {}));
  EXPECT_TRUE(refused([](stream_header& h) { h.mask = 0; }));
  EXPECT_TRUE(refused([](stream_header& h) { h.mask = ~u64{0}; }));
  EXPECT_TRUE(refused([](stream_header& h) { h.mask = kBytes + 7; }));
  EXPECT_TRUE(refused([](stream_header& h) { h.mask = 2 * kBytes - 1; }));
  EXPECT_TRUE(refused([](stream_header& h) { h.consumed = 64; }));
  EXPECT_TRUE(refused([](stream_header& h) { h.produced = 2 * kBytes; }));
  EXPECT_TRUE(refused([](stream_header& h) { h.released = 8; }));
  EXPECT_FALSE(ArenaRing::open(memory().first(kBytes)));
}

TEST_F(ArenaRingTest, FailsAtBytesThatAreNoRecordAfterWhatIsBeforeThem) {
  for (const size_t size : {size_t{8}, size_t{15}, size_t{RECORD_MAX + 8}}) {
    producer.write(make_event(1, 32));
    const uint64_t damaged = producer.reserve(64).value();
    Bytes bytes = make_event(2, 64);
    const u16 wrong = static_cast<u16>(size);
    std::memcpy(bytes.data() + offsetof(record, size), &wrong, sizeof(wrong));
    std::memcpy(producer.at(damaged), bytes.data(), bytes.size());
    EXPECT_THAT(take(), ElementsAre(make_event(1, 32))) << size;
    EXPECT_THROW(take(), std::runtime_error) << size;
    ring.release(ring.produced());
  }
}

TEST_F(ArenaRingTest, ReadsWhileAProducerWrites) {
  constexpr uint64_t kRecords = 20'000;
  std::thread writer([this] {
    for (uint64_t n = 1; n <= kRecords;)
      if (producer.write(make_event(n, 16 + n % 8 * 8))) ++n;
  });
  uint64_t next = 1;
  bool equal = true;
  while (next <= kRecords)
    for (const Bytes& bytes : take()) {
      equal = equal && bytes == make_event(next, 16 + next % 8 * 8);
      ++next;
    }
  writer.join();
  EXPECT_TRUE(equal);
  EXPECT_TRUE(all_zero());
}

}  // namespace
}  // namespace ktraced

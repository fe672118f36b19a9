// SPDX-License-Identifier: BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <numeric>
#include <random>
#include <thread>

#include "bpf/shared_state.h"
#include "kernel/rings/flight_ring.h"
#include "trace/packet/packet.h"

namespace ktraced {
namespace {

using testing::ElementsAre;

constexpr size_t kBytes = 4096;
constexpr size_t kMapBytes = sizeof(flight_header) + kBytes + FLIGHT_SPILL;

// Writes records like the programs do, into memory instead of a map.
class FlightRingTest : public testing::Test {
 protected:
  FlightRingTest() {
    Fd memory(::memfd_create("ring", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(memory.get(), (kMapBytes + 4095) / 4096 * 4096), 0);
    writer = Mapping::map(memory.get(), kMapBytes, PROT_READ | PROT_WRITE).value();
    ring.emplace(FlightRing::open(std::move(memory), kBytes).value());
  }
  flight_header& header() { return *reinterpret_cast<flight_header*>(writer.data()); }
  std::byte* place(uint64_t position) {
    return writer.data() + sizeof(flight_header) + (position & (kBytes - 1));
  }
  // The bytes of record n differ from those of every other.
  static std::vector<std::byte> make_record(uint64_t n, uint16_t size) {
    std::vector<std::byte> bytes(size, static_cast<std::byte>(n * 31 + 7));
    record head{.ts = n, .id = static_cast<u16>(1 + n % 20), .size = size, .tid = 1};
    std::memcpy(bytes.data(), &head, sizeof(head));
    return bytes;
  }
  void write(const std::vector<std::byte>& bytes) {
    header().head -= bytes.size();
    std::memcpy(place(header().head), bytes.data(), bytes.size());
    ++header().records[RecordView(bytes.data()).id()];
  }
  std::vector<std::vector<std::byte>> found(const FlightRing::Walk& walk) const {
    std::vector<std::vector<std::byte>> records;
    ring->for_each_oldest_first(
        walk, [&](auto bytes) { records.emplace_back(bytes.begin(), bytes.end()); });
    return records;
  }

  Mapping writer;
  std::optional<FlightRing> ring;
};

TEST_F(FlightRingTest, IsEmptyAtFirst) {
  FlightRing::Walk walk = ring->walk();
  EXPECT_TRUE(walk.intact);
  EXPECT_EQ(walk.bytes, 0U);
  EXPECT_TRUE(found(walk).empty());
}

TEST_F(FlightRingTest, CountsRecordsWithStacksByTheirEvent) {
  auto with_stacks = make_record(1, 32);
  with_stacks[offsetof(record, id) + 1] |= std::byte{RECORD_HAS_STACKS >> 8};
  for (uint64_t n = 0; n < kBytes / 32 + 3; ++n) write(with_stacks);
  EXPECT_TRUE(ring->walk().intact);
  std::vector<uint64_t> overwritten(EVENT_ID_MAX);
  ring->add_overwritten(overwritten, true);
  EXPECT_EQ(overwritten[2], 3U);
}

TEST_F(FlightRingTest, ReturnsTheOldestRecordsFirst) {
  write(make_record(1, 16));
  write(make_record(2, 512));
  write(make_record(3, 24));
  EXPECT_THAT(found(ring->walk()),
              ElementsAre(make_record(1, 16), make_record(2, 512), make_record(3, 24)));
  EXPECT_EQ(ring->written_bytes(), 552U);
  ring->clear();
  EXPECT_TRUE(found(ring->walk()).empty());
}

TEST_F(FlightRingTest, WalksByTheSizesOfRecordsOfAllContexts) {
  std::vector<std::vector<std::byte>> written;
  for (uint64_t n = 1; n <= 16; ++n) {
    written.push_back(make_record(n, 48));
    written.back().at(offsetof(record, size)) |= static_cast<std::byte>(n & RECORD_CONTEXT);
    write(written.back());
  }
  const FlightRing::Walk walk = ring->walk();
  EXPECT_TRUE(walk.intact);
  EXPECT_EQ(walk.bytes, 16U * 48);
  EXPECT_EQ(found(walk), written);
}

TEST(FlightRingInAnArena, IsOpenedWithItsSizeByThePlaceOfItsData) {
  std::vector<std::byte> area(sizeof(flight_header) + kBytes + ARENA_PAGE);
  const FlightRing made = FlightRing::make_in_arena(3 * ARENA_PAGE, area, kBytes);
  EXPECT_EQ(made.place(), 3 * ARENA_PAGE + sizeof(flight_header));
  const auto opened = FlightRing::open_in_arena(made.place(), area);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->capacity(), kBytes);
  EXPECT_EQ(opened->place(), made.place());
  EXPECT_EQ(opened->map_fd(), -1);
}

TEST(FlightRingInAnArena, IsRefusedWithoutMemoryOrWithAnImpossibleSize) {
  std::vector<std::byte> area(sizeof(flight_header) + kBytes + ARENA_PAGE);
  EXPECT_EQ(FlightRing::open_in_arena(4096, {}).error().message,
            "a flight ring has no memory in the arena");
  auto& header = *reinterpret_cast<flight_header*>(area.data());
  for (const uint64_t mask : {uint64_t{0} - 1, uint64_t{4096}, uint64_t{2 * kBytes - 1}}) {
    header.mask = mask;
    EXPECT_EQ(FlightRing::open_in_arena(4096, area).error().message,
              "a flight ring in the arena has no valid size")
        << mask;
  }
}

TEST_F(FlightRingTest, KeepsCountingWhenEmptied) {
  for (int i = 0; i < 3; ++i) write(make_record(1, 16));
  EXPECT_EQ(ring->written()[2], 3U);
  ring->clear();
  ring->clear();
  EXPECT_EQ(ring->written()[2], 0U);
  EXPECT_EQ(ring->ever_written(2), 3U);
  write(make_record(1, 16));
  EXPECT_EQ(ring->written()[2], 1U);
  EXPECT_EQ(ring->ever_written(2), 4U);
}

TEST_F(FlightRingTest, AlwaysHoldsTheNewestRecordsThatFit) {
  std::mt19937 random(1);
  std::deque<std::vector<std::byte>> fitting;
  size_t bytes = 0;
  for (uint64_t n = 1; n <= 20'000; ++n) {
    // Includes small records, so that the oldest is overwritten at any offset, even within its
    // header.
    const auto size = static_cast<uint16_t>(16 + 8 * (random() % (n % 2 == 0 ? 3 : 63)));
    fitting.push_back(make_record(n, size));
    write(fitting.back());
    for (bytes += size; bytes > kBytes; fitting.pop_front()) bytes -= fitting.front().size();
    const FlightRing::Walk walk = ring->walk();
    ASSERT_TRUE(walk.intact) << n;
    ASSERT_EQ(walk.bytes, bytes) << n;
    const auto records = found(walk);
    ASSERT_TRUE(std::equal(records.begin(), records.end(), fitting.begin(), fitting.end())) << n;
  }
}

TEST_F(FlightRingTest, StopsAtDamageAndReportsIt) {
  for (uint64_t n = 1; n <= 5; ++n) write(make_record(n, 48));
  const uint64_t third = header().head + 2 * 48;
  for (auto [size, id] :
       {std::pair{0, 1}, {8, 1}, {15, 1}, {RECORD_MAX + 8, 1}, {48, 0}, {48, 2048}}) {
    record head{.ts = 3, .id = static_cast<u16>(id), .size = static_cast<u16>(size), .tid = 1};
    std::memcpy(place(third), &head, sizeof(head));
    const FlightRing::Walk walk = ring->walk();
    EXPECT_FALSE(walk.intact);
    EXPECT_THAT(found(walk), ElementsAre(make_record(4, 48), make_record(5, 48)));
  }
}

// Writes records with numbers as times, in the order of the stores of the BPF programs.
class NumberedWriter {
 public:
  explicit NumberedWriter(Mapping& ring)
      : header_(*reinterpret_cast<flight_header*>(ring.data())),
        data_(ring.data() + sizeof(flight_header)) {}

  void write_next() {
    reserve();
    store();
  }
  // The record keeps the bytes that were there before until store().
  void reserve() {
    const uint16_t size = kSizes[++number_ % kSizes.size()];
    std::atomic_ref(header_.records[id()]).fetch_add(1);
    position_ = std::atomic_ref(header_.head).fetch_sub(size) - size;
    std::atomic_thread_fence(std::memory_order_release);
  }
  void store() {
    const uint16_t size = kSizes[number_ % kSizes.size()];
    std::array<uint64_t, kLargest / sizeof(uint64_t)> words;
    words.fill(UINT64_MAX);  // no header
    const record head{.ts = number_, .id = id(), .size = size, .tid = 1};
    std::memcpy(words.data(), &head, sizeof(head));
    auto* place = reinterpret_cast<uint64_t*>(data_ + (position_ & (kBytes - 1)));
    for (size_t word = 0; word < size / sizeof(uint64_t); ++word)
      std::atomic_ref(place[word]).store(words[word], std::memory_order_relaxed);
  }

  [[nodiscard]] uint64_t written() const {
    return std::accumulate(
        header_.records, header_.records + EVENT_ID_MAX, uint64_t{0},
        [](uint64_t sum, u64& count) { return sum + std::atomic_ref(count).load(); });
  }
  // The number of the oldest record that the ring has now.
  [[nodiscard]] uint64_t oldest() const {
    const uint64_t bytes = 0 - std::atomic_ref(header_.head).load();
    if (bytes <= kBytes) return 1;
    const uint64_t cycles = (bytes - kBytes) / kCycle;
    uint64_t number = cycles * kSizes.size(), before = cycles * kCycle;
    while (before < bytes - kBytes) before += kSizes[++number % kSizes.size()];
    return number + 1;
  }

  static constexpr std::array<uint16_t, 5> kSizes = {16, 72, 24, 48, 40};
  static constexpr size_t kLargest = 72;
  static constexpr uint64_t kCycle = 200;
  static constexpr uint64_t kMostKept = (kBytes / kCycle + 1) * kSizes.size();

 private:
  [[nodiscard]] u16 id() const { return static_cast<u16>(1 + number_ % 7); }

  flight_header& header_;
  std::byte* data_;
  uint64_t number_ = 0, position_ = 0;
};

class OverwrittenFlightRing : public FlightRingTest {
 protected:
  [[nodiscard]] uint64_t overwritten() const {
    std::vector<uint64_t> sums(EVENT_ID_MAX);
    ring->add_overwritten(sums, false);
    return std::reduce(sums.begin(), sums.end());
  }
  [[nodiscard]] uint64_t oldest() const {
    std::vector<uint64_t> sums(EVENT_ID_MAX);
    return ring->add_overwritten(sums, false);
  }
  NumberedWriter numbered{writer};
};

TEST_F(OverwrittenFlightRing, HasWhatIsNoLongerInTheRing) {
  EXPECT_EQ(oldest(), 0U);
  for (uint64_t n = 1; n <= 2000; ++n) {
    numbered.write_next();
    ASSERT_EQ(overwritten(), numbered.oldest() - 1);
    ASSERT_EQ(oldest(), numbered.oldest() == 1 ? 0 : numbered.oldest());
  }
  ring->clear();
  EXPECT_EQ(overwritten(), 0U);
  EXPECT_EQ(oldest(), 0U);
}

// Each reading is right for some time while it lasted, or that of the time before. It is the
// earlier one if the writer was interrupted in the middle of a record.
TEST_F(OverwrittenFlightRing, IsReadWhileAProgramWrites) {
  constexpr int kReadings = 300;
  for (uint64_t n = 1; n <= 1000; ++n) numbered.write_next();
  uint64_t last_oldest = oldest(), last_overwritten = overwritten();
  std::jthread thread([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) numbered.write_next();
  });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (int changed = 0; changed < kReadings;) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << changed << " readings have changed";
    const uint64_t written = numbered.written(), oldest_before = numbered.oldest();
    std::vector<uint64_t> sums(EVENT_ID_MAX);
    const uint64_t oldest = ring->add_overwritten(sums, false);
    const uint64_t overwritten = std::reduce(sums.begin(), sums.end());
    if (oldest == last_oldest && overwritten == last_overwritten) continue;
    ++changed;
    ASSERT_GE(oldest, oldest_before);
    ASSERT_LE(oldest, numbered.oldest());
    ASSERT_GE(overwritten + NumberedWriter::kMostKept, written);
    ASSERT_LE(overwritten, numbered.oldest()) << "one may be counted and not yet in the ring";
    last_oldest = oldest;
    last_overwritten = overwritten;
  }
  thread.request_stop();
  thread.join();
  EXPECT_EQ(overwritten(), numbered.oldest() - 1);
  EXPECT_EQ(oldest(), numbered.oldest());
}

TEST_F(OverwrittenFlightRing, IsThatOfTheTimeBeforeWhileARecordIsUnfinished) {
  for (uint64_t n = 1; n <= 1000; ++n) numbered.write_next();
  for (size_t n = 0; n < 3 * NumberedWriter::kMostKept; ++n) {
    const uint64_t oldest_before = oldest(), overwritten_before = overwritten();
    numbered.reserve();
    ASSERT_EQ(oldest(), oldest_before);
    ASSERT_EQ(overwritten(), overwritten_before);
    numbered.store();
    ASSERT_EQ(oldest(), numbered.oldest());
    ASSERT_EQ(overwritten(), numbered.oldest() - 1);
  }
}

// All records have one size, so the bytes of an unfinished one are those of a whole one.
TEST_F(FlightRingTest, ARecordOfTheLapBeforeIsNoneOfThisOne) {
  std::vector<uint64_t> sums(EVENT_ID_MAX);
  for (uint64_t n = 1; n <= 3 * kBytes / 64; ++n) write(make_record(n, 64));
  EXPECT_EQ(ring->add_overwritten(sums, false), 2 * kBytes / 64 + 1);
  header().head -= 64;
  EXPECT_EQ(ring->add_overwritten(sums, false), 2 * kBytes / 64 + 1);
}

}  // namespace
}  // namespace ktraced

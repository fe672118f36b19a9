// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/output_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "unit/daemon/output/fake_drain.h"
#include "unit/support/packets.h"

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using test::FakeDrain;
using test::StreamChecker;

StreamOutput to(const std::filesystem::path& directory, uint32_t max_file_mb = 1) {
  return {.directory = directory, .max_file_mb = max_file_mb, .max_files = 3};
}

BeginSeries begin_at(uint64_t ns, uint32_t max_file_mb = 1) {
  return {.settings = to("/d", max_file_mb),
          .begin_ns = ns,
          .missed = {},
          .current_config = {},
          .names = {},
          .follow_lost = 0};
}

template <class Step>
bool is(const OutputStep& step) {
  return std::holds_alternative<Step>(step);
}

// The steps up to the end of the series, in letters: Begin, packet, reading, Rotation,
// cHange, Move, End.
std::string letters(OutputQueue& queue) {
  std::string text;
  for (;;) {
    OutputStep step = queue.next();
    text += "pBrHRME."[step.index()];
    if (is<EndSeries>(step)) return text;
  }
}

TEST(OutputQueue, AcceptsBatchesFromBeginToEnd) {
  FakeDrain drain(1, 1);
  OutputQueue queue;
  queue.push(drain.batch(0));
  queue.begin(begin_at(5));
  queue.push(drain.batch(0));
  queue.push(Change{.ns = 7, .current_config = nullptr});
  queue.push(drain.batch(0));
  queue.change(to("/d", 2));
  queue.change(to("/e", 2));
  queue.push(drain.batch(0));
  queue.end();
  queue.push(drain.batch(0));
  queue.push(Change{});
  queue.begin(begin_at(9));
  queue.close();
  EXPECT_EQ(letters(queue), "BpHpMpE");
  EXPECT_EQ(letters(queue), "BE");
  EXPECT_TRUE(is<NoMore>(queue.next()));
}

TEST(OutputQueue, RotatesTracesBeforeTheyGrowTooLarge) {
  FakeDrain drain(2, 1);
  OutputQueue queue;
  queue.begin(begin_at(0, 1));
  for (int i = 0; i < 800; ++i) queue.push(drain.batch(500));
  queue.end();
  uint64_t bytes = 0, rotations = 0;
  for (OutputStep step = queue.next(); !is<EndSeries>(step); step = queue.next()) {
    if (is<RotateTrace>(step)) {
      EXPECT_LE(bytes, 1U << 20);
      EXPECT_GT(bytes, (1U << 20) - 100'000);
      bytes = 0;
      ++rotations;
    }
    if (!is<PacketBytes>(step)) continue;
    const auto& packet = std::get<PacketBytes>(step);
    if (!PacketView::of_built(packet).is_metadata()) bytes += packet->size();
  }
  EXPECT_GE(rotations, 5U);
}

// The number of traces for 4 MB in packets of some kB.
size_t rotations_with_carried(uint64_t carried) {
  FakeDrain drain(1, 1);
  OutputQueue queue;
  queue.begin(begin_at(0, 1));
  queue.set_carried(carried);
  for (int i = 0; i < 800; ++i) queue.push(drain.batch(250));
  queue.end();
  const std::string text = letters(queue);
  return static_cast<size_t>(std::ranges::count(text, 'R'));
}

TEST(OutputQueue, CountsTheBytesATraceBeginsWith) {
  const size_t rotations = rotations_with_carried(0), half = rotations_with_carried(512U << 10);
  EXPECT_GE(rotations, 2U);
  EXPECT_GE(half, 2 * rotations - 1);
  EXPECT_EQ(rotations_with_carried(UINT64_MAX / 2), half) << "a trace must have room for events";
}

TEST(OutputQueue, PredictsRotationsSoThatMissedHitsAreReadBefore) {
  FakeDrain drain(1, 1);
  OutputQueue queue;
  EXPECT_FALSE(queue.open());
  queue.begin(begin_at(5));
  EXPECT_TRUE(queue.open());
  int rotations = 0;
  for (int i = 0; i < 200; ++i) {
    const auto batch = drain.batch(2000);
    if (queue.rotates(batch)) {
      ++rotations;
      queue.push(MissedReading{});
    }
    queue.push(batch);
  }
  queue.end();
  const std::string text = letters(queue);
  EXPECT_GT(rotations, 1);
  int actual = 0;
  for (size_t at = 0; (at = text.find('R', at + 1)) != std::string::npos; ++actual)
    EXPECT_EQ(text[at - 1], 'r') << text;
  EXPECT_EQ(actual, rotations);
}

TEST(OutputQueue, KeepsTheFirstAndLastOfConsecutiveReadings) {
  FakeDrain drain(1, 1);
  OutputQueue queue;
  queue.push(MissedReading{});
  queue.begin(begin_at(5));
  queue.push(drain.batch(0));
  for (uint64_t ts = 1; ts <= 9; ++ts)
    queue.push(MissedReading{.from_ns = ts, .until_ns = ts, .counts = {}});
  queue.push(drain.batch(0));
  queue.push(MissedReading{});
  queue.end();
  static_cast<void>(queue.next());
  static_cast<void>(queue.next());
  EXPECT_EQ(std::get<MissedReading>(queue.next()).from_ns, 1U);
  EXPECT_EQ(std::get<MissedReading>(queue.next()).from_ns, 9U);
  EXPECT_EQ(letters(queue), "prE");
}

TEST(OutputQueue, RotatesTracesWithManyNames) {
  OutputQueue queue;
  queue.begin(begin_at(0, 1));
  std::vector<std::byte> names;
  for (uint32_t tid = 1; tid <= 1000; ++tid)
    for (std::byte byte : test::task_name(tid, 1, tid, "x")) names.push_back(byte);
  const uint64_t each = 2 * names.size();
  uint64_t rotations = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const std::vector<PacketBytes> batch = {build_metadata_packet(Uuid{}, i, i, names)};
    queue.push(batch);
  }
  queue.end();
  for (OutputStep step = queue.next(); !is<EndSeries>(step); step = queue.next())
    rotations += is<RotateTrace>(step);
  EXPECT_EQ(rotations, (100 - 1) / ((1U << 20) / each));
}

// However slowly the queue is read, every event before a rotation comes before it, as a record or
// as a loss.
TEST(OutputQueue, ReportsAllLossesBeforeARotation) {
  int with_losses = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    FakeDrain drain(1 + seed % 8, seed);
    OutputQueue queue(1000 + drain.below(20'000));
    StreamChecker checker;
    auto move = [&](OutputStep step) {
      if (is<PacketBytes>(step)) checker.feed(*std::get<PacketBytes>(step));
    };
    queue.begin(begin_at(0, 1000));
    std::vector<test::CpuCounts> happened;
    for (int trace = 0; trace < 5; ++trace) {
      for (int i = 0; i < 20; ++i) {
        queue.push(drain.batch(60));
        for (uint32_t steps = drain.below(4); steps > 0 && queue.queued_bytes() > 0; --steps) {
          OutputStep step = queue.next();
          ASSERT_FALSE(is<MoveSeries>(step));
          move(std::move(step));
        }
      }
      queue.change(to(fmt::format("/{}", trace), 1000));
      for (OutputStep step = queue.next(); !is<MoveSeries>(step); step = queue.next())
        move(std::move(step));
      ASSERT_EQ(checker.shown_and_lost(), drain.happened()) << seed;
    }
    with_losses += queue.lost_events() > 0;
  }
  EXPECT_GT(with_losses, 25);
}

// What is written next refers to stacks that are in an earlier trace, or in no trace.
TEST(OutputQueue, LacksStacksAfterALossAndInTheNextTrace) {
  FakeDrain drain(1, 5);
  OutputQueue queue(20'000);
  queue.begin(begin_at(0));
  queue.push(drain.batch(5));
  EXPECT_FALSE(queue.lacks_stacks());
  queue.end_trace();
  EXPECT_TRUE(queue.lacks_stacks());
  EXPECT_FALSE(queue.lacks_stacks()) << "it says so once";
  queue.change(to("/e"));
  EXPECT_TRUE(queue.lacks_stacks());
  while (queue.lost_events() == 0) queue.push(drain.batch(50));
  EXPECT_TRUE(queue.lacks_stacks());
}

TEST(OutputQueue, DiscardsUpToWhereTheSeriesEnds) {
  FakeDrain drain(1, 3);
  OutputQueue queue;
  queue.begin(begin_at(0));
  EXPECT_TRUE(is<BeginSeries>(queue.next()));
  queue.push(drain.batch(0, 5000));
  EXPECT_FALSE(queue.wait_for_end(1ms));
  uint64_t records = 0;
  while (records == 0) {
    const auto batch = drain.batch(50);
    records += test::records_in(batch);
    queue.push(batch);
  }
  queue.push(drain.batch(0, 9000));
  queue.change(to("/e"));
  queue.push(drain.batch(0, 10'000));
  EXPECT_TRUE(queue.wait_for_end(1h));
  const auto discarded = queue.discard();
  EXPECT_EQ(discarded.records, records);
  EXPECT_EQ(discarded.until_ns, 9000U);
  EXPECT_TRUE(is<MoveSeries>(queue.next()));
  EXPECT_TRUE(is<PacketBytes>(queue.next()));
  EXPECT_EQ(queue.queued_bytes(), 0U);
}

TEST(OutputQueue, ReportsNamesThatDidNotFit) {
  FakeDrain drain(1, 1);
  OutputQueue queue(1U << 20, 100);
  queue.begin(begin_at(0));
  EXPECT_EQ(queue.push(drain.batch(0)), OutputQueue::Pushed::whole);
  const auto name = test::task_name(7, 1, 7, "x");
  const std::vector<PacketBytes> batch = {build_metadata_packet(Uuid{}, 9, 1, name)};
  EXPECT_EQ(queue.push(batch), OutputQueue::Pushed::without_names);
  queue.end();
  EXPECT_EQ(queue.push(batch), OutputQueue::Pushed::no_series);
}

TEST(OutputQueue, WakesTheThreadThatWaitsForTheNextStep) {
  OutputQueue queue;
  std::jthread later([&] {
    std::this_thread::sleep_for(5ms);
    queue.close();
  });
  EXPECT_TRUE(is<NoMore>(queue.next()));
}

}  // namespace
}  // namespace ktraced

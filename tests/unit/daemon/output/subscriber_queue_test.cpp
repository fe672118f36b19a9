// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/subscriber_queue.h"

#include <gtest/gtest.h>

#include "unit/daemon/output/fake_drain.h"

namespace ktraced {
namespace {

using test::FakeDrain;
using test::StreamChecker;

std::vector<PublishedPacket> published(const std::vector<PacketBytes>& batch) {
  return {batch.begin(), batch.end()};
}

// Moves up to `bytes` from the queue to the checker, in pieces as writev would.
void move(SubscriberQueue& queue, StreamChecker& checker, size_t bytes) {
  while (bytes > 0 && !queue.empty()) {
    iovec parts[5];
    size_t count = queue.peek(parts, 1U << 20);
    ASSERT_GT(count, 0U);
    size_t moved = 0;
    for (size_t i = 0; i < count && moved < bytes; ++i) {
      size_t take = std::min(parts[i].iov_len, bytes - moved);
      checker.feed({static_cast<const std::byte*>(parts[i].iov_base), take});
      moved += take;
    }
    queue.written(moved);
    bytes -= moved;
  }
}

TEST(SubscriberQueue, ForwardsEverythingWhileThereIsRoom) {
  FakeDrain drain(4, 1);
  SubscriberQueue queue(16U << 20, 1U << 20);
  StreamChecker checker;
  uint64_t packets = 0;
  for (int i = 0; i < 50; ++i) {
    auto batch = drain.batch(100);
    packets += batch.size();
    ASSERT_TRUE(queue.push_batch(published(batch), false));
  }
  move(queue, checker, SIZE_MAX);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_EQ(queue.lost_events(), 0U);
  EXPECT_EQ(queue.sent_packets(), packets);
  EXPECT_EQ(queue.queued_bytes(), 0U);
}

TEST(SubscriberQueue, CountsOfShownAndLostAreExactUnderRandomDrops) {
  int with_drops = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    FakeDrain drain(1 + seed % 16, seed);
    SubscriberQueue queue(1000 + drain.below(10'000), 1U << 20);
    StreamChecker checker;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(queue.push_batch(published(drain.batch(60)), false));
      move(queue, checker, drain.below(4'000));
    }
    if (seed % 2 == 0)
      ASSERT_TRUE(queue.push_batch(published(drain.batch(60)), true));
    else
      queue.push_end();
    move(queue, checker, SIZE_MAX);
    with_drops += queue.lost_events() > 0;
    ASSERT_EQ(checker.shown_and_lost(), drain.happened()) << seed;
    ASSERT_TRUE(checker.at_end_of_batch()) << seed;
  }
  EXPECT_GT(with_drops, 50);
}

TEST(SubscriberQueue, ReportsFinalLossesWhenTheQueueHasDrained) {
  FakeDrain drain(2, 3);
  SubscriberQueue queue(2'000, 1U << 20);
  StreamChecker checker;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.push_batch(published(drain.batch(60)), false));
  ASSERT_GT(queue.lost_events(), 0U);
  move(queue, checker, SIZE_MAX);
  EXPECT_NE(checker.shown_and_lost(), drain.happened());
  // No more events; the next batch has only names.
  ASSERT_TRUE(queue.push_batch(published(drain.batch(0)), false));
  move(queue, checker, SIZE_MAX);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_TRUE(checker.at_end_of_batch());
}

TEST(SubscriberQueue, IsBounded) {
  FakeDrain drain(4, 4);
  constexpr size_t kEvents = 100'000, kNames = 20'000;
  SubscriberQueue queue(kEvents, kNames);
  bool room = true;
  int matches = 0;
  for (; room && matches < 100'000; ++matches) {
    room = queue.push_batch(published(drain.batch(500)), false);
    // Slightly more than the limit: packet headers with losses, and losses reported with the last
    // names.
    ASSERT_LT(queue.queued_bytes(), kEvents + kNames + 4 * 500);
  }
  EXPECT_FALSE(room);
  EXPECT_GT(matches, 200);  // a metadata packet takes 80 bytes
}

TEST(SubscriberQueue, AlwaysHasRoomForTheFirstPackets) {
  SubscriberQueue queue(10, 10);
  std::vector<std::byte> names(100 * sizeof(rec_metadata_task));
  for (size_t i = 0; i < 100; ++i) {
    record header{.ts = 1, .id = METADATA_task, .size = sizeof(rec_metadata_task), .tid = 1};
    std::memcpy(names.data() + i * sizeof(rec_metadata_task), &header, sizeof(header));
  }
  queue.prepend({build_metadata_packet(Uuid{}, 0, 0, names)});
  EXPECT_EQ(queue.queued_bytes(), sizeof(PacketHeader) + names.size());
  StreamChecker checker;
  move(queue, checker, SIZE_MAX);
  EXPECT_TRUE(checker.at_end_of_batch());
}

TEST(SubscriberQueue, SendsPrependedPacketsBeforeQueuedBatches) {
  FakeDrain drain(2, 5);
  SubscriberQueue queue(1U << 20, 1U << 20);
  ASSERT_TRUE(queue.push_batch(published(drain.batch(10)), false));
  // Sent later, it would break the order of watermarks.
  queue.prepend({build_metadata_packet(Uuid{}, 0, 0, {}), build_metadata_packet(Uuid{}, 1, 1, {})});
  StreamChecker checker;
  move(queue, checker, SIZE_MAX);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_EQ(queue.queued_bytes(), 0U);
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/subscriber_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/metadata/account_record.h"
#include "trace/metadata/event_records.h"
#include "unit/daemon/output/fake_drain.h"
#include "unit/support/packets.h"

namespace ktraced {
namespace {

using test::FakeDrain;
using test::StreamChecker;

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
    ASSERT_TRUE(queue.push_batch(batch, false));
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
      ASSERT_TRUE(queue.push_batch(drain.batch(60), false));
      move(queue, checker, drain.below(4'000));
    }
    if (seed % 2 == 0)
      ASSERT_TRUE(queue.push_batch(drain.batch(60), true));
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
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.push_batch(drain.batch(60), false));
  ASSERT_GT(queue.lost_events(), 0U);
  move(queue, checker, SIZE_MAX);
  EXPECT_NE(checker.shown_and_lost(), drain.happened());
  // No more events; the next batch has only names.
  ASSERT_TRUE(queue.push_batch(drain.batch(0), false));
  move(queue, checker, SIZE_MAX);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_TRUE(checker.at_end_of_batch());
}

TEST(SubscriberQueue, IsBounded) {
  FakeDrain drain(4, 4);
  constexpr size_t kEvents = 100'000, kNames = 20'000;
  SubscriberQueue queue(kEvents, kNames);
  for (int i = 0; i < 2'000; ++i) {  // a metadata packet takes 80 bytes
    EXPECT_TRUE(queue.push_batch(drain.batch(500), false)) << "it has no names";
    // Slightly more than the limit: packet headers with losses, and losses reported with the last
    // names.
    ASSERT_LT(queue.queued_bytes(), kEvents + kNames + 4 * 500);
  }
  EXPECT_FALSE(queue.overflown());
}

// A batch without events.
std::vector<PacketBytes> metadata(uint64_t sequence, uint64_t until,
                                  const std::vector<std::byte>& records) {
  return {build_metadata_packet(Uuid{1}, sequence, until, records)};
}

// The metadata records that a reader gets.
struct Received {
  std::vector<uint32_t> tids;
  std::vector<LostNamesWindow> lost;
  std::vector<std::string> ends;
  size_t others = 0;

  explicit Received(SubscriberQueue& queue) {
    while (const PacketBytes packet = queue.take())
      PacketView::parse(*packet).value().for_each_record([&](const RecordView& record) {
        const auto window = lost_names_of(record);
        const auto end = end_reason_of(record);
        if (record.id() == METADATA_task)
          tids.push_back(record.tid());
        else if (window)
          lost.push_back(*window);
        else if (end)
          ends.push_back(*end);
        else
          ++others;
      });
  }
};

TEST(SubscriberQueue, LosesNamesThatDoNotFitAndSaysWhen) {
  SubscriberQueue queue(1000, 200);
  EXPECT_TRUE(queue.push_batch(metadata(1, 100, test::task_name(7, 90, 7, "first")), false));
  for (uint64_t i = 2; i < 1000; ++i) {
    const auto records = i % 2 == 0 ? test::task_name(8, i, 8, "lost")
                                    : lost_names_record({.from = 100 * i - 50, .until = 100 * i});
    EXPECT_FALSE(queue.push_batch(metadata(i, 100 * i, records), false));
  }
  EXPECT_LE(queue.queued_bytes(), 200U);
  Received before(queue);
  EXPECT_THAT(before.tids, testing::ElementsAre(7));
  EXPECT_THAT(before.lost, testing::IsEmpty());
  EXPECT_TRUE(queue.push_batch(metadata(1000, 100'000, {}), false));
  EXPECT_THAT(Received(queue).lost,
              testing::ElementsAre(LostNamesWindow{.from = 100, .until = 99'900}));
}

TEST(SubscriberQueue, SaysWithTheLastBatchThatNamesAreLost) {
  SubscriberQueue queue(1000, 100);
  const auto account = account_record({}, 5);
  EXPECT_TRUE(queue.push_batch(metadata(1, 100, {}), false));
  EXPECT_FALSE(queue.push_batch(metadata(2, 200, test::task_name(8, 1, 8, "lost")), false));
  EXPECT_TRUE(queue.push_batch(metadata(3, 300, account), true));
  const Received received(queue);
  EXPECT_EQ(received.others, 1U) << "the account";
  EXPECT_THAT(received.lost, testing::ElementsAre(LostNamesWindow{.from = 100, .until = 200}));
}

TEST(SubscriberQueue, KeepsMetadataThatIsNotNamesUpToALimit) {
  SubscriberQueue queue(1000, 10'000);
  const auto config = config_records({{"state", "running"}}, 5);
  auto both = test::task_name(8, 1, 8, "lost");
  both.insert(both.end(), config.begin(), config.end());
  size_t pushed = 0;
  for (; !queue.overflown() && pushed < 1000; ++pushed)
    static_cast<void>(queue.push_batch(metadata(pushed, 100 + pushed, both), false));
  EXPECT_TRUE(queue.overflown());
  EXPECT_LE(queue.queued_bytes(), 2U * 10'000 + both.size() + 200);
  const Received received(queue);
  EXPECT_EQ(received.others, pushed - 1);
  EXPECT_LT(received.tids.size(), received.others);
}

TEST(SubscriberQueue, CountsTheEventsThatAReaderHasLeftAsLostWhenItEnds) {
  FakeDrain drain(4, 4);
  SubscriberQueue queue(1U << 20, 1U << 20);
  const auto batch = drain.batch(500);
  const uint64_t records = test::records_in(batch);
  ASSERT_GT(records, 0U);
  EXPECT_TRUE(queue.push_batch(batch, false));
  queue.end_because("enough");
  EXPECT_EQ(queue.lost_events(), records);
}

TEST(SubscriberQueue, EndsWithAReasonAfterThePacketThatIsPartlyWritten) {
  SubscriberQueue queue(1000, 10'000);
  for (uint32_t i = 1; i <= 3; ++i)
    EXPECT_TRUE(queue.push_batch(metadata(i, 100 * i, test::task_name(i, 1, 1, "x")), false));
  queue.written(5);
  queue.end_because("enough");
  const Received received(queue);
  EXPECT_THAT(received.tids, testing::ElementsAre(1));
  EXPECT_THAT(received.ends, testing::ElementsAre("enough"));
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
  ASSERT_TRUE(queue.push_batch(drain.batch(10), false));
  // Sent later, it would break the order of watermarks.
  queue.prepend({build_metadata_packet(Uuid{}, 0, 0, {}), build_metadata_packet(Uuid{}, 1, 1, {})});
  StreamChecker checker;
  move(queue, checker, SIZE_MAX);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_EQ(queue.queued_bytes(), 0U);
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/subscribers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "trace/metadata/account_record.h"
#include "unit/daemon/output/fake_drain.h"
#include "unit/support/never.h"
#include "unit/support/packets.h"

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using test::FakeDrain;
using test::StreamChecker;

constexpr uint32_t kSession = 3;
constexpr uint32_t kOtherSession = 5;

class SubscribersTest : public testing::Test {
 protected:
  void create(SubscriberLimits limits = {}) {
    subscribers = Subscribers::create(
                      *loop,
                      {.finish = [this](uint32_t session) { requests.push_back(session); },
                       .on_dropped = [this](uint32_t session) { dropped.push_back(session); }},
                      limits)
                      .value();
  }
  // The reader's end of a new subscription.
  Fd subscribe(uint32_t session = kSession, std::shared_ptr<const void> keep = nullptr) {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    auto added = subscribers->add(
        Fd(fds[0]), {.session = session, .peer = {.pid = 42, .uid = 7}, .keep = std::move(keep)},
        [] { return std::vector<PacketBytes>{build_metadata_packet(Uuid{1, 2, 3}, 0, 0, {})}; });
    EXPECT_TRUE(added) << added.error().message;
    return Fd(fds[1]);
  }
  [[nodiscard]] size_t count() const { return subscribers->status().size(); }
  void publish(std::span<const PacketBytes> batch, bool last = false) {
    subscribers->publish(kSession, batch, last);
  }
  void turn(std::chrono::milliseconds timeout = 0ms) { ASSERT_TRUE(loop->run_once(timeout)); }
  void turns() {
    for (int i = 0; i < 10; ++i) turn();
  }
  // Reads available data; returns false at the end of the stream.
  static bool read_some(const Fd& fd, StreamChecker& checker, size_t max = 1U << 20) {
    std::vector<std::byte> bytes(max);
    ssize_t got = ::recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) checker.feed(std::span(bytes).first(static_cast<size_t>(got)));
    return got != 0;
  }
  // Runs the loop and reads until the end of the stream.
  bool read_to_end(const Fd& fd, StreamChecker& checker) {
    for (int i = 0; i < 100'000; ++i) {
      turn();
      if (!read_some(fd, checker)) return true;
    }
    return false;
  }

  std::unique_ptr<EventLoop> loop = EventLoop::create().value();
  std::vector<uint32_t> requests;  // by session
  std::vector<uint32_t> dropped;   // sessions
  std::unique_ptr<Subscribers> subscribers;
};

TEST_F(SubscribersTest, SendsFirstPacketsThenBatches) {
  create();
  Fd reader = subscribe();
  FakeDrain drain(4, 1);
  StreamChecker checker;
  turn();
  read_some(reader, checker);
  EXPECT_EQ(checker.packets(), 1U);
  publish(drain.batch(100));
  turn();
  read_some(reader, checker);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_TRUE(checker.at_end_of_batch());

  auto status = subscribers->status();
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0].pid, 42);
  EXPECT_EQ(status[0].uid, 7U);
  EXPECT_EQ(status[0].queued_bytes, 0U);
  EXPECT_EQ(status[0].lost_events, 0U);
  EXPECT_EQ(status[0].sent_packets, checker.packets());
  EXPECT_GE(status[0].age.count(), 0);
}

TEST_F(SubscribersTest, KeepsASessionAsLongAsItsReader) {
  create();
  auto one = std::make_shared<int>(1), other = std::make_shared<int>(2);
  Fd first = subscribe(kSession, one), second = subscribe(kOtherSession, other);
  turns();
  first.reset();
  turns();
  EXPECT_EQ(one.use_count(), 1);
  EXPECT_EQ(other.use_count(), 2);
  EXPECT_EQ(count(), 1U);
  second.reset();
  turns();
  EXPECT_EQ(other.use_count(), 1);
  EXPECT_EQ(count(), 0U);
}

TEST_F(SubscribersTest, SendsABatchToItsSessionOnly) {
  create();
  Fd reader = subscribe(), other = subscribe(kOtherSession);
  FakeDrain drain(4, 3);
  StreamChecker checker, other_checker;
  publish(drain.batch(100));
  turn();
  read_some(reader, checker);
  read_some(other, other_checker);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_EQ(other_checker.packets(), 1U) << "only the first names";
}

TEST_F(SubscribersTest, RequestsTheEndAndClosesAfterTheLastBatch) {
  create();
  Fd reader = subscribe();
  FakeDrain drain(4, 2);
  StreamChecker checker;
  ::shutdown(reader.get(), SHUT_WR);
  for (int i = 0; i < 20 && requests.empty(); ++i) turn(100ms);
  EXPECT_EQ(requests, std::vector{kSession});
  uint64_t now = boottime_ns();
  publish(drain.batch(100, now));
  turns();
  EXPECT_EQ(count(), 1U);
  publish(drain.batch(100, now), true);
  FakeDrain after(1, 1);
  publish(after.batch(100, now + 1));  // no longer for this subscriber
  EXPECT_TRUE(read_to_end(reader, checker));
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_EQ(checker.watermark(), now);
  EXPECT_TRUE(checker.at_end_of_batch());
  EXPECT_EQ(requests, std::vector{kSession});
}

TEST_F(SubscribersTest, CountsEveryEventThatASlowReaderLoses) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    create({.event_bytes = 60'000, .name_bytes = 1U << 20});
    Fd slow = subscribe();
    Fd fast = subscribe(kOtherSession);
    auto publish_to_both = [this](std::span<const PacketBytes> batch, bool last = false) {
      publish(batch, last);
      subscribers->publish(kOtherSession, batch, last);
    };
    FakeDrain drain(8, seed);
    StreamChecker slow_checker, fast_checker;
    for (int i = 0; i < 200; ++i) {
      publish_to_both(drain.batch(200));
      turn();
      read_some(fast, fast_checker);
      if (drain.below(8) == 0) read_some(slow, slow_checker, 1 + drain.below(50'000));
    }
    auto status = subscribers->status();
    EXPECT_GT(status[0].lost_events, 0U);
    EXPECT_LT(status[0].queued_bytes, 200'000U);
    for (const Fd* fd : {&slow, &fast}) ::shutdown(fd->get(), SHUT_WR);
    turns();
    publish_to_both(drain.batch(200), true);
    EXPECT_TRUE(read_to_end(slow, slow_checker));
    EXPECT_TRUE(read_to_end(fast, fast_checker));
    EXPECT_GT(subscribers->totals().lost_events, 0U) << "also of those that have gone";
    EXPECT_EQ(slow_checker.shown_and_lost(), drain.happened()) << seed;
    EXPECT_EQ(fast_checker.shown_and_lost(), drain.happened()) << seed;
    EXPECT_TRUE(slow_checker.at_end_of_batch());
  }
}

TEST_F(SubscribersTest, RemovesADisconnectedReaderWithoutASignal) {
  create();
  Fd reader = subscribe();
  FakeDrain drain(4, 5);
  reader.reset();
  for (int i = 0; i < 10; ++i) {
    publish(drain.batch(1000));
    turns();
  }
  EXPECT_EQ(count(), 0U);
}

TEST_F(SubscribersTest, KeepsAReaderThatNeverReadsWithinItsLimits) {
  create({.event_bytes = 100'000, .name_bytes = 10'000});
  Fd reader = subscribe();
  FakeDrain drain(4, 6);
  const auto name = test::task_name(7, 1, 7, "x");
  bool names_fit = true;
  for (uint64_t i = 0; i < 2'000; ++i) {
    publish(drain.batch(500));
    const PacketBytes names = build_metadata_packet(Uuid{1, 2, 3}, i, 0, name);
    names_fit = subscribers->publish(kSession, std::span(&names, 1));
    turn();
    for (const auto& one : subscribers->status()) ASSERT_LT(one.queued_bytes, 120'000U);
  }
  EXPECT_FALSE(names_fit);
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(subscribers->totals().closed, 0U);
}

// What comes later may need stacks that were dropped.
TEST_F(SubscribersTest, SaysWhenItDropsEvents) {
  create({.event_bytes = 100'000, .name_bytes = 10'000});
  Fd reader = subscribe(), other = subscribe(kOtherSession);
  FakeDrain drain(4, 6);
  publish(drain.batch(10));
  EXPECT_TRUE(dropped.empty());
  while (subscribers->totals().lost_events == 0) publish(drain.batch(500));
  EXPECT_EQ(dropped, (std::vector<uint32_t>{kSession}));
}

TEST_F(SubscribersTest, EndsWithAReasonWhenMetadataOtherThanNamesDoesNotFit) {
  create({.event_bytes = 100'000, .name_bytes = 10'000});
  Fd reader = subscribe();
  const std::vector<std::byte> account = account_record({}, 5);
  for (uint64_t i = 0; i < 100'000 && requests.empty(); ++i) {
    const PacketBytes packet = build_metadata_packet(Uuid{1, 2, 3}, i, 0, account);
    subscribers->publish(kSession, std::span(&packet, 1));
    turn();
  }
  EXPECT_EQ(requests, (std::vector<uint32_t>{kSession})) << "its session has ended";
  EXPECT_EQ(subscribers->totals().closed, 1U);
  std::vector<std::byte> received;
  for (int i = 0; i < 100'000 && count() > 0; ++i) {
    std::array<std::byte, 4096> bytes;
    const ssize_t got = ::recv(reader.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) received.insert(received.end(), bytes.begin(), bytes.begin() + got);
    turn();
  }
  EXPECT_EQ(count(), 0U);
  for (ssize_t got = 1; got > 0;) {
    std::array<std::byte, 4096> bytes;
    got = ::recv(reader.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) received.insert(received.end(), bytes.begin(), bytes.begin() + got);
  }
  std::optional<std::string> reason;
  std::span<const std::byte> rest = received;
  while (!rest.empty()) {
    const auto packet = PacketView::parse(rest);
    ASSERT_TRUE(packet) << packet.error().message;
    packet->for_each_record([&](const RecordView& record) { reason = end_reason_of(record); });
    rest = rest.subspan(packet->bytes().size());
  }
  EXPECT_EQ(reason, "its reader leaves too much unread");
}

TEST_F(SubscribersTest, IgnoresDataFromReaders) {
  create();
  Fd reader = subscribe();
  ASSERT_EQ(::send(reader.get(), "nonsense\n", 9, 0), 9);
  turns();
  EXPECT_EQ(count(), 1U);
  EXPECT_TRUE(requests.empty());
}

TEST_F(SubscribersTest, FinishAllSendsQueuedPacketsAndLosses) {
  create({.event_bytes = 50'000, .name_bytes = 1U << 20});
  Fd reader = subscribe();
  FakeDrain drain(8, 7);
  for (int i = 0; i < 100; ++i) publish(drain.batch(200));
  StreamChecker checker;
  std::thread reading([&] {
    timeval timeout{.tv_sec = test::kNever.count(), .tv_usec = 0};
    ::setsockopt(reader.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    std::vector<std::byte> bytes(1000);
    for (ssize_t got = 0; (got = ::recv(reader.get(), bytes.data(), bytes.size(), 0)) > 0;)
      checker.feed(std::span(bytes).first(static_cast<size_t>(got)));
  });
  subscribers->finish_all(test::kNever);
  reading.join();
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_TRUE(checker.at_end_of_batch());
}

TEST_F(SubscribersTest, FinishAllGivesUpAClientThatDoesNotReadAtItsTimeout) {
  create();
  Fd reader = subscribe();
  FakeDrain drain(8, 8);
  for (int i = 0; i < 200; ++i) publish(drain.batch(1000));
  subscribers->finish_all(100ms);
  EXPECT_EQ(count(), 0U);
}

TEST_F(SubscribersTest, PublishesFromAnotherThread) {
  create({.event_bytes = 200'000, .name_bytes = 1U << 20});
  Fd reader = subscribe();
  FakeDrain drain(8, 9);
  std::atomic<bool> stop = false;
  std::thread publisher([&] {
    for (int i = 0; i < 500; ++i) publish(drain.batch(500));
    while (!stop) {
      publish(drain.batch(0), true);
      std::this_thread::sleep_for(1ms);
    }
  });
  StreamChecker checker;
  for (int i = 0; i < 2000; ++i) {
    turn();
    if (i % 7 == 0) read_some(reader, checker, 20'000);
  }
  ::shutdown(reader.get(), SHUT_WR);
  EXPECT_TRUE(read_to_end(reader, checker));
  stop = true;
  publisher.join();
  EXPECT_EQ(checker.shown_and_lost(), drain.happened());
  EXPECT_TRUE(checker.at_end_of_batch());
}

}  // namespace
}  // namespace ktraced

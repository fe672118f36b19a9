// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

namespace ktraced {
namespace {

using namespace std::chrono_literals;

class EventLoopTest : public testing::Test {
 protected:
  std::unique_ptr<EventLoop> loop = EventLoop::create().value();
};

TEST_F(EventLoopTest, RunReturnsTheCodeOfExit) {
  loop->post([&] { loop->exit(7); });
  EXPECT_EQ(loop->run().value(), 7);
}

TEST_F(EventLoopTest, PostRunsTasksOfOtherThreadsInOrder) {
  std::vector<int> order;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop->post([&order, i] { order.push_back(i); });
    loop->post([&] { loop->exit(0); });
  });
  ASSERT_TRUE(loop->run());
  other.join();
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(EventLoopTest, ServesOthersBetweenPostedTasksThatTakeLong) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  Fd reader(fds[0]), writer(fds[1]);
  std::vector<int> order;
  size_t done_before = 0;
  EventSource source = loop->add_io(reader.get(), EPOLLIN,
                                    [&](uint32_t) {
                                      done_before = order.size();
                                      source.reset();
                                    })
                           .value();
  for (int i = 0; i < 50; ++i)
    loop->post([&, i] {
      if (i == 0) {
        EXPECT_EQ(::write(writer.get(), "x", 1), 1);
      }
      std::this_thread::sleep_for(5ms);
      order.push_back(i);
    });
  for (int i = 0; i < 200 && order.size() < 50; ++i) ASSERT_TRUE(loop->run_once(10ms));
  EXPECT_GT(done_before, 0U);
  EXPECT_LT(done_before, 50U) << "it waited for all of them";
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(EventLoopTest, RunsOneTaskOfLowPriorityInATurn) {
  std::string order;
  std::function<void(int)> next = [&](int left) {
    order += 'n';
    if (left > 0) loop->post([&, left] { next(left - 1); });
  };
  for (int i = 0; i < 20; ++i) loop->post([&] { order += 'l'; }, Priority::low);
  loop->post([&] { next(9); });
  for (int i = 0; i < 200 && order.size() < 30; ++i) ASSERT_TRUE(loop->run_once(10ms));
  ASSERT_EQ(order.size(), 30U);
  const std::string both = order.substr(0, order.rfind('n'));
  EXPECT_EQ(both.find("lll"), std::string::npos) << order;
  EXPECT_LE(std::ranges::count(both, 'l'), 11) << order;
}

TEST_F(EventLoopTest, CombinesNotificationsBeforeTheCallback) {
  int calls = 0;
  auto bell = loop->add_notifier([&] { ++calls; }).value();
  for (int i = 0; i < 100; ++i) bell.notify();
  ASSERT_TRUE(loop->run_once(1s).value());
  ASSERT_TRUE(loop->run_once(0s).value());
  EXPECT_EQ(calls, 1);
  bell.notify();
  ASSERT_TRUE(loop->run_once(1s).value());
  EXPECT_EQ(calls, 2);
}

TEST_F(EventLoopTest, DoesNotCallADestroyedSource) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  Fd reader(fds[0]), writer(fds[1]);
  int calls = 0;
  auto source = loop->add_io(reader.get(), EPOLLIN, [&](uint32_t) { ++calls; }).value();
  ASSERT_EQ(::write(writer.get(), "x", 1), 1);
  ASSERT_TRUE(loop->run_once(1s));
  EXPECT_EQ(calls, 1);
  source.watch(0);
  ASSERT_TRUE(loop->run_once(10ms));
  EXPECT_EQ(calls, 1);
  source.watch(EPOLLIN);
  source.reset();
  ASSERT_TRUE(loop->run_once(10ms));
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, CallbackMayDestroyItsSource) {
  auto value = std::make_shared<int>(0);
  std::optional<EventSource> source;
  source = loop->add_timer(1ms,
                           [&source, value] {
                             source.reset();
                             ++*value;  // the capture is still alive
                           })
               .value();
  ASSERT_TRUE(loop->run_once(1s));
  EXPECT_EQ(*value, 1);
  EXPECT_EQ(value.use_count(), 1);
}

TEST_F(EventLoopTest, RepeatingTimerRepeatsAndMayStopItself) {
  int calls = 0;
  EventSource source;
  source = loop->add_repeating_timer(1ms,
                                     [&] {
                                       if (++calls == 3) source.reset();
                                     })
               .value();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(loop->run_once(20ms));
  EXPECT_EQ(calls, 3);
}

TEST_F(EventLoopTest, OneShotTimerFiresOnce) {
  int calls = 0;
  auto source = loop->add_timer(1ms, [&] { ++calls; }).value();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(loop->run_once(10ms));
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, DeliversBlockedSignals) {
  ASSERT_TRUE(EventLoop::block_signals({SIGUSR1, SIGHUP}));
  int usr1 = 0, hup = 0;
  SignalSender sender;
  auto first = loop->add_signal(SIGUSR1,
                                [&](const SignalSender& by) {
                                  ++usr1;
                                  sender = by;
                                })
                   .value();
  auto second = loop->add_signal(SIGHUP, [&](const SignalSender&) { ++hup; }).value();
  ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  for (int i = 0; i < 4 && usr1 + hup < 2; ++i) ASSERT_TRUE(loop->run_once(1s));
  EXPECT_EQ(usr1, 1);
  EXPECT_EQ(hup, 1);
  EXPECT_EQ(sender.pid, ::getpid());
  EXPECT_EQ(sender.uid, ::getuid());
}

}  // namespace
}  // namespace ktraced

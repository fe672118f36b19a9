// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/sliced_work.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "daemon/control/command_queue.h"

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using Step = SlicedWork::Step;

// Runs the loop until `condition` holds.
bool turns_until(EventLoop& loop, const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) loop.run_once(10ms).value();
  return condition();
}

TEST(SlicedWork, FinishesAtOnceWithoutALoop) {
  SlicedWork work;
  int steps = 0;
  bool done = false;
  work.start([&] { return ++steps == 3 ? Step::done
                          : steps == 2 ? Step::later
                                       : Step::more; },
             [&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_EQ(steps, 3);
  EXPECT_FALSE(work.running());
}

TEST(SlicedWork, LetsTheLoopRunBetweenSlices) {
  auto loop = EventLoop::create().value();
  SlicedWork work;
  work.work_in(*loop);
  std::string order;
  int steps = 0;
  loop->post([&] { order += "other "; });
  work.start(
      [&] {
        std::this_thread::sleep_for(20ms);
        order += "step ";
        return ++steps == 3 ? Step::done : Step::more;
      },
      [&] { order += "done"; });
  EXPECT_TRUE(turns_until(*loop, [&] { return !work.running(); }));
  EXPECT_EQ(order, "step other step step done");
}

TEST(SlicedWork, RetriesBusyStepsLater) {
  auto loop = EventLoop::create().value();
  SlicedWork work;
  work.work_in(*loop);
  int tries = 0;
  work.start([&] { return ++tries == 4 ? Step::done : Step::later; }, [] {});
  EXPECT_TRUE(work.running());
  EXPECT_TRUE(turns_until(*loop, [&] { return !work.running(); }));
  EXPECT_EQ(tries, 4);
}

TEST(SlicedWork, CanBeReplacedFromWithinAStep) {
  auto loop = EventLoop::create().value();
  SlicedWork work;
  work.work_in(*loop);
  bool first_done = false, second_done = false;
  work.start(
      [&] {
        work.start([] { return Step::done; }, [&] { second_done = true; });
        return Step::done;
      },
      [&] { first_done = true; });
  EXPECT_TRUE(second_done);
  EXPECT_FALSE(first_done);
  work.start([] { return Step::later; }, [] {});
  work.stop();
  EXPECT_FALSE(work.running());
  loop->run_once(20ms).value();
}

TEST(CommandQueue, ExecutesOneAfterAnother) {
  auto loop = EventLoop::create().value();
  CommandQueue queue(*loop);
  std::string order;
  CommandQueue::Token first;
  queue.run([&](const CommandQueue::Token& token) {
    order += "first ";
    first = token;
  });
  queue.run([&](const CommandQueue::Token&) { order += "second "; });
  queue.run([&](const CommandQueue::Token&) { order += "third"; });
  loop->run_once(0ms).value();
  EXPECT_EQ(order, "first ");
  first.reset();
  EXPECT_TRUE(turns_until(*loop, [&] { return order == "first second third"; })) << order;
  queue.run([&](const CommandQueue::Token&) { order += " at once"; });
  EXPECT_EQ(order, "first second third at once");
}

TEST(CommandQueue, KeepsOrderWhenACommandArrivesWhileTheNextIsDue) {
  auto loop = EventLoop::create().value();
  CommandQueue queue(*loop);
  std::string order;
  queue.run([&](const CommandQueue::Token&) {
    order += "1";
    queue.run([&](const CommandQueue::Token&) { order += "2"; });
  });
  queue.run([&](const CommandQueue::Token&) { order += "3"; });
  EXPECT_EQ(order, "1");
  EXPECT_TRUE(turns_until(*loop, [&] { return order.size() == 3; }));
  EXPECT_EQ(order, "123");
}

TEST(CommandQueue, ExecutesThoseOfLowPriorityLast) {
  auto loop = EventLoop::create().value();
  CommandQueue queue(*loop);
  std::string order;
  const auto add = [&](const char* name, Priority priority) {
    queue.run([&order, name](const CommandQueue::Token&) { order += name; }, priority);
  };
  CommandQueue::Token first;
  queue.run([&](const CommandQueue::Token& token) { first = token; }, Priority::low);
  add("a", Priority::low);
  add("b", Priority::normal);
  add("c", Priority::low);
  add("d", Priority::normal);
  first.reset();
  EXPECT_TRUE(turns_until(*loop, [&] { return order.size() == 4; }));
  EXPECT_EQ(order, "bdac");
}

TEST(SlicedWork, LetsOtherTasksGoFirstWithLowPriority) {
  auto loop = EventLoop::create().value();
  SlicedWork work;
  work.work_in(*loop, Priority::low);
  std::string order;
  loop->post([&] { order += "other "; }, Priority::low);
  work.start(
      [&] {
        std::this_thread::sleep_for(20ms);
        order += "step ";
        return order.size() > 15 ? Step::done : Step::more;
      },
      [&] { order += "done"; });
  loop->post([&] { order += "another "; }, Priority::low);
  EXPECT_TRUE(turns_until(*loop, [&] { return !work.running(); }));
  EXPECT_EQ(order, "step other step done");
}

TEST(CommandQueue, DropsWaitingCommandsWhenClosed) {
  auto loop = EventLoop::create().value();
  CommandQueue::Token kept;
  bool second = false;
  {
    CommandQueue queue(*loop);
    queue.run([&](const CommandQueue::Token& token) { kept = token; });
    queue.run([&](const CommandQueue::Token&) { second = true; });
    queue.close();
  }
  kept.reset();
  loop->run_once(20ms).value();
  EXPECT_FALSE(second);
}

}  // namespace
}  // namespace ktraced

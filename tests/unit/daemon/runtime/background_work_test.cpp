// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/background_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

namespace ktraced {
namespace {

using namespace std::chrono_literals;

class BackgroundWorkTest : public testing::Test {
 protected:
  // Turns of the loop until `condition` holds.
  bool turns_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) loop->run_once(10ms).value();
    return condition();
  }

  std::unique_ptr<EventLoop> loop = EventLoop::create().value();
};

TEST_F(BackgroundWorkTest, CallsTheContinuationInTheThreadOfTheLoop) {
  BackgroundWork work(*loop, "test");
  std::thread::id worker, caller;
  int result = 0;
  work.run(
      [&]() -> Result<int> {
        worker = std::this_thread::get_id();
        return 42;
      },
      [&](const Result<int>& answer) {
        caller = std::this_thread::get_id();
        result = answer.value();
      });
  ASSERT_TRUE(turns_until([&] { return result != 0; }));
  EXPECT_EQ(result, 42);
  EXPECT_EQ(caller, std::this_thread::get_id());
  EXPECT_NE(worker, caller);
}

TEST_F(BackgroundWorkTest, DoesWorkOfLowPriorityLast) {
  BackgroundWork work(*loop, "test");
  std::promise<void> begin;
  std::string order;  // in the worker
  int done = 0;
  const auto add = [&](char name, Priority priority) {
    work.run([&order, name]() -> Result<char> { return order += name, name; },
             [&done](const Result<char>&) { ++done; }, priority);
  };
  work.run([begun = begin.get_future().share()]() -> Result<int> { return begun.wait(), 0; },
           [](const Result<int>&) {});
  add('a', Priority::low);
  add('b', Priority::normal);
  add('c', Priority::low);
  begin.set_value();
  ASSERT_TRUE(turns_until([&] { return done == 3; }));
  EXPECT_EQ(order, "bac");
}

// The worker still holds its task when the loop has called and dropped the continuation: an event
// source in it would otherwise be destroyed by the worker.
TEST_F(BackgroundWorkTest, DestroysContinuationsInTheThreadOfTheLoopWhenTheWorkerIsSlow) {
  std::atomic<bool> called = false;
  std::atomic<std::thread::id> destroyed_by;
  auto token =
      std::shared_ptr<void>(nullptr, [&](void*) { destroyed_by = std::this_thread::get_id(); });
  std::promise<void> dropped;
  auto slow = std::shared_ptr<void>(
      nullptr, [until = dropped.get_future().share()](void*) { until.wait(); });
  BackgroundWork work(*loop, "test");
  work.run([slow = std::move(slow)]() -> Result<int> { return 1; },
           [&called, token = std::move(token)](const Result<int>&) { called = true; });
  EXPECT_TRUE(turns_until([&] { return called.load(); }));
  EXPECT_EQ(destroyed_by.load(), std::this_thread::get_id());
  dropped.set_value();
}

TEST_F(BackgroundWorkTest, DropsContinuationsThatWereNotCalledWhenItEnds) {
  auto token = std::make_shared<int>();
  bool called = false;
  {
    BackgroundWork work(*loop, "test");
    for (int i = 0; i < 10; ++i)
      work.run([]() -> Result<int> { return 1; },
               [&called, token](const Result<int>&) { called = true; });
  }
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_TRUE(loop->run_once(0ms).value());
  EXPECT_FALSE(called);
}

TEST_F(BackgroundWorkTest, ReportsAnExceptionAsAnError) {
  BackgroundWork work(*loop, "test");
  ExitCode code = ExitCode::usage;
  bool called = false;
  work.run([]() -> Result<int> { throw std::runtime_error("broken"); },
           [&](const Result<int>& answer) {
             called = true;
             code = answer.error().code;
           });
  ASSERT_TRUE(turns_until([&] { return called; }));
  EXPECT_EQ(code, ExitCode::software);
}

}  // namespace
}  // namespace ktraced

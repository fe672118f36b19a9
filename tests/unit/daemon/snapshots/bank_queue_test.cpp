// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/bank_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BankQueueTest : public testing::Test {
 protected:
  Result<> add(const std::string& name, std::chrono::milliseconds timeout = 1h,
               std::shared_ptr<bool> connected = std::make_shared<bool>(true)) {
    return queue_.add(
        {.name = name,
         .connected = [connected] { return *connected; },
         .take = [this, name] { taken_.push_back(name); },
         .fail = [this, name](const Error& error) { failed_.emplace_back(name, error); }},
        timeout);
  }
  // Serves requests while there are spare banks.
  void serve(int spare) {
    queue_.serve([&] { return spare-- > 0; });
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  BankQueue queue_{*loop_, [] { return Error{ExitCode::unavailable, "no spare bank"}; }};
  std::vector<std::string> taken_;
  std::vector<std::pair<std::string, Error>> failed_;
};

TEST_F(BankQueueTest, ServesRequestsInOrder) {
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(add(name));
  serve(0);
  EXPECT_THAT(taken_, IsEmpty());
  serve(2);
  EXPECT_THAT(taken_, ElementsAre("a", "b"));
  EXPECT_EQ(queue_.size(), 1U);
  EXPECT_TRUE(queue_.contains("c"));
  EXPECT_FALSE(queue_.contains("a"));
  serve(5);
  EXPECT_THAT(taken_, ElementsAre("a", "b", "c"));
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(BankQueueTest, FailsARequestAfterItsTimeout) {
  EXPECT_TRUE(add("long"));
  EXPECT_TRUE(add("short", 20ms));
  for (int i = 0; i < 1000 && failed_.empty(); ++i) ASSERT_TRUE(loop_->run_once(100ms));
  ASSERT_EQ(failed_.size(), 1U);
  EXPECT_EQ(failed_[0].first, "short");
  EXPECT_EQ(failed_[0].second.code, ExitCode::unavailable);
  EXPECT_EQ(failed_[0].second.message, "timed out after 0.02 s: no spare bank");
  serve(2);
  EXPECT_THAT(taken_, ElementsAre("long"));
}

TEST_F(BankQueueTest, DropsRequestsOfDisconnectedClients) {
  const auto connected = std::make_shared<bool>(true);
  EXPECT_TRUE(add("gone", 20ms, connected));
  EXPECT_TRUE(add("gone-too", 1h, connected));
  EXPECT_TRUE(add("here"));
  *connected = false;
  EXPECT_EQ(queue_.size(), 1U);
  EXPECT_FALSE(queue_.contains("gone"));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(loop_->run_once(10ms));
  serve(1);
  EXPECT_THAT(taken_, ElementsAre("here"));
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(BankQueueTest, IsBounded) {
  const auto connected = std::make_shared<bool>(true);
  for (size_t i = 0; i < BankQueue::kMax; ++i) EXPECT_TRUE(add(std::to_string(i), 1h, connected));
  const auto full = add("one more");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ExitCode::unavailable);
  EXPECT_THAT(full.error().message, HasSubstr("64 requests wait"));
  *connected = false;
  EXPECT_TRUE(add("one more")) << "requests of disconnected clients take no room";
}

TEST_F(BankQueueTest, FailsAllRequestsOnce) {
  for (const char* name : {"a", "b"}) EXPECT_TRUE(add(name, 20ms));
  queue_.fail_all({ExitCode::unavailable, "stopping"});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(loop_->run_once(10ms));
  serve(5);
  ASSERT_EQ(failed_.size(), 2U);
  EXPECT_EQ(failed_[0].first, "a");
  EXPECT_EQ(failed_[1].second.message, "stopping");
  EXPECT_THAT(taken_, IsEmpty());
}

TEST_F(BankQueueTest, AcceptsRequestsWhileServing) {
  ASSERT_TRUE(queue_.add({.name = "a",
                          .connected = [] { return true; },
                          .take =
                              [this] {
                                taken_.emplace_back("a");
                                EXPECT_TRUE(add("c"));
                                serve(1);
                              },
                          .fail = [](const Error&) {}},
                         1h));
  EXPECT_TRUE(add("b"));
  serve(2);
  EXPECT_THAT(taken_, ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace ktraced

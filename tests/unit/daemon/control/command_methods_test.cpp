// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/command_methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Its id is beyond PID_MAX_LIMIT.
constexpr Peer kEnded{.pid = 5'000'000, .uid = 0, .gid = 0, .role = Role::admin};

TEST(FilterPids, OfAClientThatHasEndedAreRefused) {
  for (const json& filter :
       {json{{"pid", {1}}}, json{{"follow", {1}}}, json{{"exclude", {{"pid", {1}}}}}}) {
    const auto refused = check_filter_pids({{"filter", filter}}, kEnded);
    ASSERT_FALSE(refused) << filter;
    EXPECT_EQ(refused.error().code, ExitCode::usage);
    EXPECT_THAT(refused.error().message, HasSubstr("the client, process 5000000, has ended"));
  }
}

TEST(FilterPids, AreCheckedOnlyIfTheyMayMeanOtherProcesses) {
  EXPECT_TRUE(check_filter_pids(json::object(), kEnded));
  EXPECT_TRUE(check_filter_pids({{"filter", {{"uid", {0}}}}}, kEnded));
  EXPECT_TRUE(check_filter_pids({{"filter", {{"pid", {1}}}}, {"kernel_pids", true}}, kEnded));
}

}  // namespace
}  // namespace ktraced

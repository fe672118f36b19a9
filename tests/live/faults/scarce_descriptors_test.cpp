// SPDX-License-Identifier: BSD-2-Clause
// The daemon has no file descriptor left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "harness/client/daemon.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

TEST(ScarceDescriptors, FailASnapshotAndKeepTheHistory) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 1024}}));
  RpcConnection client(daemon.socket());
  truth.act();
  ASSERT_TRUE(client.call("status").contains("result"));
  rlimit before{};
  ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = before.rlim_max};  // new ones would be above it
  ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  const json answer = client.call("snapshot.take");
  ASSERT_TRUE(answer.contains("error")) << answer;
  EXPECT_THAT(answer["error"]["message"].get<std::string>(),
              HasSubstr("too many open files; raise LimitNOFILE"));
  EXPECT_TRUE(client.call("status").contains("result"));
  const json session = {{"events", {"sched"}}};
  EXPECT_THAT(client.call("stream.subscribe", session)["error"]["message"].get<std::string>(),
              HasSubstr("too many open files"));
  ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 1000));
  EXPECT_TRUE(client.call("stream.subscribe", session).contains("result"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// The daemon releases the memory it used.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/client/daemon.h"
#include "harness/client/stream.h"
#include "harness/machine/memory.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

constexpr size_t kLimitKb = 32U << 10;

testing::AssertionResult comes_below_limit(const Daemon& daemon) {
  if (eventually([&] { return resident_kb_beside_rings(daemon.pid()) < kLimitKb; }))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << resident_kb_beside_rings(daemon.pid()) << " KiB are resident";
}

TEST(Memory, IsReleasedAfterClientsListsAndStreams) {
  Daemon daemon(json{{"events", {{"syscalls", true}, {"sched", true}, {"kmem", true}}}});
  {
    std::vector<std::unique_ptr<RpcConnection>> clients;
    for (int i = 0; i < 500; ++i) {
      clients.push_back(std::make_unique<RpcConnection>(daemon.socket()));
      clients.back()->call("status");
    }
    EXPECT_TRUE(comes_below_limit(daemon)) << "while they are connected";
  }
  EXPECT_TRUE(comes_below_limit(daemon)) << "after hundreds of clients";
  for (int i = 0; i < 3; ++i) daemon.call("events.list", {{"tracepoints", {"*:*"}}});
  EXPECT_TRUE(comes_below_limit(daemon)) << "after lists of tracepoints";
  for (int i = 0; i < 3; ++i) {
    Stream stream(daemon);
    WaitingTruth load({"load"});
    load.go();
    load.finish();
    stream.finish_and_count();
  }
  EXPECT_TRUE(comes_below_limit(daemon)) << "after streams";
}

}  // namespace
}  // namespace ktraced::live

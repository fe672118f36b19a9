// SPDX-License-Identifier: BSD-2-Clause
// Kernel probes on all functions that a pattern matches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/client/probes.h"
#include "harness/client/rpc.h"
#include "harness/client/stream.h"
#include "harness/machine/kernel_module.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::IsEmpty;

TEST(Probe, AttachesToManyFunctionsByPattern) {
  Daemon daemon;
  const json added = add(daemon, "p:any vfs_*");
  EXPECT_EQ(added["added"][0]["available"], true);
  WaitingTruth truth({"syscalls"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  std::set<std::string> functions;
  for (const json& event : stream.finish().events("kprobes:any", truth.pid())) {
    const std::string name = name_of(event, "__probe_ip");
    functions.insert(name.substr(0, name.find('+')));
  }
  EXPECT_THAT(functions, AllOf(Contains("vfs_read"), Contains("vfs_open")));
}
// Only where probes are attached one by one: kprobe.multi attaches all of them at once.
TEST(Probe, ReportsProgressWhenAPatternIsAttachedOneByOne) {
  Daemon daemon;
  RpcConnection connection(daemon.socket());
  connection.send_bytes(
      R"({"jsonrpc":"2.0","id":1,"method":"probe.add","params":{"text":"p:any vfs_*","progress":true}})"
      "\n");
  std::vector<json> expected;
  json line = json::parse(connection.read_line().value());
  for (; !line.contains("id"); line = json::parse(connection.read_line().value()))
    expected.push_back(line);
  ASSERT_TRUE(line.contains("result")) << line;
  if (!kallsyms_address("register_fprobe_ips", "").empty()) {
    EXPECT_THAT(expected, IsEmpty());
    return;
  }
  ASSERT_FALSE(expected.empty());
  for (const json& each : expected) {
    EXPECT_EQ(each["method"], "progress");
    EXPECT_LT(each["params"]["done"], each["params"]["total"]);
  }
  EXPECT_EQ(expected[0]["params"]["done"], 0);
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// Snapshots that are protected from retention, and those that retention removes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/client/daemon.h"
#include "harness/machine/held_thread.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class KeptSnapshot : public testing::Test {
 protected:
  void take(std::initializer_list<const char*> names) {
    for (const char* name : names) daemon_.call("snapshot.take", {{"name", name}});
  }
  json flight() { return daemon_.call("status")["flight"]; }
  std::vector<std::string> names() {
    const json list = daemon_.call("snapshot.list");
    std::vector<std::string> found;
    for (const json& snapshot : list["snapshots"]) found.push_back(snapshot["name"]);
    return found;
  }

  Daemon daemon_{flight_config({{"max_snapshots", 3}})};
};

TEST_F(KeptSnapshot, IsNotRemovedByRetentionEvenAfterARestart) {
  take({"a", "b"});
  EXPECT_EQ(daemon_.ctl_ok({"snapshot", "keep", "a"}), "kept: a\n");
  EXPECT_EQ(daemon_.ctl({"snapshot", "delete", "a"}).exit_code, 64);
  take({"c", "d"});
  EXPECT_THAT(names(), ElementsAre("a", "c", "d"));
  EXPECT_EQ(flight()["evicted"], 1);
  EXPECT_TRUE(daemon_.logged("removed the snapshot b ("));
  EXPECT_EQ(daemon_.stop().exit_code, 0);
  daemon_.start();
  EXPECT_EQ(flight()["snapshots_kept"], 1);
  EXPECT_EQ(flight()["evicted"], 0);
  take({"e", "f"});
  EXPECT_THAT(names(), ElementsAre("a", "e", "f"));
  EXPECT_THAT(daemon_.ctl_ok({"snapshot", "list"}), HasSubstr("complete, kept "));
  EXPECT_EQ(daemon_.call("snapshot.list")["snapshots"][0]["kept"], true);
  EXPECT_EQ(daemon_.ctl_ok({"snapshot", "keep", "--undo", "a"}), "no longer kept: a\n");
  take({"g"});
  EXPECT_THAT(names(), ElementsAre("e", "f", "g"));
}

TEST_F(KeptSnapshot, MayExceedTheLimits) {
  take({"a", "b", "c"});
  daemon_.ctl_ok({"snapshot", "keep", "a", "b", "c"});
  take({"d", "e"});
  EXPECT_THAT(names(), ElementsAre("a", "b", "c", "e"));
  const json status = flight();
  EXPECT_EQ(status["evicted"], 1);
  EXPECT_EQ(status["limits_exceeded"], 2);
  EXPECT_EQ(status["snapshots"], 4);
  EXPECT_EQ(status["snapshots_kept"], 3);
}

TEST_F(KeptSnapshot, IsMarkedAfterItIsWritten) {
  RpcConnection client(daemon_.socket());
  {
    const HeldThread writer(daemon_.pid(), "ktraced-writer");
    daemon_.call("snapshot.take", {{"name", "a"}, {"wait", false}});
    client.send_bytes(R"({"jsonrpc":"2.0","id":1,"method":"snapshot.keep","params":{"name":"a"}})"
                      "\n");
    daemon_.call("version");
  }
  const json answer = json::parse(client.read_line().value_or("{}"));
  EXPECT_EQ(answer["result"], json({{"name", "a"}, {"kept", true}})) << answer;
  EXPECT_EQ(daemon_.call("snapshot.list")["snapshots"][0]["kept"], true);
}

}  // namespace
}  // namespace ktraced::live

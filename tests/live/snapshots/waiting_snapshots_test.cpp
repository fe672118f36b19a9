// SPDX-License-Identifier: BSD-2-Clause
// Snapshots that wait until a bank is spare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "harness/client/daemon.h"
#include "harness/machine/held_thread.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A daemon of two banks whose writer is blocked: "first" has frozen one of them.
class WaitingSnapshot : public testing::Test {
 protected:
  WaitingSnapshot() : writer_(std::in_place, daemon_.pid(), "ktraced-writer") {
    daemon_.call("snapshot.take", {{"name", "first"}, {"wait", false}});
  }

  size_t waiting() { return daemon_.call("status")["flight"]["waiting"]; }
  // Sends a request for a snapshot, and returns when it waits.
  void request(RpcConnection& client, const json& params) {
    const size_t before = waiting();
    const json line = {
        {"jsonrpc", "2.0"}, {"id", 1}, {"method", "snapshot.take"}, {"params", params}};
    client.send_bytes(line.dump() + "\n");
    ASSERT_TRUE(reaches([&] { return waiting(); }, before + 1));
  }
  static json answer(RpcConnection& client) {
    return json::parse(client.read_line().value_or("{}"));
  }
  void release_writer() { writer_.reset(); }
  [[nodiscard]] fs::path path_of(const std::string& name) const {
    return daemon_.directory() / "snapshots" / name;
  }

  Daemon daemon_{flight_config({{"banks", 2}})};
  std::optional<HeldThread> writer_;
};

TEST_F(WaitingSnapshot, IsTakenWhenABankIsSpareInTheOrderOfRequestsUnlessItsClientHasGone) {
  {
    RpcConnection gone(daemon_.socket());
    request(gone, {{"name", "gone"}});
  }
  ASSERT_TRUE(eventually([&] { return waiting() == 0; }));
  RpcConnection a(daemon_.socket()), b(daemon_.socket()), soon(daemon_.socket());
  request(a, {{"name", "a"}});
  request(b, {{"name", "b"}});
  request(soon, {{"name", "soon"}, {"wait", false}, {"timeout_ms", kNever.count()}});
  EXPECT_EQ(daemon_.call("snapshot.list")["writing"], json::array({"first"}));
  WaitingTruth truth({"numbered", "1000"});
  daemon_.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  release_writer();
  for (RpcConnection* client : {&a, &b}) {
    const json result = answer(*client)["result"];
    EXPECT_TRUE(complete_but_for_missed(result)) << result;
  }
  const json taken = answer(soon)["result"];
  EXPECT_EQ(taken["name"], "soon");
  EXPECT_FALSE(taken.contains("complete")) << "it is answered before it is on disk";
  json list;
  ASSERT_TRUE(
      reaches([&] { return (list = daemon_.call("snapshot.list")["snapshots"]).size(); }, 4));
  EXPECT_EQ(list[1]["name"], "a");
  EXPECT_EQ(list[2]["name"], "b");
  EXPECT_EQ(list[3]["name"], "soon");
  EXPECT_EQ(list[1]["end_ns"], list[2]["begin_ns"]);
  EXPECT_EQ(numbers_in(path_of("a"), truth.pid()), from_to(1, 1000)) << "up to the swap";
  EXPECT_FALSE(fs::exists(path_of("gone")));
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(WaitingSnapshot, IsNotTakenWithoutWaitingOrAfterItsTimeout) {
  const Finished late = daemon_.ctl({"snapshot", "take", "late", "--timeout", "300ms"});
  EXPECT_EQ(late.exit_code, 69);
  EXPECT_EQ(late.err,
            "ktracectl: timed out after 0.3 s: no spare bank: another snapshot is still being "
            "written; wait for it, or set flight.banks above 2\n");
  const Finished taken = daemon_.ctl({"snapshot", "take", "--no-wait"});
  EXPECT_EQ(taken.exit_code, 69);
  EXPECT_THAT(taken.err, HasSubstr("ktracectl: no spare bank"));
  daemon_.send(SIGUSR1);
  EXPECT_TRUE(daemon_.logged("no snapshot on SIGUSR1: no spare bank"));
  EXPECT_THAT(daemon_.call_error("snapshot.disable")["message"].get<std::string>(),
              HasSubstr("being written"));
  EXPECT_EQ(waiting(), 0U);
  release_writer();
  daemon_.ctl_ok({"snapshot", "take", "late"});
}

TEST_F(WaitingSnapshot, DoesNotBlockCommandsOfOthersAndFailsWhenTheDaemonStops) {
  RpcConnection client(daemon_.socket());
  request(client, {{"name", "a"}, {"timeout_ms", 3'600'000}});
  daemon_.call("pause");
  daemon_.call("resume");
  daemon_.set_filter({{"pid", {1}}});
  daemon_.call("filter.clear");
  EXPECT_EQ(waiting(), 1U);
  const json same = daemon_.call_error("snapshot.take", {{"name", "a"}});
  EXPECT_THAT(same["message"].get<std::string>(), HasSubstr("'a' waits for a spare bank"));
  EXPECT_EQ(same["data"]["exit_code"], 64);
  daemon_.send(SIGTERM);
  const json error = answer(client)["error"];
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("the daemon is stopping"));
  EXPECT_EQ(error["data"]["exit_code"], 69);
  release_writer();
  EXPECT_EQ(daemon_.stop().exit_code, 0);
  EXPECT_TRUE(fs::exists(path_of("first")));
  EXPECT_FALSE(fs::exists(path_of("a")));
}

}  // namespace
}  // namespace ktraced::live

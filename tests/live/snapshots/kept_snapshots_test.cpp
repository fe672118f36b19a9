// SPDX-License-Identifier: BSD-2-Clause
// Snapshots that are protected from retention, and those that retention removes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "harness/client/daemon.h"
#include "harness/machine/held_thread.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
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
  const fs::path store_ = daemon_.directory() / "snapshots";
};

TEST_F(KeptSnapshot, IsNotRemovedByRetentionEvenAfterARestart) {
  take({"a", "b"});
  EXPECT_EQ(daemon_.ctl_ok({"snapshot", "keep", "a"}), "kept: a\n");
  take({"c", "d"});
  EXPECT_THAT(names(), ElementsAre("a", "c", "d"));
  EXPECT_EQ(flight()["evicted"], 1);
  EXPECT_EQ(daemon_.stop().exit_code, 0);
  daemon_.start();
  EXPECT_EQ(flight()["snapshots_kept"], 1);
  EXPECT_EQ(flight()["evicted"], 0);
  take({"e", "f"});
  EXPECT_THAT(names(), ElementsAre("a", "e", "f"));
  EXPECT_THAT(daemon_.ctl_ok({"snapshot", "list"}), HasSubstr("complete, kept\n"));
  EXPECT_EQ(daemon_.call("snapshot.list")["snapshots"][0]["kept"], true);
  EXPECT_EQ(daemon_.ctl_ok({"snapshot", "keep", "--undo", "a"}), "no longer kept: a\n");
  take({"g"});
  EXPECT_THAT(names(), ElementsAre("e", "f", "g"));
}

TEST_F(KeptSnapshot, IsDeletedOnlyAfterUndo) {
  take({"a"});
  EXPECT_EQ(json::parse(daemon_.ctl_ok({"--json", "snapshot", "keep", "a"})),
            json({{"names", {"a"}}, {"kept", true}}));
  const Finished deleted = daemon_.ctl({"snapshot", "delete", "a"});
  EXPECT_EQ(deleted.exit_code, 64);
  EXPECT_EQ(deleted.err,
            "ktracectl: the snapshot 'a' is kept: to delete it, first run 'ktracectl snapshot keep "
            "--undo a'\n");
  daemon_.ctl_ok({"snapshot", "keep", "--undo", "a"});
  daemon_.ctl_ok({"snapshot", "delete", "a"});
  const Finished missing = daemon_.ctl({"snapshot", "keep", "a"});
  EXPECT_EQ(missing.exit_code, 64);
  EXPECT_THAT(missing.err, HasSubstr("unknown snapshot 'a'"));
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
  const json answer = json::parse(client.read_line(60s).value_or("{}"));
  EXPECT_EQ(answer["result"], json({{"name", "a"}, {"kept", true}})) << answer;
  EXPECT_EQ(daemon_.call("snapshot.list")["snapshots"][0]["kept"], true);
}

TEST_F(KeptSnapshot, CountsAndLogsOnceWhenTheLimitsAreExceeded) {
  take({"a", "b", "c"});
  daemon_.ctl_ok({"snapshot", "keep", "a", "b", "c"});
  take({"d", "e", "f"});
  EXPECT_THAT(names(), ElementsAre("a", "b", "c", "f"));
  const json status = flight();
  EXPECT_EQ(status["evicted"], 2);
  EXPECT_GT(status["evicted_bytes"], 0);
  EXPECT_EQ(status["limits_exceeded"], 3);
  EXPECT_EQ(status["snapshots"], 4);
  EXPECT_EQ(status["snapshots_kept"], 3);
  EXPECT_TRUE(daemon_.logged("removed the snapshot e ("));
  EXPECT_TRUE(daemon_.logged("there were more than 3 (flight.max_snapshots)"));
  const std::string log = daemon_.log(), once = "because 3 are kept";
  EXPECT_THAT(log, HasSubstr(once));
  EXPECT_EQ(log.find(once), log.rfind(once));
  const std::string text = daemon_.ctl_ok({"status"});
  EXPECT_THAT(text, HasSubstr("flight.max_total_mb: 2 snapshots, "));
  EXPECT_THAT(text, HasSubstr("kept snapshots exceeded the limits 3 times"));
}

TEST_F(KeptSnapshot, NeedsAMarkOfKtracedItself) {
  take({"a", "b", "c"});
  fs::create_symlink(store_ / "victim", store_ / "a/kept");
  ::mkfifo((store_ / "b/kept").c_str(), 0644);
  std::ofstream(store_ / "c/kept") << "";
  fs::permissions(store_ / "c/kept", fs::perms(0666));
  ASSERT_EQ(::chown((store_ / "c/kept").c_str(), 12345, 12345), 0);
  fs::create_directory_symlink(store_ / "a", store_ / "link");
  EXPECT_EQ(flight()["snapshots_kept"], 0);
  for (const auto& [name, why] :
       {std::pair("a", "kept is a symbolic link, not a regular file: remove it"),
        std::pair("b", "kept is a FIFO, not a regular file: remove it"),
        std::pair("c", "kept belongs to uid 12345, neither to root nor to ktraced: remove it"),
        std::pair("link", "unknown snapshot 'link'")})
    EXPECT_THAT(daemon_.ctl({"snapshot", "keep", name}).err, HasSubstr(why));
  EXPECT_FALSE(fs::exists(store_ / "victim"));
  daemon_.ctl_ok({"snapshot", "keep", "--undo", "a"});
  daemon_.ctl_ok({"snapshot", "keep", "a"});
  take({"d", "e"});
  EXPECT_THAT(names(), ElementsAre("a", "d", "e"));
}

TEST_F(KeptSnapshot, NeedsAName) {
  take({"a"});
  daemon_.call_error("snapshot.keep", {{"name", "a"}, {"kept", "yes"}});
  daemon_.call_error("snapshot.keep", {{"name", 7}});
  daemon_.call_error("snapshot.keep");
  EXPECT_EQ(flight()["snapshots_kept"], 0);
}

}  // namespace
}  // namespace ktraced::live

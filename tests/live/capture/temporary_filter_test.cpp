// SPDX-License-Identifier: BSD-2-Clause
// A filter that lasts as long as a connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "harness/client/stream.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

json set_temporary_filter(RpcConnection& client, const json& filter) {
  return client.call("filter.set", {{"filter", filter}, {"while_connected", true}});
}

TEST(TemporaryFilter, IsRemovedWhenItsRecordingIsKilled) {
  Daemon daemon(json{{"events", numbered_calls()}});
  daemon.set_filter({{"uid", {4711}}});
  const json before = daemon.call("filter.show");
  EXPECT_EQ(before["temporary"], nullptr);
  const fs::path path = daemon.directory() / "recording";
  Process recording(daemon.ctl_command({"record", "-o", path, "--", "cat"}));
  ASSERT_TRUE(eventually([&] { return daemon.call("filter.show")["temporary"].is_object(); }));
  const json owned = daemon.call("filter.show");
  EXPECT_EQ(owned["temporary"]["pid"], recording.pid());
  EXPECT_EQ(owned["temporary"]["before"], before["filter"]);
  EXPECT_EQ(owned["filter"]["follow"].size(), 1U);
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("afterwards: uid=4711"));
  EXPECT_THAT(daemon.ctl_ok({"filter", "show"}), HasSubstr("afterwards: uid=4711"));
  recording.send(SIGKILL);
  recording.close_input();  // for what it ran
  EXPECT_TRUE(eventually([&] { return daemon.call("filter.show") == before; }));
}

TEST(TemporaryFilter, HasOneOwnerAndCannotBeOverridden) {
  Daemon daemon(json{{"events", numbered_calls()}});
  RpcConnection first(daemon.socket()), second(daemon.socket());
  ASSERT_TRUE(set_temporary_filter(first, {{"uid", {1}}}).contains("result"));
  EXPECT_TRUE(set_temporary_filter(first, {{"uid", {2}}}).contains("result")) << "it is the owner";
  const json refused = set_temporary_filter(second, {{"uid", {3}}});
  EXPECT_EQ(refused["error"]["data"]["exit_code"], 69) << refused;
  EXPECT_THAT(refused["error"]["message"].get<std::string>(),
              HasSubstr("holds a temporary filter"));
  EXPECT_EQ(daemon.call_error("filter.set", {{"filter", {{"uid", {3}}}}})["data"]["exit_code"], 69);
  EXPECT_EQ(daemon.call_error("filter.clear")["data"]["exit_code"], 69);
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array({2}));
  first.shut_down();
  EXPECT_TRUE(eventually([&] { return daemon.call("filter.show")["temporary"].is_null(); }));
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array());
  EXPECT_TRUE(set_temporary_filter(second, {{"uid", {3}}}).contains("result"));
}

TEST(TemporaryFilter, OutlivesAReloadWhoseFilterAppliesAfterwards) {
  Daemon daemon(json{{"events", numbered_calls()}});
  RpcConnection client(daemon.socket());
  set_temporary_filter(client, {{"uid", {1}}});
  daemon.write_config({{"events", numbered_calls()}, {"filter", {{"uid", {4711}}}}});
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"filter"}));
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array({1}));
  client.shut_down();
  EXPECT_TRUE(eventually(
      [&] { return daemon.call("filter.show")["filter"]["uid"] == json::array({4711}); }));
}

TEST(TemporaryFilter, KeepsFollowingChildrenThatStartDuringIt) {
  Daemon daemon(json{{"events", numbered_calls()}});
  Process root({"sh", "-c",
                "read a; sh -c 'echo born; read b; exec " + kTruthProgram + " numbered 50'; true"});
  daemon.set_filter({{"follow", {root.pid()}}});
  RpcConnection client(daemon.socket());
  set_temporary_filter(client, {{"follow", json::array()}, {"uid", {4711}}});
  root.write_input("\n");
  ASSERT_TRUE(eventually([&] { return root.out().find("born") != std::string::npos; }));
  client.shut_down();
  ASSERT_TRUE(eventually([&] { return daemon.call("filter.show")["temporary"].is_null(); }));
  EXPECT_EQ(daemon.call("filter.show")["filter"]["follow"], json::array({root.pid()}));
  Stream stream(daemon);
  root.write_input("\n");
  EXPECT_EQ(root.wait().exit_code, 0);
  EXPECT_EQ(stream.finish().events("sys_enter").size(), 50U);
}

TEST(TemporaryFilter, EndsWhenAPersistentDaemonStops) {
  Daemon daemon({{"events", numbered_calls()}, {"persist", true}});
  RpcConnection client(daemon.socket());
  set_temporary_filter(client, {{"uid", {1}}});
  EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.start();
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array());
  daemon.end(SIGKILL);
}

}  // namespace
}  // namespace ktraced::live

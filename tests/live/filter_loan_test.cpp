// SPDX-License-Identifier: BSD-2-Clause
// A filter that lasts as long as a connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "harness/numbers.h"
#include "harness/stream.h"
#include "harness/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

json borrow(RpcConnection& client, const json& filter) {
  return client.call("filter.set", {{"filter", filter}, {"while_connected", true}});
}

TEST(FilterLoan, OfAKilledRecordingIsGivenBack) {
  Daemon daemon(json{{"events", numbered_calls()}});
  daemon.set_filter({{"uid", {4711}}});
  const json before = daemon.call("filter.show");
  EXPECT_EQ(before["on_loan"], nullptr);
  const fs::path path = daemon.directory() / "recording";
  Process recording(daemon.ctl_command({"record", "-o", path, "--", "cat"}));
  ASSERT_TRUE(eventually([&] { return daemon.call("filter.show")["on_loan"].is_object(); }));
  const json lent = daemon.call("filter.show");
  EXPECT_EQ(lent["on_loan"]["pid"], recording.pid());
  EXPECT_EQ(lent["on_loan"]["before"], before["filter"]);
  EXPECT_EQ(lent["filter"]["follow"].size(), 1U);
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("and then again: uid=4711"));
  EXPECT_THAT(daemon.ctl_ok({"filter", "show"}), HasSubstr("and then again: uid=4711"));
  recording.send(SIGKILL);
  recording.close_input();  // for what it ran
  EXPECT_TRUE(eventually([&] { return daemon.call("filter.show") == before; }));
}

TEST(FilterLoan, IsForOneAtATimeAndNotOverruled) {
  Daemon daemon(json{{"events", numbered_calls()}});
  RpcConnection first(daemon.socket()), second(daemon.socket());
  ASSERT_TRUE(borrow(first, {{"uid", {1}}}).contains("result"));
  EXPECT_TRUE(borrow(first, {{"uid", {2}}}).contains("result")) << "it is the borrower";
  const json refused = borrow(second, {{"uid", {3}}});
  EXPECT_EQ(refused["error"]["data"]["exit_code"], 69) << refused;
  EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr("on loan to pid"));
  EXPECT_EQ(daemon.call_error("filter.set", {{"filter", {{"uid", {3}}}}})["data"]["exit_code"], 69);
  EXPECT_EQ(daemon.call_error("filter.clear")["data"]["exit_code"], 69);
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array({2}));
  first.shut_down();
  EXPECT_TRUE(eventually([&] { return daemon.call("filter.show")["on_loan"].is_null(); }));
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array());
  EXPECT_TRUE(borrow(second, {{"uid", {3}}}).contains("result"));
}

TEST(FilterLoan, OutlivesAReloadWhoseFilterComesAfterIt) {
  Daemon daemon(json{{"events", numbered_calls()}});
  RpcConnection client(daemon.socket());
  borrow(client, {{"uid", {1}}});
  daemon.write_config({{"events", numbered_calls()}, {"filter", {{"uid", {4711}}}}});
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"filter"}));
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array({1}));
  client.shut_down();
  EXPECT_TRUE(eventually(
      [&] { return daemon.call("filter.show")["filter"]["uid"] == json::array({4711}); }));
}

TEST(FilterLoan, WhatIsBornMeanwhileInAFollowedTreeBelongsToItAfterwards) {
  Daemon daemon(json{{"events", numbered_calls()}});
  Process root({"sh", "-c",
                "read a; sh -c 'echo born; read b; exec " + kTruthProgram + " numbered 50'; true"});
  daemon.set_filter({{"follow", {root.pid()}}});
  RpcConnection client(daemon.socket());
  borrow(client, {{"follow", json::array()}, {"uid", {4711}}});
  root.write_input("\n");
  ASSERT_TRUE(eventually([&] { return root.out().find("born") != std::string::npos; }));
  client.shut_down();
  ASSERT_TRUE(eventually([&] { return daemon.call("filter.show")["on_loan"].is_null(); }));
  EXPECT_EQ(daemon.call("filter.show")["filter"]["follow"], json::array({root.pid()}));
  Stream stream(daemon);
  root.write_input("\n");
  EXPECT_EQ(root.wait().exit_code, 0);
  EXPECT_EQ(stream.finish().events("sys_enter").size(), 50U);
}

TEST(FilterLoan, IsOverWhenAPersistentDaemonStops) {
  Daemon daemon({{"events", numbered_calls()}, {"persist", true}});
  RpcConnection client(daemon.socket());
  borrow(client, {{"uid", {1}}});
  EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.start();
  EXPECT_EQ(daemon.call("filter.show")["filter"]["uid"], json::array());
  daemon.end(SIGKILL);
}

}  // namespace
}  // namespace ktraced::live

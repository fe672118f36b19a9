// SPDX-License-Identifier: BSD-2-Clause
// What a filter with "follow" needs is attached before the filter is set, and meanwhile others are
// answered. Nothing is recorded, so that the programs that follow processes are attached for the
// filter alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/client/daemon.h"
#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/held_thread.h"
#include "harness/traces/missed.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

constexpr pid_t kNoProcess = 4194303;

json following(pid_t pid) { return {{"follow", {pid}}}; }

std::string line_with(const char* method, const json& params = json::object()) {
  return json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}.dump() + "\n";
}

json answer_to(RpcConnection& connection) {
  const auto line = connection.read_line();
  return line ? json::parse(*line) : json();
}

// From now on, for a while, the kernel still detaches the programs: they cannot be attached yet. It
// cannot finish before the links that this returns are closed.
std::vector<Fd> detach_followers(Daemon& daemon) {
  daemon.set_filter(following(::getpid()));
  std::vector<Fd> links = hold_links_of(daemon.pid());
  daemon.call("filter.clear");
  return links;
}

bool follows(Daemon& daemon) { return daemon.event_status("sched_process_fork")["attached"]; }

class PreparedFilter : public testing::Test {
 protected:
  // Do others get the status before this request is answered? The daemon waits some seconds at most
  // for programs that are being detached. On a busy machine that may be too short for others: tries
  // several times.
  bool lets_others_be_answered(const char* method, const json& params = json::object()) {
    for (int i = 0; i < 20; ++i) {
      std::vector<Fd> links = detach_followers(daemon);
      EXPECT_TRUE(eventually([&] { return !follows(daemon); }));
      RpcConnection client(daemon.socket());
      client.send_bytes(line_with(method, params));
      EXPECT_TRUE(eventually([&] { return client.all_read(); }));
      for (int k = 0; k < 3; ++k) daemon.call("status");
      std::optional<std::string> answer = client.read_line(0ms);
      const bool later = !answer;
      links.clear();
      if (!answer) answer = client.read_line();
      if (!later) continue;
      EXPECT_THAT(answer.value_or(""), HasSubstr("\"result\""));
      return true;
    }
    return false;
  }
  // Sends each of them when the daemon has read the one before.
  std::vector<std::unique_ptr<RpcConnection>> send_in_order(const std::vector<std::string>& lines) {
    std::vector<std::unique_ptr<RpcConnection>> clients;
    for (const std::string& line : lines) {
      clients.push_back(std::make_unique<RpcConnection>(daemon.socket()));
      clients.back()->send_bytes(line);
      daemon.call("version");
    }
    return clients;
  }
  json filter_now() { return daemon.call("filter.show")["filter"]; }

  Daemon daemon;
};

TEST_F(PreparedFilter, LetsOthersBeAnsweredMeanwhile) {
  const json filter = {{"filter", following(::getpid())}};
  EXPECT_TRUE(lets_others_be_answered("filter.set", filter));
  EXPECT_EQ(filter_now()["follow"], json::array({::getpid()}));
  EXPECT_TRUE(follows(daemon));
  EXPECT_TRUE(lets_others_be_answered("stream.subscribe", filter));
  daemon.write_config(filter);
  EXPECT_TRUE(lets_others_be_answered("reload"));
  EXPECT_EQ(filter_now()["follow"], json::array({::getpid()}));
  EXPECT_TRUE(follows(daemon));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST_F(PreparedFilter, IsSetInTheOrderOfTheRequests) {
  detach_followers(daemon);
  const auto clients = send_in_order({line_with("filter.set", {{"filter", following(::getpid())}}),
                                      line_with("filter.set", {{"filter", {{"pid", {1}}}}}),
                                      line_with("filter.clear", {{"keys", {"follow"}}})});
  const json none = json::array(), one = {1}, self = {::getpid()};
  const json expected[] = {{none, self}, {one, self}, {one, none}};
  for (size_t i = 0; i < clients.size(); ++i) {
    const json answer = answer_to(*clients[i]);
    ASSERT_TRUE(answer.contains("result")) << answer;
    const json& filter = answer["result"]["filter"];
    EXPECT_EQ(json({filter["pid"], filter["follow"]}), expected[i]) << i;
  }
  EXPECT_FALSE(follows(daemon));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST_F(PreparedFilter, IsSetWhenItsClientHasDisconnected) {
  detach_followers(daemon);
  send_in_order({line_with("filter.set", {{"filter", following(::getpid())}})});
  daemon.call("resume");  // a command after it is answered when it is done
  EXPECT_EQ(filter_now()["follow"], json::array({::getpid()}));
  EXPECT_TRUE(follows(daemon));
}

TEST_F(PreparedFilter, LeavesTheOldOneAndNothingAttachedWhenItIsBad) {
  daemon.set_filter({{"pid", {1}}});
  const json filter = {{"filter", following(kNoProcess)}};
  for (const char* method : {"filter.set", "stream.subscribe"})
    EXPECT_THAT(daemon.call_error(method, filter)["message"].get<std::string>(),
                HasSubstr("no such process"));
  daemon.write_config(filter);
  EXPECT_THAT(daemon.call_error("reload")["message"].get<std::string>(),
              HasSubstr("no such process"));
  EXPECT_EQ(filter_now()["pid"], json::array({1}));
  EXPECT_EQ(filter_now()["follow"], json::array());
  EXPECT_TRUE(eventually([&] { return !follows(daemon); }));
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 0U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// The daemon reads the request and the end of the session in either order.
TEST_F(PreparedFilter, IsThatOfASessionThatStillExists) {
  for (int i = 0; i < 10; ++i) {
    auto session = std::make_unique<RpcConnection>(daemon.socket());
    ASSERT_TRUE(session->call("stream.subscribe", {{"name", "ending"}}).contains("result"));
    RpcConnection client(daemon.socket());
    {
      const HeldThread held(daemon.pid(), "ktraced");
      client.send_bytes(
          line_with("filter.set", {{"session", "ending"}, {"filter", following(::getpid())}}));
      session.reset();
    }
    const json answer = answer_to(client);
    if (answer.contains("error")) {
      EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("'ending'"));
    }
    EXPECT_TRUE(eventually([&] { return !follows(daemon); }));
    EXPECT_EQ(filter_now()["follow"], json::array()) << "of the recorder";
  }
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST_F(PreparedFilter, LeavesNothingWhenTheDaemonStopsMeanwhile) {
  detach_followers(daemon);
  const auto clients = send_in_order({line_with("filter.set", {{"filter", following(::getpid())}}),
                                      line_with("filter.set", {{"filter", {{"pid", {1}}}}})});
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const json answer = answer_to(*clients[0]);
  EXPECT_TRUE(answer.is_null() || answer.contains("result") ||
              answer["error"]["message"].get<std::string>().contains("is being stopped"))
      << answer;
  EXPECT_FALSE(std::filesystem::exists(daemon.pins()));
}

// The child is born after the filter was set, or the daemon has started, and before its events are
// recorded.
void expect_child_followed(Daemon& daemon) {
  constexpr uint64_t kCalls = 100;
  WaitingTruth child({"numbered", std::to_string(kCalls)});
  Stream stream(daemon, {"--event", "sys_enter"});
  child.act();
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  expect_all_but_missed(call_numbers(trace, child.pid()), kCalls, daemon, "sys_enter");
}

TEST(Follow, HasEveryChildThatIsBornOnceTheFilterIsSet) {
  json config = {{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}};
  Daemon daemon(config);
  const json filter = following(::getpid());
  detach_followers(daemon);
  daemon.call("filter.set", {{"filter", {{"follow", {::getpid()}}, {"syscall", {"getpriority"}}}}});
  expect_child_followed(daemon);
  detach_followers(daemon);
  config["filter"] = filter;
  daemon.write_config(config);
  daemon.call("reload");
  expect_child_followed(daemon);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.start();
  expect_child_followed(daemon);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

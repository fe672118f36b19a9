// SPDX-License-Identifier: BSD-2-Clause
// Attaching many events does not delay other clients.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "harness/client/daemon.h"
#include "harness/client/stream.h"

namespace ktraced::live {
namespace {

const json kRecorderOn = {{"flight", {{"enabled", true}, {"buffer_kb", 256}}}};
constexpr size_t kMany = 60;  // freeing thousands of programs blocks some kernels for minutes

// Patterns of subsystems that match at most that many tracepoints together.
std::vector<std::string> many_tracepoints() {
  namespace fs = std::filesystem;
  const fs::path events = "/sys/kernel/tracing/events";
  std::vector<std::string> patterns;
  size_t count = 0;
  for (const char* system : {"ext4", "irq", "block", "writeback", "jbd2", "workqueue", "timer"}) {
    std::error_code missing;
    const auto here = static_cast<size_t>(
        std::distance(fs::directory_iterator(events / system, missing), fs::directory_iterator()));
    if (missing || count + here > kMany) continue;
    count += here;
    patterns.push_back(std::string(system) + ":*");
  }
  return patterns;
}

std::string request(const char* method, const json& params = json::object()) {
  return json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}.dump() + "\n";
}

std::string enable_many() { return request("events.enable", {{"names", many_tracepoints()}}); }

struct Attached {
  size_t yes = 0, no = 0;  // of those that are enabled
};

Attached attached(const json& status) {
  Attached count;
  for (const auto& [name, event] : status["events"].items())
    if (name.contains(':') && event["enabled"] == true)
      ++(event["attached"] == true ? count.yes : count.no);
  return count;
}

bool answered(RpcConnection& connection) { return connection.read_line(0ms).has_value(); }

json answer_of(RpcConnection& connection) {
  auto line = connection.read_line();
  return line ? json::parse(*line) : json();
}

TEST(SlicedAttach, AnswersOtherClientsWhileAttaching) {
  Daemon daemon(kRecorderOn);
  RpcConnection enabling(daemon.socket()), other(daemon.socket());
  bool answered_between = false;
  // On a busy machine a request may come after attaching has finished: try several times.
  for (int i = 0; i < 20 && !answered_between; ++i) {
    enabling.send_bytes(enable_many());
    const json status = other.call("status")["result"];
    const bool first = !answered(enabling);
    const json answer = answer_of(enabling);
    ASSERT_TRUE(answer.contains("result")) << answer;
    const Attached now = attached(daemon.call("status"));
    EXPECT_EQ(now.no, 0U);
    EXPECT_EQ(now.yes, answer["result"]["events"].size());
    EXPECT_GT(now.yes, 20U);
    answered_between = first && attached(status).yes < now.yes;
    daemon.call("events.disable", {{"names", many_tracepoints()}});
  }
  EXPECT_TRUE(answered_between);
}

TEST(SlicedAttach, LetsTheDaemonEndWhileAttaching) {
  Daemon daemon(kRecorderOn);
  RpcConnection enabling(daemon.socket());
  enabling.send_bytes(enable_many());
  daemon.call("version");
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(daemon.pins()));
}

TEST(SlicedAttach, ContinuesWhenItsClientHasDisconnected) {
  Daemon daemon(kRecorderOn);
  {
    RpcConnection enabling(daemon.socket());
    enabling.send_bytes(enable_many());
    daemon.call("version");
  }
  // A command after it is answered when it is done.
  daemon.call("resume");
  const Attached now = attached(daemon.call("status"));
  EXPECT_EQ(now.no, 0U);
  EXPECT_GT(now.yes, 20U);
}

TEST(SlicedAttach, ExecutesCommandsInOrder) {
  Daemon daemon(kRecorderOn);
  RpcConnection enabling(daemon.socket()), pausing(daemon.socket()), resuming(daemon.socket());
  enabling.send_bytes(enable_many());
  daemon.call("version");
  pausing.send_bytes(request("pause"));
  daemon.call("version");
  resuming.send_bytes(request("resume"));
  EXPECT_TRUE(answer_of(resuming).contains("result"));
  EXPECT_TRUE(answered(pausing));
  EXPECT_TRUE(answered(enabling));
  const json status = daemon.call("status");
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(attached(status).no, 0U);
  daemon.call("pause");
  EXPECT_EQ(attached(daemon.call("status")).yes, 0U);
}

TEST(SlicedAttach, SerializesReloadsAndSubscriptions) {
  Daemon daemon(kRecorderOn);
  json config = kRecorderOn;
  config["events"]["tracepoints"] = many_tracepoints();
  daemon.write_config(config);
  std::vector<std::unique_ptr<RpcConnection>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RpcConnection>(daemon.socket()));
    clients.back()->send_bytes(request("reload"));
    daemon.send(SIGHUP);
  }
  clients.pop_back();  // disconnects while it waits
  Stream stream(daemon);
  for (auto& client : clients) EXPECT_TRUE(answer_of(*client).contains("result"));
  EXPECT_EQ(attached(daemon.call("status")).no, 0U);
  stream.finish();
  daemon.write_config(kRecorderOn);
  daemon.call("reload");
  EXPECT_EQ(attached(daemon.call("status")).yes, 0U);
}

TEST(SlicedAttach, StartsAStreamWhenEverythingIsAttached) {
  Daemon daemon;
  auto names = many_tracepoints();
  names.emplace_back("syscalls:sys_enter_getppid");
  daemon.enable(names);
  Stream stream(daemon);
  EXPECT_EQ(attached(daemon.call("status")).no, 0U);
  stream.finish();
}

}  // namespace
}  // namespace ktraced::live

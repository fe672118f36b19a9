// SPDX-License-Identifier: BSD-2-Clause
// Readers that send requests without end, and do not wait for answers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <thread>

#include "harness/client/daemon.h"
#include "harness/machine/as_user.h"
#include "harness/machine/held_thread.h"

namespace ktraced::live {
namespace {

constexpr uid_t kStormUser = 65534;
constexpr gid_t kStormGroup = 65534;

std::unique_ptr<RpcConnection> connect_as_storm_user(Daemon& daemon) {
  std::unique_ptr<RpcConnection> connection;
  as_user(kStormUser, kStormGroup,
          [&] { connection = std::make_unique<RpcConnection>(daemon.socket()); });
  connection->call("version");
  return connection;
}

// A request without an id, of a KiB.
std::string long_notification() {
  std::string line = R"({"jsonrpc":"2.0","method":"version")";
  line.resize(1022, ' ');
  return line + "}\n";
}

// The storm goes on until the status has come.
TEST(NotificationStorm, LetsRootGetTheStatus) {
  Daemon daemon(json{{"control", {{"group", "nogroup"}}}});
  auto reader = connect_as_storm_user(daemon);
  std::string mebibyte;
  for (int i = 0; i < 1024; ++i) mebibyte += long_notification();
  RpcConnection root(daemon.socket());
  std::atomic<int> sent = 0;  // MiB
  std::jthread storm([&](const std::stop_token& answered) {
    bool connected = true;
    for (; connected && (sent < 15 || !answered.stop_requested()); ++sent)
      connected = reader->send_bytes(mebibyte);
    EXPECT_TRUE(connected);
    reader.reset();
  });
  ASSERT_TRUE(eventually([&] { return sent > 0; }));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(root.call("status").contains("result"));
  storm.request_stop();
  storm.join();
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(NotificationStorm, EndsWithItsClient) {
  Daemon daemon(json{{"control", {{"group", "nogroup"}}}});
  RpcConnection root(daemon.socket());
  root.call("version");
  root.call("version");  // the daemon has closed those before
  const size_t descriptors = open_descriptors(daemon.pid());
  auto reader = connect_as_storm_user(daemon);
  std::string requests;
  for (int i = 0; i < 100; ++i)
    requests += fmt::format(
        R"({{"jsonrpc":"2.0","method":"stream.subscribe","params":{{"name":"departed-{}"}}}})"
        "\n",
        i);
  {
    const HeldThread held(daemon.pid(), "ktraced");
    reader->send_bytes(requests);
    reader.reset();
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors(daemon.pid()) <= descriptors; }));
  root.call("resume");
  EXPECT_TRUE(daemon.logged("session recorder resumed"));
  EXPECT_THAT(daemon.log(), testing::Not(testing::HasSubstr("departed")));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// Readers that send requests without end, and do not wait for answers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
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

TEST(NotificationStorm, LetsRootGetTheStatus) {
  Daemon daemon(json{{"control", {{"group", "nogroup"}}}});
  auto reader = connect_as_storm_user(daemon);
  std::string mebibyte;
  for (int i = 0; i < 1024; ++i) mebibyte += long_notification();
  std::atomic<bool> sent = false;
  std::jthread storm([&] {
    for (int i = 0; i < 15; ++i) EXPECT_TRUE(reader->send_bytes(mebibyte));
    reader.reset();
    sent = true;
  });
  RpcConnection root(daemon.socket());
  size_t meanwhile = 0;
  while (!sent)
    if (root.call("status").contains("result") && !sent) ++meanwhile;
  EXPECT_GE(meanwhile, 1U);
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

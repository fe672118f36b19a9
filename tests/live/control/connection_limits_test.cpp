// SPDX-License-Identifier: BSD-2-Clause
// Users who take all connections they can get do not lock others out.
#include <gtest/gtest.h>

#include "harness/client/daemon.h"
#include "harness/machine/as_user.h"
#include "harness/machine/memory.h"

namespace ktraced::live {
namespace {

constexpr uid_t kNobody = 65534;
constexpr gid_t kNogroup = 65534;
constexpr int kNoPermission = -32001;
constexpr size_t kMayGrowKb = 24U << 10;

using Connections = std::vector<std::unique_ptr<RpcConnection>>;

// The line that the daemon sends without a request; null if it sends none.
json unasked_answer(RpcConnection& connection) {
  auto line = connection.read_line();
  return line ? json::parse(*line) : json();
}

// Opens that many connections and fills each with an endless request until the socket is full.
void attack(const Daemon& daemon, int count, Connections& connections) {
  const std::string request = R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(900'000, 'x');
  for (int i = 0; i < count; ++i) {
    connections.push_back(std::make_unique<RpcConnection>(daemon.socket()));
    connections.back()->send_some(request);
  }
}

TEST(ConnectionLimits, CloseConnectionsOfUsersWithoutARoleAtOnce) {
  Daemon daemon(json{{"control", {{"admin_uids", {65000}}}}});  // so all users may connect
  const size_t before = resident_kb_beside_rings(daemon.pid());
  Connections connections;
  as_user(kNobody, kNogroup, [&] { attack(daemon, 600, connections); });
  for (auto& connection : connections) {
    EXPECT_EQ(unasked_answer(*connection)["error"]["code"], kNoPermission);
    EXPECT_TRUE(connection->closed_within(kNever));
  }
  EXPECT_EQ(daemon.call("version")["version"], KTRACED_VERSION);
  EXPECT_LT(resident_kb_beside_rings(daemon.pid()), before + kMayGrowKb);
}

TEST(ConnectionLimits, KeepAGroupMemberFromTakingAllConnections) {
  Daemon daemon(json{{"control", {{"group", "nogroup"}}}});
  const size_t before = resident_kb_beside_rings(daemon.pid());
  Connections connections;
  as_user(kNobody, kNogroup, [&] { attack(daemon, 300, connections); });
  EXPECT_EQ(daemon.call("version")["version"], KTRACED_VERSION);
  // Accepted connections have sent too much.
  size_t refused = 0;
  for (auto& connection : connections)
    if (const json answer = unasked_answer(*connection); answer.is_object()) {
      const auto message = answer["error"]["message"].get<std::string>();
      if (message.contains("the limit of one user")) ++refused;
    }
  EXPECT_GE(refused, 100U);
  EXPECT_LT(resident_kb_beside_rings(daemon.pid()), before + kMayGrowKb);
}

}  // namespace
}  // namespace ktraced::live

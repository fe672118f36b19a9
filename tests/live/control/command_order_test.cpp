// SPDX-License-Identifier: BSD-2-Clause
// Requests of administrators are carried out before those of clients that may only read. What
// counts is the order in which the daemon answers, by its own clock, not how long that takes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "harness/client/daemon.h"
#include "harness/machine/as_user.h"
#include "harness/machine/held_thread.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

constexpr uid_t kOrderedUser = 65534;
constexpr gid_t kOrderedGroup = 65534;
constexpr size_t kFlood = 60, kAdminCount = 3;

struct AskedFor {
  std::string method;
  json params = json::object();
};

// What readers ask for, and what administrators ask for at the same time.
struct AskedTogether {
  AskedFor reader, admin;
};

std::string line_of(const AskedFor& request) {
  return json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", request.method}, {"params", request.params}}
             .dump() +
         "\n";
}

using Connections = std::vector<std::unique_ptr<RpcConnection>>;

// Each has got an answer.
Connections answered_connections(Daemon& daemon, uid_t uid, size_t count) {
  Connections connections;
  const auto open = [&] {
    for (size_t i = 0; i < count; ++i)
      connections.push_back(std::make_unique<RpcConnection>(daemon.socket()));
  };
  uid == 0 ? open() : as_user(uid, kOrderedGroup, open);
  for (const auto& connection : connections) connection->call("version");
  return connections;
}

// Sends the request, and another one whose answer has the time.
void ask_with_time(RpcConnection& connection, const AskedFor& request) {
  connection.send_bytes(line_of(request) + line_of({"session.list"}));
}

// When the daemon had answered, as age of the recorder. Nothing: the connection reads a stream now.
std::optional<uint64_t> answered_at(RpcConnection& connection) {
  const json answer = json::parse(connection.read_line().value());
  if (answer.contains("result") && answer["result"].contains("schema")) return std::nullopt;
  const json list = json::parse(connection.read_line().value());
  for (const json& session : list["result"]["sessions"])
    if (session["name"] == "recorder") return session["age_ns"].get<uint64_t>();
  throw std::runtime_error("no recorder in " + list.dump());
}

// Readers that were answered, and those of them that were before the last administrator.
struct AnsweredReaders {
  size_t all = 0, before = 0;
};

// All requests are there before the daemon reads the first one.
AnsweredReaders answered_readers(const Daemon& daemon, const Connections& readers,
                                 const Connections& admins, const AskedTogether& asked) {
  {
    const HeldThread held(daemon.pid(), "ktraced");
    for (size_t i = 0; i < kFlood; ++i) {
      ask_with_time(*readers[i], asked.reader);
      constexpr size_t kPerAdmin = kFlood / kAdminCount;
      if (i % kPerAdmin == kPerAdmin - 1) ask_with_time(*admins[i / kPerAdmin], asked.admin);
    }
  }
  uint64_t last_admin = 0;
  for (const auto& admin : admins) last_admin = std::max(last_admin, answered_at(*admin).value());
  AnsweredReaders answered;
  for (const auto& reader : readers)
    if (const auto at = answered_at(*reader)) {
      ++answered.all;
      answered.before += *at < last_admin ? 1 : 0;
    }
  return answered;
}

constexpr size_t kMayBeBefore = kFlood / 6;  // one for each turn of the loop

void expect_administrators_first(const Daemon& daemon, const Connections& readers,
                                 const Connections& admins, const AskedTogether& asked) {
  SCOPED_TRACE(asked.reader.method + asked.reader.params.dump());
  const AnsweredReaders answered = answered_readers(daemon, readers, admins, asked);
  EXPECT_GE(answered.all, kFlood - 3) << "but for the streams that one user may have";
  EXPECT_LE(answered.before, kMayBeBefore);
}

TEST(CommandOrder, AdministratorsComeBeforeReaders) {
  json config = flight_config({{"buffer_kb", 64}});
  config["control"] = {{"group", "nogroup"}};
  Daemon daemon(config);
  daemon.call("snapshot.take");
  const Connections readers = answered_connections(daemon, kOrderedUser, kFlood);
  const Connections admins = answered_connections(daemon, 0, kAdminCount);
  const AskedFor status{"status"}, events{"events.list"},
      searches{"events.list", {{"tracepoints", {"sched:*"}}}},
      symbols{"symbols.resolve", {{"addresses", {"0x1"}}}}, snapshots{"snapshot.list"},
      pause{"pause"}, stream{"stream.subscribe", {{"events", {"sched"}}}};
  expect_administrators_first(daemon, readers, admins, {{"session.list"}, pause});
  for (const AskedFor& asked : {status, events, searches, symbols, snapshots})
    expect_administrators_first(daemon, readers, admins, {asked, asked});
  daemon.call("resume");
  // At the end, because some readers get streams.
  expect_administrators_first(daemon, readers, admins, {stream, pause});
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// None of the names is looked up. A busy machine may keep the thread that status waits for from
// running: tries several times.
TEST(CommandOrder, StatusComesBeforeRefusalsOfFiltersByThousandsOfNames) {
  json config = flight_config({{"buffer_kb", 64}});
  config["control"] = {{"group", "nogroup"}};
  Daemon daemon(config);
  const Connections readers = answered_connections(daemon, kOrderedUser, kFlood);
  const Connections admins = answered_connections(daemon, 0, kAdminCount);
  json names = json::array();
  for (int i = 0; i < 4000; ++i) names.push_back(fmt::format("no-user-{:04}", i));
  const AskedFor nobody{"stream.subscribe", {{"filter", {{"uid", std::move(names)}}}}};
  EXPECT_THAT(readers[0]->call(nobody.method, nobody.params)["error"]["message"].get<std::string>(),
              testing::HasSubstr("write the uid of 'no-user-0000'"));
  size_t before = kFlood;
  for (int i = 0; i < 20 && before > kMayBeBefore; ++i) {
    const AnsweredReaders answered =
        answered_readers(daemon, readers, admins, {nobody, {"status"}});
    ASSERT_EQ(answered.all, kFlood) << "all are refused";
    before = std::min(before, answered.before);
  }
  EXPECT_LE(before, kMayBeBefore);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

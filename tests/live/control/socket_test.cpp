// SPDX-License-Identifier: BSD-2-Clause
// Good and bad input on the control socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/client/daemon.h"
#include "trace/packet/protocol_version.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

constexpr int kNotJson = -32700, kNotARequest = -32600, kUnknownMethod = -32601,
              kBadParams = -32602;

// The answer to one line.
json answer_to(Daemon& daemon, const std::string& line) {
  RpcConnection connection(daemon.socket());
  connection.send_bytes(line + "\n");
  auto answer = connection.read_line();
  return answer ? json::parse(*answer) : json();
}

int error_code(const json& answer) {
  return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
}

class Protocol : public testing::Test {
 protected:
  // Every test checks at its end that the daemon still serves.
  void TearDown() override { EXPECT_EQ(daemon_.call("version")["version"], KTRACED_VERSION); }
  Daemon daemon_;
};

TEST_F(Protocol, NamesItsVersionInTheAnswersThatAClientGetsFirst) {
  for (const char* method : {"version", "status", "stream.subscribe"})
    EXPECT_EQ(daemon_.call(method)["protocol"], kProtocolVersion) << method;
}

TEST_F(Protocol, AnswersGarbageAsInvalidJson) {
  json answer = answer_to(daemon_, "\x01\xff\xfe garbage {");
  EXPECT_EQ(error_code(answer), kNotJson);
  EXPECT_TRUE(answer["id"].is_null());
}

TEST_F(Protocol, AnswersInvalidRequestsWithAnError) {
  for (const char* line : {"[]", "42", "\"status\"", "null", "{}", R"({"jsonrpc":"2.0","id":1})",
                           R"({"jsonrpc":"2.0","id":1,"method":7})",
                           R"({"jsonrpc":"2.0","id":{},"method":"version"})"})
    EXPECT_EQ(error_code(answer_to(daemon_, line)), kNotARequest) << line;
}

TEST_F(Protocol, ReportsUnknownMethodsAndBadParameters) {
  json answer = answer_to(daemon_, R"({"jsonrpc":"2.0","id":"x","method":"stauts"})");
  EXPECT_EQ(error_code(answer), kUnknownMethod);
  EXPECT_EQ(answer["id"], "x");
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("stauts"));
  for (const char* line :
       {R"({"jsonrpc":"2.0","id":1,"method":"events.enable","params":{}})",
        R"({"jsonrpc":"2.0","id":1,"method":"events.enable","params":{"names":"kfree"}})",
        R"({"jsonrpc":"2.0","id":1,"method":"events.enable","params":{"names":[1]}})",
        R"({"jsonrpc":"2.0","id":1,"method":"filter.set","params":{"filter":{"pdi":[1]}}})",
        R"({"jsonrpc":"2.0","id":1,"method":"filter.set","params":{"filter":{"pid":"1"}}})",
        R"({"jsonrpc":"2.0","id":1,"method":"symbols.resolve","params":{"addresses":["x"]}})",
        R"({"jsonrpc":"2.0","id":1,"method":"version","params":[1]})"})
    EXPECT_EQ(error_code(answer_to(daemon_, line)), kBadParams) << line;
}

TEST_F(Protocol, RefusesUnknownParameters) {
  for (const char* method :
       {"version",       "status",          "events.list",     "events.enable",    "events.disable",
        "pause",         "resume",          "reset",           "reload",           "filter.show",
        "filter.set",    "filter.clear",    "symbols.resolve", "stream.subscribe", "snapshot.take",
        "snapshot.list", "snapshot.delete", "snapshot.enable", "snapshot.disable", "probe.list",
        "probe.add",     "probe.remove",    "probe.clear"}) {
    const json error = daemon_.call_error(method, {{"bogus", 1}});
    EXPECT_EQ(error["code"], kBadParams) << method;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("'bogus'"));
  }
  EXPECT_THAT(daemon_.call_error("snapshot.take", {{"nmae", "x"}})["message"].get<std::string>(),
              HasSubstr("did you mean 'name'?"));
  EXPECT_EQ(daemon_.call("status")["state"], "running");
}

TEST_F(Protocol, SurvivesDeeplyNestedJson) {
  json answer = answer_to(daemon_, std::string(500000, '['));
  EXPECT_NE(error_code(answer), 0);
}

TEST_F(Protocol, ExecutesNotificationsWithoutAnAnswer) {
  RpcConnection connection(daemon_.socket());
  connection.send_bytes(R"({"jsonrpc":"2.0","method":"pause"})"
                        "\n");
  EXPECT_EQ(connection.read_line(300ms), std::nullopt);
  EXPECT_TRUE(eventually([&] { return daemon_.call("status")["state"] == "paused"; }));
}

TEST_F(Protocol, AnswersPipelinedRequestsInOrder) {
  RpcConnection connection(daemon_.socket());
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"version"}})"
                         "\n",
                         i);
  connection.send_bytes(lines);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(json::parse(connection.read_line().value())["id"], i);
}

TEST_F(Protocol, AssemblesARequestSentInPieces) {
  RpcConnection connection(daemon_.socket());
  for (char byte : std::string(R"({"jsonrpc":"2.0","id":5,"method":"version"})"
                               "\n")) {
    connection.send_bytes(std::string_view(&byte, 1));
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(json::parse(connection.read_line().value())["id"], 5);
}

TEST_F(Protocol, SurvivesADisconnectWithinAMessage) {
  RpcConnection(daemon_.socket()).send_bytes(R"({"jsonrpc":"2.0","id":1,"meth)");
}

TEST_F(Protocol, RefusesAMessageOfTenMegabytes) {
  RpcConnection connection(daemon_.socket());
  connection.send_bytes(R"({"jsonrpc":"2.0","id":1,"method":")");
  std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 10 && connection.send_bytes(megabyte); ++i) {
  }
  connection.send_bytes("\"}\n");
  auto line = connection.read_line();
  ASSERT_TRUE(line);
  EXPECT_EQ(error_code(json::parse(*line)), kNotARequest) << *line;
  EXPECT_TRUE(connection.closed_within(kNever));
}

TEST_F(Protocol, SilentClientDoesNotDelayOthers) {
  RpcConnection silent(daemon_.socket());
  for (int i = 0; i < 10; ++i) daemon_.call("version");
  EXPECT_TRUE(silent.call("version").contains("result"));
}

TEST_F(Protocol, ClientThatNeverReadsDoesNotDelayOthers) {
  RpcConnection deaf(daemon_.socket());
  std::thread flood([&] {
    for (int i = 0; i < 20000; ++i)
      if (!deaf.send_bytes(R"({"jsonrpc":"2.0","id":1,"method":"events.list"})"
                           "\n"))
        return;
  });
  for (int i = 0; i < 10; ++i) daemon_.call("version");
  deaf.shut_down();
  flood.join();
}

TEST_F(Protocol, AnswersTwoHundredClientsAtOnce) {
  std::vector<std::unique_ptr<RpcConnection>> clients;
  for (int i = 0; i < 200; ++i)
    clients.push_back(std::make_unique<RpcConnection>(daemon_.socket()));
  for (auto& client : clients)
    EXPECT_EQ(client->call("version")["result"]["version"], KTRACED_VERSION);
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/rpc_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/packet/protocol_version.h"
#include "unit/ctl/live/fake_daemon.h"

namespace ktraced::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Calls "method" on a server that answers every request with `reply`.
Result<json> call_answered_by(const std::string& reply) {
  FakeDaemon daemon([&](Peer& peer) {
    peer.read_line();
    peer.write(reply);
  });
  auto client = RpcClient::connect(daemon.socket());
  if (!client) return propagate(client);
  return client->call("method");
}

TEST(RpcClient, SendsRequestsAndReturnsResultsInOrder) {
  FakeDaemon daemon([](Peer& peer) {
    while (peer.answer([](const json& request) {
      return json{{"result", {{"method", request["method"]}, {"params", request["params"]}}}};
    })) {
    }
  });
  auto client = RpcClient::connect(daemon.socket());
  ASSERT_TRUE(client) << client.error().message;
  auto first = client->call("status");
  auto second = client->call("filter.set", {{"filter", {{"pid", {1}}}}});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, json::parse(R"({"method":"status","params":{}})"));
  EXPECT_EQ(*second, json::parse(R"({"method":"filter.set","params":{"filter":{"pid":[1]}}})"));
}

TEST(RpcClient, SendsArgumentsThatAreNotUtf8AsJson) {
  FakeDaemon daemon([](Peer& peer) {
    peer.answer([](const json& request) { return json{{"result", request["params"]}}; });
  });
  auto client = RpcClient::connect(daemon.socket());
  ASSERT_TRUE(client);
  EXPECT_EQ((*client->call("x", {{"name", "a\xff"}}))["name"], "a\xef\xbf\xbd");
}

TEST(RpcClient, EscapesControlCharactersForPrinting) {
  const json result = {{"a\x1b", {"b\u202e", 7}}, {"c", true}};
  FakeDaemon daemon([&](Peer& peer) {
    while (peer.answer([&](const json&) { return json{{"result", result}}; })) {
    }
  });
  auto client = RpcClient::connect(daemon.socket());
  ASSERT_TRUE(client);
  EXPECT_EQ(*client->call("x"), result);
  client->show_printable();
  EXPECT_EQ(*client->call("x"), json({{"a\\x1b", {"b\\xe2\\x80\\xae", 7}}, {"c", true}}));
}

TEST(RpcClient, RefusesADeeplyNestedAnswer) {
  const auto answer = call_answered_by("{\"id\":2,\"result\":" + std::string(300'000, '[') +
                                       std::string(300'000, ']') + "}\n");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ExitCode::data);
}

TEST(RpcClient, ForwardsTheProgressOfARequest) {
  FakeDaemon daemon([](Peer& peer) {
    peer.read_line();
    peer.write(R"({"jsonrpc":"2.0","method":"progress","params":{"done":1,"total":2}})"
               "\n"
               R"({"jsonrpc":"2.0","method":"something else"})"
               "\n"
               R"({"jsonrpc":"2.0","id":2,"result":"done"})"
               "\n");
  });
  auto client = RpcClient::connect(daemon.socket());
  ASSERT_TRUE(client);
  std::vector<json> actual;
  auto answer = client->call("x", json::object(), [&](const json& p) { actual.push_back(p); });
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "done");
  EXPECT_EQ(actual, std::vector<json>{json::parse(R"({"done":1,"total":2})")});
}

TEST(RpcClient, KeepsTheExitCodeAndMessageOfErrors) {
  auto answer = call_answered_by(
      R"({"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"not yours","data":{"exit_code":77}}})"
      "\n");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ExitCode::no_permission);
  EXPECT_EQ(answer.error().message, "not yours");
}

TEST(RpcClient, AcceptsAnErrorWithoutAnId) {
  auto answer = call_answered_by(
      R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"too many clients","data":{"exit_code":69}}})"
      "\n");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ExitCode::unavailable);
}

TEST(RpcClient, RefusesInvalidAnswers) {
  for (const char* reply : {"\n", "garbage\n", "[]\n", "{}\n",
                            R"({"id":2})"
                            "\n",
                            R"({"id":3,"result":{}})"
                            "\n",
                            "\xff\xfe\n"}) {
    auto answer = call_answered_by(reply);
    ASSERT_FALSE(answer) << reply;
    EXPECT_EQ(answer.error().code, ExitCode::data) << reply;
  }
  for (const char* reply : {R"({"error":7})"
                            "\n",
                            R"({"error":{"message":7,"data":[]}})"
                            "\n",
                            R"({"error":{"data":{"exit_code":0}}})"
                            "\n"}) {
    auto answer = call_answered_by(reply);
    ASSERT_FALSE(answer) << reply;
    EXPECT_EQ(answer.error().code, ExitCode::software) << reply;
  }
}

TEST(RpcClient, IsUnavailableWhenClosedWithoutAnAnswer) {
  for (const char* reply : {"", R"({"id":2,"res)"}) {
    auto answer = call_answered_by(reply);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ExitCode::unavailable);
    EXPECT_THAT(answer.error().message, HasSubstr("closed the connection"));
  }
}

TEST(RpcClient, TimesOutWhenTheDaemonIsSilent) {
  FakeDaemon daemon([](Peer& peer) { peer.wait_for_end(); });
  auto client = RpcClient::connect(daemon.socket(), std::chrono::seconds(1));
  ASSERT_TRUE(client);
  auto answer = client->call("status");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("did not answer in time"));
}

// What connect() says to a daemon that answers `version` like this.
Error connect_error(const json& version) {
  FakeDaemon daemon([](Peer&) {}, 1, version);
  auto client = RpcClient::connect(daemon.socket());
  EXPECT_FALSE(client) << version;
  if (client) return {};
  Error error = client.error();
  if (auto at = error.message.find(daemon.socket()); at != std::string::npos)
    error.message.replace(at, daemon.socket().size(), "SOCKET");
  return error;
}

TEST(RpcClient, RefusesADaemonOfAnotherProtocolInOneSentence) {
  const Error newer = connect_error({{"version", "9.8"}, {"protocol", kProtocolVersion + 1}});
  EXPECT_EQ(newer.code, ExitCode::unavailable);
  EXPECT_EQ(
      newer.message,
      fmt::format("ktraced 9.8 at SOCKET has protocol version {}, ktracectl {} has {}: use the "
                  "ktracectl of the daemon's version",
                  kProtocolVersion + 1, KTRACED_VERSION, kProtocolVersion));
  EXPECT_THAT(connect_error({{"version", "0.1.0"}}).message, HasSubstr("protocol version 1"))
      << "the first version did not name it";
  EXPECT_EQ(connect_error({{"protocol", "x"}}).code, ExitCode::unavailable);
  EXPECT_EQ(connect_error(json::array()).code, ExitCode::unavailable);
}

TEST(RpcClient, IsUnavailableAndNamesTheSocketWithoutAListener) {
  std::string gone;
  {
    FakeDaemon daemon([](Peer&) {}, 0);
    gone = daemon.socket();
  }
  auto client = RpcClient::connect(gone);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ExitCode::unavailable);
  EXPECT_THAT(client.error().message, HasSubstr("no ktraced answers at " + gone));
}

TEST(RpcClient, RefusesAnImpossibleSocketPathAsAUsageError) {
  EXPECT_EQ(RpcClient::connect("").error().code, ExitCode::usage);
  EXPECT_EQ(RpcClient::connect(std::string(500, 'x')).error().code, ExitCode::usage);
}

}  // namespace
}  // namespace ktraced::test

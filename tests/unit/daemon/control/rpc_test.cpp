// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/rpc.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

using nlohmann::json;

class RpcTest : public testing::Test {
 protected:
  RpcTest() {
    methods.add({"echo", {"a"}}, Role::read,
                [](const json& params, const Peer&, const Reply& reply) {
                  reply(json{{"params", params}});
                });
    methods.add("pause", Role::admin, [this](const json&, const Peer&, const Reply& reply) {
      ++pauses;
      reply(json{{"state", "paused"}});
    });
    methods.add("usage", Role::read, [](const json&, const Peer&, const Reply& reply) {
      reply(fail(ExitCode::usage, "names: must be a list"));
    });
    methods.add("broken", Role::read, [](const json&, const Peer&, const Reply& reply) {
      reply(fail(ExitCode::unavailable, "no ring"));
    });
    methods.add(
        {"careless", {"missing", "needless"}}, Role::read,
        [](const json& params, const Peer&, const Reply& reply) { reply(params.at("missing")); });
  }

  // Returns at once; the answer, which may come later, is the last of `lines`.
  void ask(std::string_view request, Role role = Role::admin) {
    methods.answer(request, Peer{.pid = 1, .uid = 1000, .gid = 1000, .role = role}, source);
  }
  std::string line(std::string_view request, Role role = Role::admin) {
    const size_t before = lines.size();
    ask(request, role);
    EXPECT_EQ(lines.size(), before + 1) << request;
    return lines.back();
  }
  json answer(std::string_view request, Role role = Role::admin) {
    std::string text = line(request, role);
    EXPECT_TRUE(text.ends_with('\n')) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    return json::parse(text);
  }
  int code(std::string_view request, Role role = Role::admin) {
    return answer(request, role).at("error").at("code").get<int>();
  }

  Methods methods;
  std::vector<std::string> lines;  // all answers; empty: that of a notification
  bool handed_over = false;        // by the last answer
  std::vector<std::string> notifications;
  std::shared_ptr<const RequestSource> source = std::make_shared<RequestSource>(
      [this](std::string text, const Takeover& takeover) {
        lines.push_back(std::move(text));
        handed_over = static_cast<bool>(takeover);
      },
      [this](const std::string& text) { notifications.push_back(text); });
  int pauses = 0;
};

TEST_F(RpcTest, AnswersWithTheIdAndTheResult) {
  auto value = answer(R"({"jsonrpc":"2.0","id":7,"method":"echo","params":{"a":[1]}})");
  EXPECT_EQ(value, json::parse(R"({"jsonrpc":"2.0","id":7,"result":{"params":{"a":[1]}}})"));
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":"x","method":"echo"})").at("id"), "x");
}

TEST_F(RpcTest, EditsLinesForTheClientThatGetsThem) {
  std::string text = "secret";
  methods.edit_line({.role = Role::read}, text);
  EXPECT_EQ(text, "secret");
  methods.edit_lines([](const Peer& peer, std::string& line) {
    if (peer.role == Role::read) line = "hidden";
  });
  methods.edit_line({.role = Role::admin}, text);
  EXPECT_EQ(text, "secret");
  methods.edit_line({.role = Role::read}, text);
  EXPECT_EQ(text, "hidden");
}

TEST_F(RpcTest, ExecutesANotificationWithoutAnAnswer) {
  EXPECT_EQ(line(R"({"jsonrpc":"2.0","method":"pause"})"), "");
  EXPECT_EQ(pauses, 1);
  EXPECT_EQ(line(R"({"jsonrpc":"2.0","method":"nonsense"})"), "");
}

TEST_F(RpcTest, AnswersInvalidRequestsWithTheCodeOfTheSpecification) {
  EXPECT_EQ(code("\x80\xff garbage"), -32700);
  EXPECT_EQ(code("{\"jsonrpc\":"), -32700);
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(code("17"), -32600);
  EXPECT_EQ(code("{}"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"1.0","id":1,"method":"echo"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":5})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":[],"method":"echo"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"echo","params":[1]})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"nonsense"})"), -32601);
}

TEST_F(RpcTest, SendsTheExitCodeOfHandlerErrors) {
  auto usage = answer(R"({"jsonrpc":"2.0","id":1,"method":"usage"})").at("error");
  EXPECT_EQ(usage.at("code"), -32602);
  EXPECT_EQ(usage.at("message"), "names: must be a list");
  EXPECT_EQ(usage.at("data").at("exit_code"), 64);
  auto broken = answer(R"({"jsonrpc":"2.0","id":1,"method":"broken"})").at("error");
  EXPECT_EQ(broken.at("code"), -32000);
  EXPECT_EQ(broken.at("data").at("exit_code"), 69);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"careless"})"), -32602);
}

TEST_F(RpcTest, RefusesUnknownParametersWithASimilarName) {
  auto error =
      answer(R"({"jsonrpc":"2.0","id":1,"method":"careless","params":{"mising":1}})").at("error");
  EXPECT_EQ(error.at("code"), -32602);
  EXPECT_EQ(error.at("data").at("exit_code"), 64);
  EXPECT_EQ(error.at("message"), "careless: unknown parameter 'mising'; did you mean 'missing'?");
  error = answer(R"({"jsonrpc":"2.0","id":1,"method":"pause","params":{"all":true}})").at("error");
  EXPECT_EQ(error.at("code"), -32602);
  EXPECT_EQ(error.at("message"), "pause takes no parameters, and was given 'all'");
  EXPECT_EQ(pauses, 0);
  EXPECT_EQ(line(R"({"jsonrpc":"2.0","method":"pause","params":{"all":true}})"), "");
  EXPECT_EQ(pauses, 0) << "a notification needs the same role";
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"pause","params":{"all":true}})", Role::read),
            -32001)
      << "the answer must not describe a method to a client without its role";
}

TEST_F(RpcTest, EnforcesRoles) {
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"pause"})", Role::read), -32001);
  EXPECT_EQ(pauses, 0);
  EXPECT_TRUE(answer(R"({"jsonrpc":"2.0","id":1,"method":"echo"})", Role::read).contains("result"));
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"echo"})", Role::none), -32001);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"nonsense"})", Role::none), -32001);
  EXPECT_EQ(code("garbage", Role::none), -32001);
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"echo"})", Role::none)
                .at("error")
                .at("data")
                .at("exit_code"),
            77);
}

class DeferredTest : public RpcTest {
 protected:
  DeferredTest() {
    methods.add("later", Role::admin,
                [this](const json&, const Peer&, const Reply& reply) { replies.push_back(reply); });
    methods.add({"at_once", {"n"}}, Role::read,
                [](const json& params, const Peer&, const Reply& reply) {
                  reply(json{{"n", params.at("n")}});
                  reply(json{{"n", 0}});
                });
  }

  std::vector<Reply> replies;
};

TEST_F(DeferredTest, AnswersLaterAndOnlyOnce) {
  ask(R"({"jsonrpc":"2.0","id":7,"method":"later"})");
  EXPECT_TRUE(lines.empty());
  Reply reply = replies.front();
  reply(json{{"done", true}});
  replies.front()(fail(ExitCode::io, "again"));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(json::parse(lines[0]),
            json::parse(R"({"jsonrpc":"2.0","id":7,"result":{"done":true}})"));
}

TEST_F(DeferredTest, MayAnswerBeforeItReturns) {
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"at_once","params":{"n":5}})").at("result"),
            json::parse(R"({"n":5})"));
}

TEST_F(DeferredTest, AnswersErrorsAndBadParameters) {
  ask(R"({"jsonrpc":"2.0","id":1,"method":"later"})");
  replies.front()(fail(ExitCode::io, "disk full"));
  ASSERT_EQ(lines.size(), 1U);
  const json error = json::parse(lines[0]).at("error");
  EXPECT_EQ(error.at("code"), -32000);
  EXPECT_EQ(error.at("data").at("exit_code"), 74);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":2,"method":"at_once"})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"later"})", Role::read), -32001);
  EXPECT_EQ(replies.size(), 1U);
}

TEST_F(DeferredTest, HandsTheConnectionOverOnlyOnSuccess) {
  ask(R"({"jsonrpc":"2.0","id":1,"method":"later"})");
  ask(R"({"jsonrpc":"2.0","id":2,"method":"later"})");
  ask(R"({"jsonrpc":"2.0","id":3,"method":"later"})");
  const Takeover take_over = [](Fd, const Peer&) {};
  replies[0](fail(ExitCode::unavailable, "too many"));
  replies[0].hand_over({{"uuid", "1"}}, take_over);
  EXPECT_FALSE(handed_over) << "it was answered before";
  replies[1].hand_over({{"uuid", "1"}}, take_over);
  EXPECT_TRUE(handed_over);
  replies[2](json::object());
  EXPECT_FALSE(handed_over);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(json::parse(lines[1]),
            json::parse(R"({"jsonrpc":"2.0","id":2,"result":{"uuid":"1"}})"));
}

TEST_F(DeferredTest, NotifiesUntilItHasAnswered) {
  ask(R"({"jsonrpc":"2.0","id":7,"method":"later"})");
  replies.front().notify("progress", json{{"done", 1}});
  replies.front()(json::object());
  replies.front().notify("progress", json{{"done", 2}});
  ASSERT_EQ(notifications.size(), 1U);
  EXPECT_EQ(json::parse(notifications[0]),
            json::parse(R"({"jsonrpc":"2.0","method":"progress","params":{"done":1}})"));
}

TEST_F(DeferredTest, AnswersADroppedRequestWithAnError) {
  ask(R"({"jsonrpc":"2.0","id":9,"method":"later"})");
  replies.clear();
  ASSERT_EQ(lines.size(), 1U);
  const json dropped = json::parse(lines[0]);
  EXPECT_EQ(dropped.at("id"), 9);
  EXPECT_EQ(dropped.at("error").at("data").at("exit_code"), 70);
}

TEST_F(DeferredTest, SendsNothingToAClientThatHasDisconnected) {
  ask(R"({"jsonrpc":"2.0","id":1,"method":"later"})");
  ask(R"({"jsonrpc":"2.0","id":2,"method":"later"})");
  EXPECT_TRUE(replies[0].connected());
  source.reset();
  EXPECT_FALSE(replies[0].connected());
  replies[0].notify("progress", json::object());
  replies[0](json::object());
  replies[1].hand_over(json::object(), [](Fd, const Peer&) { ADD_FAILURE(); });
  EXPECT_TRUE(lines.empty());
}

TEST_F(DeferredTest, WaitsForANotificationAndDoesNotAnswerIt) {
  for (const bool text : {false, true}) {
    ask(R"({"jsonrpc":"2.0","method":"later"})");
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_TRUE(lines.empty());
    if (text)
      replies.front().text("{}");
    else
      replies.front()(json::object());
    EXPECT_EQ(std::exchange(lines, {}), std::vector<std::string>{""});
    replies.clear();
  }
  EXPECT_EQ(line(R"({"jsonrpc":"2.0","method":"at_once"})"), "") << "also with bad parameters";
}

TEST_F(RpcTest, RefusesDeepNestingWithoutOverflow) {
  std::string brackets(1U << 20, '[');
  EXPECT_EQ(code(brackets), -32600);
  std::string objects;
  while (objects.size() < 1U << 20) objects += "{\"a\":";
  EXPECT_EQ(code(objects), -32600);
  // Brackets within strings are text.
  EXPECT_TRUE(answer(R"({"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":")" +
                     std::string(100, '[') + R"(\"[[["}})")
                  .contains("result"));
}

TEST_F(RpcTest, AnswersTextThatIsNotUtf8AsUtf8) {
  methods.add("name", Role::read,
              [](const json&, const Peer&, const Reply& reply) { reply(json{{"comm", "a\xff"}}); });
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"name"})").at("result").at("comm"),
            "a\xEF\xBF\xBD");
}

TEST(Roles, ComeFromUidAndGroups) {
  AccessRules rules{.read_group = 500, .admin_uids = {1001}};
  uid_t stranger = ::geteuid() + 4242;
  EXPECT_EQ(role_of(0, 0, {}, rules), Role::admin);
  EXPECT_EQ(role_of(::geteuid(), 1, {}, rules), Role::admin);
  EXPECT_EQ(role_of(1001, 1, {}, rules), Role::admin);
  EXPECT_EQ(role_of(stranger, 500, {}, rules), Role::read);
  EXPECT_EQ(role_of(stranger, 1, {4, 500}, rules), Role::read);
  EXPECT_EQ(role_of(stranger, 1, {4}, rules), Role::none);
  EXPECT_EQ(role_of(stranger, 0, {0}, AccessRules{}), Role::none);
}

TEST(Roles, ReportAnUnknownGroupAsAConfigurationError) {
  auto rules = make_access_rules("no-such-group-here", {});
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().code, ExitCode::config);
  EXPECT_NE(rules.error().message.find("groupadd --system no-such-group-here"), std::string::npos);
  EXPECT_EQ(make_access_rules("root", {}).value().read_group, 0U);
  EXPECT_EQ(make_access_rules("", {}).value().read_group, std::nullopt);
}

}  // namespace
}  // namespace ktraced

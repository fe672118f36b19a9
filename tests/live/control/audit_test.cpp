// SPDX-License-Identifier: BSD-2-Clause
// Who has changed what is in the log.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "harness/client/daemon.h"
#include "harness/machine/as_user.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uid_t kAuditedUser = 65534;
constexpr gid_t kAuditedGroup = 65534;

struct DocumentedMethod {
  std::string name;
  bool for_administrators = false;
};

// The methods in the order of the table in docs/protocol.md: "| `name`, `other` | admin | …".
std::vector<DocumentedMethod> documented_methods() {
  std::ifstream file(KTRACED_SOURCE_DIR "/docs/protocol.md");
  const std::regex row(R"(\| (`[^|]*`) \| (admin|read) \|.*)"), word("`([^`]+)`");
  std::vector<DocumentedMethod> methods;
  std::smatch cells;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_match(line, cells, row)) continue;
    const std::string names = cells[1];
    for (std::sregex_iterator next(names.begin(), names.end(), word), end; next != end; ++next)
      methods.push_back({(*next)[1], cells[2] == "admin"});
  }
  return methods;
}

// Parameters with which a method succeeds when all methods are called in the order of the table.
json parameters_of(const std::string& method) {
  static const std::map<std::string, json> kParameters = {
      {"status.overhead", {{"duration_ms", 1}}},
      {"events.enable", {{"names", {"sched_switch"}}}},
      {"events.disable", {{"names", {"sched_switch"}}}},
      {"filter.set", {{"filter", {{"comm", {"a\nb"}}}}}},
      {"symbols.resolve", {{"addresses", {"0x1"}}}},
      {"pids.resolve", {{"pids", {1}}}},
      {"session.show", {{"session", "recorder"}}},
      {"snapshot.take", {{"name", "audited"}}},
      {"snapshot.keep", {{"name", "audited"}, {"kept", false}}},
      {"snapshot.delete", {{"name", "audited"}}},
      {"probe.add", {{"text", "p:audited vfs_read"}}},
      {"probe.remove", {{"names", {"kprobes/audited"}}}}};
  const auto found = kParameters.find(method);
  return found == kParameters.end() ? json::object() : found->second;
}

// Kernels without kprobes refuse probes. The request is logged all the same.
bool may_be_refused(const std::string& method) { return method.starts_with("probe."); }

std::string request_of(uid_t uid, const std::string& method) {
  return fmt::format("uid {}, pid {} requests {} ", uid, ::getpid(), method);
}

TEST(Audit, LogsEachMethodThatChangesSomethingOrOpensAStreamAtEveryLevel) {
  json config = flight_config({{"buffer_kb", 64}});
  config["log"] = {{"level", "error"}};
  Daemon daemon(config);
  const auto methods = documented_methods();
  ASSERT_GT(methods.size(), 25U);
  for (const auto& [method, for_administrators] : methods) {
    const json answer = RpcConnection(daemon.socket()).call(method, parameters_of(method));
    EXPECT_TRUE(answer.contains("result") || may_be_refused(method)) << method << answer;
  }
  daemon.call("pause");
  daemon.call("probe.clear");
  ASSERT_TRUE(daemon.logged(request_of(0, "probe.clear")));
  for (const auto& [method, for_administrators] : methods) {
    const bool expected = for_administrators || method == "stream.subscribe";
    EXPECT_EQ(daemon.log().contains(request_of(0, method)), expected) << method;
  }
  EXPECT_THAT(daemon.log(),
              HasSubstr(request_of(0, "filter.set") + R"({"filter":{"comm":["a\nb"]}})"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// What is refused is not logged: a reader could fill the log.
TEST(Audit, LogsStreamsOfReadersThatBegin) {
  Daemon daemon(json{{"control", {{"group", "nogroup"}}}});
  as_user(kAuditedUser, kAuditedGroup, [&] {
    const json named = {{"name", "of-reader"}}, unknown = {{"events", {"no_such_event"}}};
    RpcConnection stream(daemon.socket());
    EXPECT_TRUE(stream.call("stream.subscribe", named).contains("result"));
    EXPECT_TRUE(RpcConnection(daemon.socket()).call("stream.subscribe", unknown).contains("error"));
    EXPECT_TRUE(RpcConnection(daemon.socket()).call("pause").contains("error"));
  });
  daemon.call("resume");
  ASSERT_TRUE(daemon.logged(request_of(0, "resume")));
  const std::string log = daemon.log();
  EXPECT_THAT(
      log, HasSubstr(request_of(kAuditedUser, "stream.subscribe") + R"({"session":"of-reader"})"));
  EXPECT_THAT(log, Not(HasSubstr("no_such_event")));
  EXPECT_THAT(log, Not(HasSubstr(request_of(kAuditedUser, "pause"))));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

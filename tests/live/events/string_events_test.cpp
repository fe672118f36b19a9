// SPDX-License-Identifier: BSD-2-Clause
// sys_enter_string and sys_exit_string.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>

#include "harness/client/rpc.h"
#include "harness/client/stream.h"
#include "harness/machine/as_user.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

json with_strings(const json& only = {}) {
  json syscalls = {{"strings", true}};
  if (!only.empty()) syscalls["only"] = only;
  return {{"events", {{"syscalls", syscalls}}}};
}

// The strings of these calls, in the form of the ground truth.
std::vector<json> strings_of(const Trace& trace, long pid, const std::vector<long>& calls) {
  std::vector<json> strings;
  for (const json& event : trace.lines()) {
    const std::string name = event.value("event", "");
    if (!name.ends_with("_string") || event["pid"] != pid) continue;
    const json& args = event["args"];
    if (std::ranges::find(calls, args["nr"].get<long>()) == calls.end()) continue;
    strings.push_back({{"event", name},
                       {"nr", args["nr"]},
                       {"arg", args["arg"]},
                       {"pointer", static_cast<unsigned long>(number_of(event, "pointer"))},
                       {"length", args["length"]},
                       {"cut", args["cut"]},
                       {"unreadable", args["unreadable"]},
                       {"text", args["text"]}});
  }
  return strings;
}

Trace trace_of_strings(Daemon& daemon, WaitingTruth& truth, json& expected) {
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  expected = truth.act();
  Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  return trace;
}

TEST(Strings, AreThoseThatTheCallsGet) {
  Daemon daemon(with_strings());
  WaitingTruth truth({"strings"});
  json expected;
  const Trace trace = trace_of_strings(daemon, truth, expected);
  auto strings = strings_of(trace, truth.pid(),
                            {SYS_openat, SYS_rename, SYS_symlinkat, SYS_mount, SYS_connect});
  const auto is_of_truth_itself = [](const json& string) {
    return string["text"].get<std::string>().starts_with("/proc/");
  };
  std::erase_if(strings, is_of_truth_itself);
  const json& all = expected["strings"];
  ASSERT_EQ(strings.size(), all.size());
  for (size_t i = 0; i < std::min(strings.size(), all.size()); ++i)
    ASSERT_EQ(strings[i], all[i]) << i;
  const json status = daemon.event_status("sys_enter_string");
  EXPECT_EQ(status["recorded"], trace.events("sys_enter_string").size());
  EXPECT_EQ(status["dropped"], 0);
}

TEST(Strings, AreOfTheSelectedCallsOnly) {
  Daemon daemon(with_strings({"connect"}));
  WaitingTruth truth({"strings"});
  json expected;
  const Trace trace = trace_of_strings(daemon, truth, expected);
  std::vector<json> of_connect;
  std::ranges::copy_if(expected["strings"], std::back_inserter(of_connect),
                       [](const json& string) { return string["nr"] == SYS_connect; });
  EXPECT_THAT(strings_of(trace, truth.pid(), {SYS_openat, SYS_rename, SYS_mount, SYS_connect}),
              ElementsAreArray(of_connect));
  EXPECT_GT(daemon.event_status("sys_enter_string")["filtered"], 0);
}

TEST(Strings, OfThe32BitEntryAreFoundByItsTable) {
  Daemon daemon(with_strings());
  WaitingTruth truth({"strings", "ia32"});
  json expected;
  const Trace trace = trace_of_strings(daemon, truth, expected);
  auto strings = trace.events("sys_enter_string", truth.pid());
  std::erase_if(strings, [](const json& event) { return number_of(event, "abi") != 1; });
  ASSERT_EQ(strings.size(), 1U);
  EXPECT_EQ(number_of(strings[0], "nr"), expected["nr"]);
  EXPECT_EQ(name_of(strings[0], "nr"), "open");
  EXPECT_EQ(number_of(strings[0], "pointer"), expected["pointer"]);
  EXPECT_EQ(strings[0]["args"]["text"], expected["text"]);
}

TEST(Strings, CostNothingUnlessTheyAreSelected) {
  Daemon daemon(json{{"events", {{"syscalls", true}}}});
  Stream stream(daemon);
  WaitingTruth truth({"strings"});
  truth.act();
  stream.finish();
  for (const char* event : {"sys_enter_string", "sys_exit_string"}) {
    EXPECT_EQ(daemon.event_status(event)["enabled"], false);
    EXPECT_EQ(daemon.event_status(event)["recorded"], 0);
    EXPECT_EQ(daemon.event_status(event)["filtered"], 0);
  }
}

// The answer to the request of a member of the group control.group for a session.
json asked_by_reader(Daemon& daemon, const std::string& name, json request) {
  constexpr uid_t kNobody = 65534, kNogroup = 65534;
  request["name"] = name;
  json answer;
  as_user(kNobody, kNogroup, [&] {
    RpcConnection connection(daemon.socket());
    answer = connection.call("stream.subscribe", request);
    if (answer.contains("result"))
      answer["session"] = daemon.call("session.show", {{"session", name}});
  });
  return answer;
}

TEST(Strings, AreForOrdinaryUsersOnlyWhatTheRecorderRecords) {
  Daemon daemon(json{{"control", {{"group", "nogroup"}}}});
  daemon.enable({"strings"});
  for (const char* name : {"strings", "sys_enter_string"}) {
    const json refused = asked_by_reader(daemon, "refused", {{"events", {name}}});
    ASSERT_TRUE(refused.contains("error")) << refused;
    EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr("administrators"));
  }
  const json pattern = asked_by_reader(daemon, "pattern", {{"events", {"sys_*"}}});
  ASSERT_TRUE(pattern.contains("session")) << pattern;
  EXPECT_THAT(pattern["session"].dump(), HasSubstr("sys_exit"));
  EXPECT_THAT(pattern["session"].dump(), Not(HasSubstr("_string")));
  EXPECT_THAT(asked_by_reader(daemon, "all_tasks", {{"filter", json::object()}})["session"].dump(),
              Not(HasSubstr("_string")))
      << "the recorder's filter does not apply to it";
  EXPECT_THAT(asked_by_reader(daemon, "follows", json::object())["session"].dump(),
              HasSubstr("sys_enter_string"));
}

}  // namespace
}  // namespace ktraced::live

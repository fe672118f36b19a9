// SPDX-License-Identifier: BSD-2-Clause
// What the methods of the control socket refuse. tests/unit/daemon/control is about bad requests,
// limits and clients that do not behave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/traces/flight.h"
#include "trace/packet/protocol_version.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

constexpr int kUnknownMethod = -32601, kBadParams = -32602;

TEST(Protocol, NamesItsVersionInTheAnswersThatAClientGetsFirst) {
  Daemon daemon;
  for (const char* method : {"version", "status", "stream.subscribe"})
    EXPECT_EQ(daemon.call(method)["protocol"], kProtocolVersion) << method;
}

TEST(Protocol, RefusesUnknownMethodsAndBadParameters) {
  Daemon daemon(flight_config({{"buffer_kb", 64}}));
  const auto refusal = [&](const char* method, const json& params) {
    const json error = daemon.call_error(method, params);
    EXPECT_EQ(error["code"], kBadParams) << method << error;
    return error["message"].get<std::string>();
  };
  const json unknown = daemon.call_error("stauts");
  EXPECT_EQ(unknown["code"], kUnknownMethod);
  EXPECT_THAT(unknown["message"].get<std::string>(), HasSubstr("stauts"));
  refusal("events.enable", json::object());
  refusal("events.enable", {{"names", "kfree"}});
  refusal("events.enable", {{"names", {1}}});
  const std::vector<std::string> many(125'000, "*"), longest = {std::string(100'000, 'x')};
  EXPECT_THAT(refusal("events.list", {{"tracepoints", many}}), HasSubstr("at most 256"));
  EXPECT_THAT(refusal("events.enable", {{"names", many}}), HasSubstr("at most 256"));
  EXPECT_THAT(refusal("events.disable", {{"names", many}}), HasSubstr("at most 256"));
  EXPECT_THAT(refusal("events.list", {{"tracepoints", longest}}), HasSubstr("at most 256"));
  refusal("filter.set", {{"filter", {{"pdi", {1}}}}});
  refusal("filter.set", {{"filter", {{"pid", "1"}}}});
  refusal("symbols.resolve", {{"addresses", {"x"}}});
  refusal("version", json::array({1}));
  for (const json& timeout : {json(-1), json(3'600'001), json("1"), json(1.5), json(nullptr)})
    refusal("snapshot.take", {{"timeout_ms", timeout}});
  refusal("snapshot.keep", {{"name", "a"}, {"kept", "yes"}});
  refusal("snapshot.keep", {{"name", 7}});
  refusal("snapshot.keep", json::object());
  for (const char* method :
       {"version",       "status",          "events.list",     "events.enable",    "events.disable",
        "pause",         "resume",          "reset",           "reload",           "filter.show",
        "filter.set",    "filter.clear",    "symbols.resolve", "stream.subscribe", "snapshot.take",
        "snapshot.list", "snapshot.delete", "snapshot.enable", "snapshot.disable", "snapshot.keep",
        "probe.list",    "probe.add",       "probe.remove",    "probe.clear"})
    EXPECT_THAT(refusal(method, {{"bogus", 1}}), HasSubstr("'bogus'"));
  EXPECT_THAT(refusal("snapshot.take", {{"nmae", "x"}}), HasSubstr("did you mean 'name'?"));
  EXPECT_EQ(daemon.call("status")["state"], "running");
  EXPECT_TRUE(daemon.call("snapshot.list")["snapshots"].empty());
}

}  // namespace
}  // namespace ktraced::live

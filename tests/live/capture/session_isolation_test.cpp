// SPDX-License-Identifier: BSD-2-Clause
// Sessions do not disturb each other or the recorder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "harness/client/daemon.h"
#include "harness/client/rpc.h"
#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

// The session with this name.
json session(Daemon& daemon, const std::string& name) {
  return daemon.call("session.show", {{"session", name}});
}

uint64_t count(const json& session, const std::string& event, const char* counter) {
  const json& counts = session["counts"];
  return counts.contains(event) ? counts[event][counter].get<uint64_t>() : 0;
}

json recorder_of_numbered_calls(uint32_t buffer_kb) {
  return flight_config({{"buffer_kb", buffer_kb}});
}

// A connection that has asked for a stream, and its answer.
json subscribe(RpcConnection& connection, const json& params) {
  return connection.call("stream.subscribe", params);
}

TEST(SessionIsolation, ThreeSessionsHaveExactlyTheirOwn) {
  const long calls = scaled(5'000);
  WaitingTruth one({"numbered", std::to_string(calls)});
  WaitingTruth other({"numbered", std::to_string(2 * calls)});
  Daemon daemon(flight_config_for({one.pid(), other.pid()}, {{"buffer_kb", 16384}}));
  const std::string one_pid = std::to_string(one.pid()), other_pid = std::to_string(other.pid());
  Stream of_one(daemon, {"--name", "one", "--event", "sys_enter", "--pid", one_pid});
  Stream of_other(daemon, {"--name", "other", "--event", "sys_exit", "--pid", other_pid,
                           "--syscall", "getpriority"});
  Stream of_ends(daemon, {"--name", "ends", "--event", "sched_process_exit"});
  one.act();
  other.act();
  const json first = session(daemon, "one"), second = session(daemon, "other");

  EXPECT_GE(count(first, "sys_enter", "recorded"), static_cast<uint64_t>(calls));
  EXPECT_GE(count(first, "sys_enter", "filtered"), static_cast<uint64_t>(2 * calls));
  EXPECT_EQ(count(first, "sys_exit", "recorded") + count(first, "sys_exit", "filtered"), 0U);
  EXPECT_EQ(count(second, "sys_exit", "recorded"), static_cast<uint64_t>(2 * calls));
  EXPECT_GE(count(second, "sys_exit", "filtered"), static_cast<uint64_t>(calls));
  const json recorder = session(daemon, "recorder");
  EXPECT_GE(count(recorder, "sys_enter", "recorded"), static_cast<uint64_t>(3 * calls));
  EXPECT_EQ(count(recorder, "sys_enter", "dropped"), 0U);
  one.finish();
  other.finish();

  const Trace numbers = of_one.finish();
  EXPECT_EQ(call_numbers(numbers, one.pid()), from_to(1, calls));
  EXPECT_TRUE(call_numbers(numbers, other.pid()).empty());
  const Trace exits = of_other.finish();
  EXPECT_EQ(exits.events("sys_exit").size(), static_cast<size_t>(2 * calls));
  EXPECT_EQ(exits.lines().size(), exits.events("sys_exit").size());
  const Trace ends = of_ends.finish();
  EXPECT_EQ(ends.lines().size(), ends.events("sched_process_exit").size());
  EXPECT_FALSE(ends.lines().empty());

  EXPECT_EQ(take_numbers(daemon, one.pid()), from_to(1, calls));
  EXPECT_EQ(take_numbers(daemon, other.pid()), std::vector<uint64_t>{})
      << "the first snapshot had them";
}

// The filter is asked once a thread: it must notice when the thread changes.
TEST(SessionIsolation, FollowsAThreadThatIsRenamed) {
  Daemon daemon(recorder_of_numbered_calls(1024));
  Stream named(daemon, {"--name", "named", "--event", "sys_enter", "--comm", own_name(),
                        "--syscall", "getpriority"});
  run_truth({"numbered", "100"});
  run_truth({"--comm", own_name(), "numbered", "100"});
  run_truth({"--comm", "before", "numbered", "100"});
  EXPECT_EQ(named.finish().events("sys_enter").size(), 100U);
}

TEST(SessionIsolation, ASlowSessionLosesOnlyItsOwn) {
  const long calls = scaled(50'000);
  WaitingTruth truth({"numbered", std::to_string(calls)});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 16384}}));
  const std::string pid = std::to_string(truth.pid());
  Stream fast(daemon, {"--name", "fast", "--event", "sys_enter", "--pid", pid, "--syscall",
                       "getpriority", "--buffer-kb", "16384"});
  Stream slow(daemon, {"--name", "slow", "--event", "sys_enter", "--pid", pid, "--syscall",
                       "getpriority", "--buffer-kb", "64"});
  daemon.send(SIGSTOP);  // nothing is drained
  truth.act();
  daemon.send(SIGCONT);
  const json quick = session(daemon, "fast"), full = session(daemon, "slow");
  truth.finish();
  EXPECT_EQ(count(quick, "sys_enter", "recorded"), static_cast<uint64_t>(calls));
  EXPECT_EQ(count(quick, "sys_enter", "dropped"), 0U);
  EXPECT_GT(count(full, "sys_enter", "dropped"), 0U);
  EXPECT_EQ(count(full, "sys_enter", "recorded") + count(full, "sys_enter", "dropped"),
            static_cast<uint64_t>(calls));
  EXPECT_EQ(fast.finish().events("sys_enter").size(), static_cast<size_t>(calls));
  const Trace lossy = slow.finish();
  EXPECT_EQ(static_cast<long>(lossy.events("sys_enter").size()) + lossy.lost("sys_enter"), calls);
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, calls));
}

TEST(SessionIsolation, RefusesTheNinthSessionWhileOthersContinue) {
  Daemon daemon(recorder_of_numbered_calls(64));
  WaitingTruth truth({"numbered", "10"});
  Stream first(daemon, {"--event", "sys_enter", "--syscall", "getpriority", "--pid",
                        std::to_string(truth.pid())});
  std::vector<std::unique_ptr<RpcConnection>> readers;
  for (int i = 0; i < 5; ++i) {
    readers.push_back(std::make_unique<RpcConnection>(daemon.socket()));
    EXPECT_TRUE(subscribe(*readers.back(), {{"buffer_kb", 64}}).contains("result"));
  }
  RpcConnection seventh(daemon.socket());
  const json answer = subscribe(seventh, json::object());
  EXPECT_THAT(answer["error"]["message"].get<std::string>(),
              HasSubstr("all 6 sessions of clients are in use"));
  EXPECT_EQ(answer["error"]["data"]["exit_code"], 69);
  truth.act();
  EXPECT_EQ(call_numbers(first.finish(), truth.pid()), from_to(1, 10));
  readers.clear();
  EXPECT_TRUE(eventually([&] { return daemon.call("session.list")["sessions"].size() == 1; }));
  EXPECT_TRUE(subscribe(seventh, json::object()).contains("result"));
}

TEST(SessionIsolation, RefusesWhatCannotBeAndLeavesNothingBehind) {
  Daemon daemon(recorder_of_numbered_calls(64));
  const auto refused = [&](const json& params) {
    RpcConnection connection(daemon.socket());
    return subscribe(connection, params)["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refused({{"events", {"sys_entre"}}}), HasSubstr("sys_enter"));
  EXPECT_THAT(refused({{"events", json::array()}}), HasSubstr("'events'"));
  EXPECT_THAT(refused({{"filter", {{"follow", {4'190'000}}}}}), HasSubstr("no such process"));
  EXPECT_THAT(refused({{"filter", {{"pidd", {1}}}}}), HasSubstr("pid"));
  EXPECT_THAT(refused({{"buffer_kb", 100}}), HasSubstr("power of two"));
  EXPECT_THAT(refused({{"buffer_kb", 1048576}}), HasSubstr("stream.total_mb"));
  EXPECT_THAT(refused({{"name", "recorder"}}), HasSubstr("already"));
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 1U);
  EXPECT_EQ(daemon.call("status")["stream"]["total_bytes"], 0);
}

TEST(SessionIsolation, AFailedChangeOfEventsLeavesASessionAsItWas) {
  Daemon daemon(recorder_of_numbered_calls(64));
  Stream follower(daemon, {"--name", "follower"});
  daemon.call_error("events.enable", {{"names", {"nosuch"}}, {"session", "follower"}});
  EXPECT_EQ(session(daemon, "follower")["own_events"], false);
  daemon.call("events.enable", {{"names", {"kfree"}}, {"session", "follower"}});
  EXPECT_EQ(session(daemon, "follower")["own_events"], true);
  EXPECT_EQ(daemon.event_status("kfree")["enabled"], false) << "the recorder's events";
  follower.finish();
}

TEST(SessionIsolation, AKilledDaemonsSessionsLeaveNoRings) {
  Daemon daemon(recorder_of_numbered_calls(64));
  const size_t before = bpf_objects_of(daemon.pid()).maps.size();
  Stream stream(daemon, {"--name", "mine", "--event", "sys_enter"});
  const BpfObjects with_stream = bpf_objects_of(daemon.pid());
  EXPECT_GT(with_stream.maps.size(), before);
  daemon.end(SIGKILL);
  daemon.start();
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 1U);
  const auto cpus = static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_TRUE(eventually([&] {
    return still_there(with_stream).maps.size() + cpus <= with_stream.maps.size();
  })) << still_there(with_stream).maps.size();
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// Clients and daemons in a pid namespace, in which processes have other ids, and in a time
// namespace, in which the time since boot is another.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "harness/client/daemon.h"
#include "harness/client/show.h"
#include "harness/traces/numbers.h"

namespace ktraced::live {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Ne;

std::vector<json> json_lines(const std::filesystem::path& file) {
  std::vector<json> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

// Skipped if the kernel has no namespaces of the kind, as "pid".
class Namespace : public testing::Test {
 protected:
  Namespace(std::string kind, Command options)
      : kind_(std::move(kind)), options_(std::move(options)) {}

  void SetUp() override {
    if (!std::filesystem::exists("/proc/self/ns/" + kind_))
      GTEST_SKIP() << "this kernel has no " << kind_ << " namespaces";
  }
  // The command in a namespace of its own, made with these options of unshare(1).
  [[nodiscard]] Command inside(const Command& command) const {
    Command words = {"unshare", "--" + kind_, "--fork", "--kill-child"};
    words.insert(words.end(), options_.begin(), options_.end());
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

 private:
  std::string kind_;
  Command options_;
};

// With its own /proc. In a plain chroot, / is no mount, so its propagation stays.
class PidNamespace : public Namespace {
 protected:
  PidNamespace() : Namespace("pid", {"--mount-proc", "--propagation", "unchanged"}) {}
};

// Booted a million seconds earlier.
class TimeNamespace : public Namespace {
 protected:
  TimeNamespace() : Namespace("time", {"--boottime", "1000000"}) {}
};

// The filter of the recorder has an id of the host. The recording takes it over, and it must not
// be taken for one of the namespace.
TEST_F(PidNamespace, RecordingInItHasExactlyTheEventsOfItsCommand) {
  Daemon daemon(json{{"events", numbered_calls()}});
  daemon.set_filter({{"exclude", {{"pid", {::getpid()}}}}});
  const std::string path = daemon.directory() / "recording";
  const Finished recorded = run(
      inside(daemon.ctl_command({"record", "-o", path, "--", kTruthProgram, "numbered", "100"})));
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  const Shown shown = show({path});
  const auto calls = std::ranges::count_if(shown.lines, [](const json& line) {
    return line.value("event", "") == "sys_enter" && line["comm"] == "truth";
  });
  EXPECT_EQ(calls, 100);
  for (const json& line : shown.lines) EXPECT_EQ(line.value("comm", "truth"), "truth") << line;
}

class PidNamespaceStream : public PidNamespace, public testing::WithParamInterface<const char*> {};

// A shell calls kill() until a stream that selects it by the id that it has there has ended.
TEST_P(PidNamespaceStream, SelectsTheProcessWithThatIdInIt) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"kill"}}}}}}});
  const std::string script = fmt::format(R"(("$@" {} $$ > "$0/out" 2> "$0/err"; : > "$0/done") &
                     while [ ! -e "$0/done" ]; do kill -0 $$; done; cat "$0/err" >&2)",
                                         GetParam());
  Command command = {"sh", "-c", script, daemon.directory()};
  const Command client =
      daemon.ctl_command({"stream", "--event", "sys_enter", "--count", "5", "--format", "json"});
  command.insert(command.end(), client.begin(), client.end());
  const Finished finished = run(inside(command));
  EXPECT_EQ(finished.exit_code, 0);

  std::vector<int64_t> pids;
  for (const json& line : json_lines(daemon.directory() / "out"))
    if (line.value("event", "") == "sys_enter") {
      EXPECT_EQ(line["comm"], "sh") << line;
      pids.push_back(line["pid"].get<int64_t>());
    }
  EXPECT_EQ(pids.size(), 5U) << finished.err;
  EXPECT_THAT(pids, Each(Ne(1)));
}

INSTANTIATE_TEST_SUITE_P(Options, PidNamespaceStream, testing::Values("--pid", "--tid", "--follow"),
                         [](const auto& test) { return std::string(test.param).substr(2); });

TEST_F(PidNamespace, FilterOfTheRecorderIsSetByIdsOfItsClient) {
  Daemon daemon;
  const Finished set = run(inside(daemon.ctl_command({"filter", "set", "pid=1", "exclude.pid=1"})));
  ASSERT_EQ(set.exit_code, 0) << set.err;
  const json filter = daemon.call("filter.show")["filter"];
  ASSERT_EQ(filter["pid"].size(), 1U);
  EXPECT_NE(filter["pid"].front(), 1) << "the client, which is process 1 there";
  EXPECT_EQ(filter["exclude"]["pid"], filter["pid"]);
}

TEST_F(PidNamespace, UnknownIdsInItAreRefused) {
  Daemon daemon;
  for (const char* option : {"--pid", "--tid", "--follow"}) {
    const Finished refused =
        run(inside(daemon.ctl_command({"stream", "--event", "sched_switch", option, "4000000"})));
    EXPECT_EQ(refused.exit_code, 64) << option;
    EXPECT_THAT(refused.err, HasSubstr("no process 4000000 in the pid namespace of its client"));
  }
}

// The idle tasks have it everywhere.
TEST_F(PidNamespace, IdZeroIsTheSameInIt) {
  Daemon daemon;
  const Finished streamed = run(inside(daemon.ctl_command(
      {"stream", "--event", "sched_switch", "--tid", "0", "--duration", "10ms"})));
  EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
}

// A client of its own that sends what it is given, and ends.
TEST_F(PidNamespace, RequestsFromItWithIdsThatAreNotTranslatedAreRefused) {
  Daemon daemon;
  constexpr const char* kClient = R"(
import json, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
answers = client.makefile()
def error_of(method, params):
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    client.sendall(json.dumps(request).encode() + b"\n")
    return json.loads(answers.readline()).get("error", {}).get("message", "")
for method in "filter.set", "stream.subscribe":
    for tasks in {"pid": [1]}, {"follow": [1]}, {"exclude": {"pid": [1]}}:
        print(error_of(method, {"filter": tasks}))
print(error_of("filter.set", {"filter": {"pid": [], "uid": [0]}}))
print(error_of("filter.set", {"filter": {"pid": [4000000]}, "kernel_pids": True}))
)";
  const Finished client = run(inside({"python3", "-c", kClient, daemon.socket()}));
  ASSERT_EQ(client.exit_code, 0) << client.err;
  std::vector<std::string> errors;
  std::istringstream lines(client.out);
  for (std::string line; std::getline(lines, line);) errors.push_back(line);
  ASSERT_EQ(errors.size(), 8U) << client.out;
  for (size_t i = 0; i < 6; ++i) EXPECT_THAT(errors[i], HasSubstr("translate them by")) << i;
  EXPECT_EQ(errors[6], "");
  EXPECT_EQ(errors[7], "");
}

// On the host nothing is looked for: any number may be the id of a process to come.
TEST_F(PidNamespace, IdsOfTheHostStayAsTheyAre) {
  Daemon daemon;
  EXPECT_EQ(daemon.call("pids.resolve", {{"pids", {1, 4000000}}})["pids"],
            (json{{"1", 1}, {"4000000", 4000000}}));
  json pids;
  for (int pid = 1; pid <= 10'000; ++pid) pids.push_back(pid);
  EXPECT_EQ(daemon.call("pids.resolve", {{"pids", pids}})["pids"].size(), 10'000U);
  EXPECT_THAT(daemon.call_error("pids.resolve", {{"pids", {0}}})["message"].get<std::string>(),
              HasSubstr("which is no id"));
}

TEST_F(PidNamespace, DaemonInItRefusesAFilterOfIds) {
  Daemon daemon;
  EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.write_config({{"filter", {{"pid", {1}}}}});
  const Finished refused = run(inside({kDaemonProgram, "--config", daemon.config_file()}));
  EXPECT_EQ(refused.exit_code, 69) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("run it in that of the host"));
}

TEST_F(TimeNamespace, DaemonInItDoesNotStart) {
  Daemon daemon;
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const Finished refused = run(inside({kDaemonProgram, "--config", daemon.config_file()}));
  EXPECT_EQ(refused.exit_code, 69) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("run it in the time namespace of the host"));
}

TEST_F(TimeNamespace, ClientInItComparesTimesWithThoseOfEvents) {
  Daemon daemon;
  const std::string until = fmt::format("{}.0", boottime_ns() / 1'000'000'000 + 100'000);
  const Finished streamed = run(inside(
      daemon.ctl_command({"stream", "--event", "sched_switch", "--count", "1", "--until", until})));
  EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config.h"
#include "base/user_id.h"
#include "daemon/config/config_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bpf/shared_state.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const fs::path kSource = KTRACED_SOURCE_DIR;
const fs::path kCases = kSource / "tests/unit/daemon/config/config_cases";

std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), {}};
}

// The groups declared by the records.
EventGroups declared_groups() {
  EventGroups groups;
  std::string event;
  std::istringstream lines(content(kSource / "bpf/records.h"));
  for (std::string line; std::getline(lines, line);) {
    char name[64];
    if (std::sscanf(line.c_str(), "struct rec_%63[a-z_] {", name) == 1) event = name;
    if (std::sscanf(line.c_str(), "} GROUP(\"%63[a-z]\")", name) == 1)
      groups[name].push_back(event);
  }
  return groups;
}

class ConfigTest : public testing::Test {
 protected:
  Result<Config> parse(std::string_view text, std::string_view file = "test.json") {
    return parse_config(std::array{ConfigText{.file = file, .text = std::string(text)}}, groups);
  }
  Config good(std::string_view text) {
    auto config = parse(text);
    EXPECT_TRUE(config) << config.error().message;
    return config.value_or(Config{});
  }
  std::string bad(std::string_view text) {
    auto config = parse(text);
    EXPECT_FALSE(config) << text;
    if (config) return {};
    EXPECT_EQ(config.error().code, ExitCode::config);
    return config.error().message;
  }
  EventGroups groups = declared_groups();
};

TEST_F(ConfigTest, ReadsWhichGroupsAreExact) {
  EXPECT_EQ(good("{}").exact, ExactConfig{});
  EXPECT_EQ(good(R"({"exact":{"kmem":false,"syscalls":true}})").exact,
            (ExactConfig{.kmem = Exact::never, .syscalls = Exact::always}));
  EXPECT_EQ(good(R"({"exact":{"kmem":true,"syscalls":"auto"}})").exact,
            (ExactConfig{.kmem = Exact::always, .syscalls = Exact::when_needed}));
}

TEST_F(ConfigTest, ReadsWhichEventsHaveStacks) {
  EXPECT_EQ(good("{}").stacks, StacksConfig{});
  EXPECT_TRUE(good("{}").stacks.events.empty());
  const auto stacks = good(R"({"stacks":{"events":["kmalloc","sched_switch","kmalloc"],)"
                           R"("kernel":false,"user":true,"depth":120,"every":{"kmalloc":64}},)"
                           R"("events":{"sched":true,"kmem":["kmalloc"]}})")
                          .stacks;
  EXPECT_EQ(stacks, (StacksConfig{.events = {"kmalloc", "sched_switch"},
                                  .kernel = false,
                                  .user = true,
                                  .depth = 120,
                                  .every = {{"kmalloc", 64}}}));
  EXPECT_THAT(bad(R"({"stacks":{"depth":0}})"), HasSubstr("must be from 1 to 120, not 0"));
  EXPECT_THAT(bad(R"({"stacks":{"depth":1000}})"), HasSubstr("must be from 1 to 120, not 1000"));
  EXPECT_THAT(bad(R"({"stacks":{"events":["irq:softirq_entry"]}})"),
              HasSubstr("'irq:softirq_entry' can have no stacks, as a tracepoint or a probe"));
}

// Every event may have a number in "every": it holds for sessions too.
TEST_F(ConfigTest, EventsWithStacksAreRecorded) {
  EXPECT_EQ(good(R"({"stacks":{"events":["sched_switch"],"every":{"kmalloc":8}}})").stacks.events,
            std::vector<std::string>{"sched_switch"});
  EXPECT_EQ(bad(R"({"stacks":{"events":["sched_switch","kfree"]}})"),
            "test.json:1: stacks.events[1]: 'kfree' is not recorded: select it in events.kmem");
  EXPECT_EQ(bad(R"({"stacks":{"events":["sys_enter"]},"events":{"syscalls":["sys_exit"]}})"),
            "test.json:1: stacks.events[0]: 'sys_enter' is not recorded: select it in "
            "events.syscalls");
}

// The section alone is enough, and takes nothing from what is recorded without it.
TEST_F(ConfigTest, SamplesAreOnWithTheirSection) {
  EXPECT_FALSE(good("{}").sampling);
  EXPECT_THAT(good("{}").events.names, Not(Contains("cpu_sample")));
  const Config sampled = good(R"({"sampling":{}})");
  EXPECT_EQ(sampled.sampling, SamplingConfig{});
  EXPECT_THAT(sampled.events.names, Contains("cpu_sample"));
  EXPECT_EQ(sampled.events.names.size(), good("{}").events.names.size() + 1);
  const Config chosen =
      good(R"({"sampling":{"period":"250us","user":false},"events":{"kmem":["kfree"]}})");
  EXPECT_EQ(chosen.sampling, (SamplingConfig{.period = {.number = 250'000}, .user = false}));
  EXPECT_THAT(chosen.events.names, ElementsAre("kfree", "cpu_sample"));
  EXPECT_THAT(good(R"({"sampling":{},"events":{"sampling":false}})").events.names, IsEmpty());
  EXPECT_THAT(good(R"({"events":{"sampling":true}})").events.names, ElementsAre("cpu_sample"));
  EXPECT_EQ(good(R"({"sampling":{"period":"3000000 cycles"}})").sampling->period,
            (SamplePeriod{.of = SamplePeriod::Of::cycles, .number = 3'000'000}));
}

TEST_F(ConfigTest, TracepointGroupMeansAllItsTracepoints) {
  EXPECT_THAT(
      good(R"({"events": {"tracepoints": ["irq", "block:*", "net:netif_rx"]}})").events.tracepoints,
      ElementsAre("irq:*", "block:*", "net:netif_rx"));
}

TEST_F(ConfigTest, HasDefaultsWithoutSections) {
  Config config = good("{}");
  std::vector<std::string> events;
  for (const char* group : {"oom", "process", "sched", "signal"})
    events.insert(events.end(), groups[group].begin(), groups[group].end());
  EXPECT_EQ(config.events.names, events);
  EXPECT_TRUE(config.events.syscalls_only.empty());
  EXPECT_EQ(config.filter, FilterSettings{});
  EXPECT_EQ(config.stream.buffer_kb, 4096U);
  EXPECT_EQ(config.stream.max_latency_ms, 100U);
  EXPECT_TRUE(config.stream.realtime);
  EXPECT_EQ(config.control.socket, kDefaultSocket);
  EXPECT_EQ(config.control.group, "ktrace");
  EXPECT_EQ(config.control.addresses, "auto");
  EXPECT_EQ(config.control.readers_see, "all");
  EXPECT_EQ(config.log.level, "info");
}

TEST_F(ConfigTest, InstalledFileHoldsTheDefaults) {
  Config installed = good(content(KTRACED_BINARY_DIR "/configs/ktraced.json"));
  Config defaults = good("{}");
  EXPECT_EQ(installed.events, defaults.events);
  EXPECT_EQ(installed.filter, defaults.filter);
  EXPECT_EQ(installed.stream.buffer_kb, defaults.stream.buffer_kb);
  EXPECT_EQ(installed.stream.max_latency_ms, defaults.stream.max_latency_ms);
  EXPECT_EQ(installed.stream.realtime, defaults.stream.realtime);
  EXPECT_EQ(installed.control.socket, defaults.control.socket);
  EXPECT_EQ(installed.control.group, defaults.control.group);
  EXPECT_EQ(installed.control.admin_uids, defaults.control.admin_uids);
  EXPECT_EQ(installed.control.addresses, defaults.control.addresses);
  EXPECT_EQ(installed.control.readers_see, defaults.control.readers_see);
  EXPECT_EQ(installed.log.level, defaults.log.level);
}

TEST_F(ConfigTest, ReadsEverySection) {
  Config config = good(R"({
    // a comment
    "$schema": "ktraced.schema.json",
    "events": { "sched": false, "signal": true, "kmem": ["kfree", "kmalloc", "kfree"],
                "syscalls": { "only": ["openat", "execve", "socketcall", "openat"] } },
    "filter": { "pid": [1, 2, 1], "uid": [0], "comm": ["sshd", "nginx*"], "follow": [7],
                "cgroup": ["/system.slice"], "exclude": { "uid": [4294967294] } },
    "stream": { "buffer_kb": 64, "max_latency_ms": 1, "realtime": false },
    "control": { "socket": "/tmp/s", "group": "ktrace", "admin_uids": [1000] },
    "log": { "level": "debug" } /* and another */
  })");
  std::vector<std::string> events = {"kmalloc", "kfree"};
  for (const char* group : {"signal", "syscalls"})
    events.insert(events.end(), groups[group].begin(), groups[group].end());
  EXPECT_EQ(config.events.names, events);
  EXPECT_THAT(config.events.syscalls_only, ElementsAre("openat", "execve", "socketcall"));
  EXPECT_THAT(config.filter.include.pid, ElementsAre(1, 2));
  EXPECT_THAT(config.filter.include.uid, ElementsAre(0));
  EXPECT_THAT(config.filter.include.comm, ElementsAre("sshd", "nginx*"));
  EXPECT_THAT(config.filter.include.follow, ElementsAre(7));
  EXPECT_THAT(config.filter.include.cgroup, ElementsAre("/system.slice"));
  EXPECT_THAT(config.filter.exclude.uid, ElementsAre(4294967294U));
  EXPECT_EQ(config.stream.buffer_kb, 64U);
  EXPECT_EQ(config.stream.max_latency_ms, 1U);
  EXPECT_FALSE(config.stream.realtime);
  EXPECT_EQ(config.control.socket, "/tmp/s");
  EXPECT_EQ(config.control.group, "ktrace");
  EXPECT_THAT(config.control.admin_uids, ElementsAre(1000));
  EXPECT_EQ(config.log.level, "debug");
}

TEST_F(ConfigTest, TheOutputHasEventsAndAFilterOfItsOwnOnlyIfTheyAreGiven) {
  const StreamOutput plain = *good(R"({"stream":{"output":{"directory":"/d"}}})").stream.output;
  EXPECT_FALSE(plain.events);
  EXPECT_FALSE(plain.filter);
  const Config config = good(R"({"events":{"oom":true},"stream":{"output":{"directory":"/d",
      "events":{"kmem":["kfree"],"syscalls":{"only":["openat"]},"tracepoints":["irq"]},
      "filter":{"comm":["a*"],"exclude":{"pid":[3]}}}}})");
  const StreamOutput& own = *config.stream.output;
  ASSERT_TRUE(own.events);
  EXPECT_THAT(own.events->names, ElementsAre("kfree", "sys_enter", "sys_exit"));
  EXPECT_THAT(own.events->syscalls_only, ElementsAre("openat"));
  EXPECT_THAT(own.events->tracepoints, ElementsAre("irq:*"));
  ASSERT_TRUE(own.filter);
  EXPECT_THAT(own.filter->include.comm, ElementsAre("a*"));
  EXPECT_THAT(own.filter->exclude.pid, ElementsAre(3));
  EXPECT_EQ(config.events.names, groups["oom"]);
  EXPECT_EQ(config.filter, FilterSettings{});
  EXPECT_TRUE(good(R"({"stream":{"output":{"directory":"/d","events":{}}}})")
                  .stream.output->events->names.empty());
}

TEST_F(ConfigTest, AcceptsUsersByNumberOrName) {
  const Config config =
      good(R"({"filter":{"uid":["root",7,"7","0",4294967294],"exclude":{"uid":["daemon"]}}})");
  EXPECT_THAT(config.filter.include.uid, ElementsAre(0, 7, 4294967294U)) << "each once";
  EXPECT_THAT(config.filter.exclude.uid, ElementsAre(parse_user("daemon").value()));
}

TEST_F(ConfigTest, DisablesGroupsThatTheEventsSectionOmits) {
  EXPECT_THAT(good(R"({"events":{}})").events.names, ElementsAre());
  EXPECT_THAT(good(R"({"events":{"oom":true}})").events.names, ElementsAreArray(groups["oom"]));
  Config all = good(R"({"events":{"syscalls":true}})");
  EXPECT_THAT(all.events.names, ElementsAre("sys_enter", "sys_exit"));
  EXPECT_TRUE(all.events.syscalls_only.empty());
}

TEST_F(ConfigTest, RecordsTheStringsOfSystemCallsOnlyIfTheyAreSelected) {
  const Config all = good(R"({"events":{"syscalls":{"strings":true}}})");
  EXPECT_THAT(all.events.names,
              ElementsAre("sys_enter", "sys_exit", "sys_enter_string", "sys_exit_string"));
  EXPECT_TRUE(all.events.syscalls_only.empty());
  const Config some = good(R"({"events":{"syscalls":{"only":["openat"],"strings":true}}})");
  EXPECT_EQ(some.events.names, all.events.names);
  EXPECT_THAT(some.events.syscalls_only, ElementsAre("openat"));
  EXPECT_THAT(good(R"({"events":{"syscalls":{"strings":false}}})").events.names,
              ElementsAre("sys_enter", "sys_exit"));
  EXPECT_THAT(bad(R"({"events":{"strings":true}})"), HasSubstr("events.strings: unknown key"));
}

TEST_F(ConfigTest, RecordsSystemCallsAsTheyReturnIfThatIsSelected) {
  const Config all = good(R"({"events":{"syscalls":{"record":"completed"}}})");
  EXPECT_THAT(all.events.names, ElementsAre("sys_completed"));
  EXPECT_TRUE(all.events.syscalls_only.empty());
  const Config some =
      good(R"({"events":{"syscalls":{"only":["openat"],"strings":true,"record":"completed"}}})");
  EXPECT_THAT(some.events.names,
              ElementsAre("sys_completed", "sys_enter_string", "sys_exit_string"));
  EXPECT_THAT(some.events.syscalls_only, ElementsAre("openat"));
  EXPECT_THAT(good(R"({"events":{"syscalls":{"record":"both"}}})").events.names,
              ElementsAre("sys_enter", "sys_exit"));
  EXPECT_THAT(good(R"({"events":{"syscalls":true}})").events.names,
              ElementsAre("sys_enter", "sys_exit"));
  EXPECT_THAT(bad(R"({"events":{"completed":true}})"), HasSubstr("events.completed: unknown key"));
  EXPECT_THAT(bad(R"({"events":{"syscalls":{"record":"complete"}}})"),
              HasSubstr("events.syscalls.record: unknown value 'complete'"));
}

TEST_F(ConfigTest, RefusesEveryBadCaseWithItsMessage) {
  size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(kCases)) {
    if (entry.path().extension() != ".json") continue;
    ++cases;
    std::string name = entry.path().filename();
    auto config = parse(content(entry.path()), name);
    ASSERT_FALSE(config) << name;
    EXPECT_EQ(config.error().message + "\n",
              content(fs::path(entry.path()).replace_extension(".expected")))
        << name;
  }
  EXPECT_GE(cases, 30U);
}

TEST_F(ConfigTest, ReportsEachProblemOnItsOwnLine) {
  std::string message = bad("{\n\"log\": {\"level\": 1},\n\"events\": {\"x\": true, \"y\": 1}\n}");
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2);
  EXPECT_THAT(message, HasSubstr("test.json:2: log.level: must be a string, not a number"));
  EXPECT_THAT(message, HasSubstr("test.json:3: events.x: unknown key"));
}

TEST_F(ConfigTest, ReportsTheLineOfTheKeyInEverySpelling) {
  EXPECT_THAT(bad("{\n\n\"stream\"\n:\n{\n\"buffer_kb\"\n:\n1\n}\n}"), StartsWith("test.json:6:"));
  EXPECT_THAT(bad("{\"filter\":{\"pid\":[1,\n2,\n0\n]}}"),
              StartsWith("test.json:3: filter.pid[2]:"));
  EXPECT_THAT(bad("{\r\n\"log\":{\r\n\"x\":1}}"), StartsWith("test.json:3: log.x:"));
  EXPECT_THAT(bad("/*\n\n*/ {\"x\":1}"), StartsWith("test.json:3: x:"));
}

TEST_F(ConfigTest, IsAnErrorOrValidWhenTruncatedAnywhere) {
  std::string text = content(kSource / "configs/ktraced.json");
  for (size_t size = 0; size < text.size(); ++size) {
    auto config = parse(std::string_view(text).substr(0, size));
    EXPECT_TRUE(config || config.error().message.starts_with("test.json:"));
  }
}

TEST_F(ConfigTest, IsAnErrorOrValidWithAnyByteChanged) {
  const std::string text = content(kSource / "configs/ktraced.json");
  for (size_t at = 0; at < text.size(); ++at) {
    for (char c : {'\0', '"', '{', '\n', '\xff'}) {
      std::string changed = text;
      changed[at] = c;
      auto config = parse(changed);
      EXPECT_TRUE(config || config.error().code == ExitCode::config);
    }
  }
}

TEST_F(ConfigTest, ReportsAnUnreadableFileAsAConfigurationError) {
  auto missing = load_config("/nonexistent/ktraced.json", groups);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ExitCode::config);
  EXPECT_EQ(missing.error().message,
            "cannot read the configuration file /nonexistent/ktraced.json: No such file or "
            "directory; name the one to use with --config");
  auto directory = load_config("/tmp", groups);
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("it is not a regular file"));
  EXPECT_FALSE(load_config("/dev/zero", groups));
  EXPECT_TRUE(load_config(kSource / "configs/ktraced.json", groups));
}

TEST(FilterJson, RoundTrips) {
  FilterSettings filter;
  filter.include = {.pid = {1, 2}, .uid = {0}, .comm = {"a*"}, .follow = {3}, .cgroup = {"/x"}};
  filter.exclude = {.pid = {}, .uid = {5}, .comm = {}, .follow = {}, .cgroup = {}};
  json value = filter_to_json(filter);
  EXPECT_EQ(value, json::parse(R"({"pid":[1,2],"uid":[0],"comm":["a*"],"follow":[3],"cgroup":["/x"],
      "exclude":{"pid":[],"uid":[5],"comm":[],"follow":[],"cgroup":[]}})"));
  EXPECT_EQ(merge_filter({}, value).value(), filter);
}

TEST(FilterJson, ReplacesGivenKeysAndKeepsOthers) {
  FilterSettings current;
  current.include.pid = {1, 2};
  current.include.uid = {3};
  current.exclude.comm = {"x"};
  auto merged = merge_filter(current, json::parse(R"({"pid":[7],"exclude":{"uid":[0]}})")).value();
  EXPECT_THAT(merged.include.pid, ElementsAre(7));
  EXPECT_THAT(merged.include.uid, ElementsAre(3));
  EXPECT_THAT(merged.exclude.comm, ElementsAre("x"));
  EXPECT_THAT(merged.exclude.uid, ElementsAre(0));
  EXPECT_TRUE(merge_filter(current, json::parse(R"({"pid":[]})")).value().include.pid.empty());
}

TEST(FilterJson, ChecksTheMergedFilterAgainstTheKernelsLimits) {
  FilterSettings current;
  for (uint32_t i = 0; i < FILTER_IDS_MAX; ++i) current.exclude.pid.push_back(i + 1);
  auto full = merge_filter(current, json::parse(R"({"pid":[1]})"));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message,
            "filter: has 16385 pids and uids in all; at most 16384 are possible");
}

TEST(FilterJson, ReportsABadValueAsAUsageError) {
  auto users = merge_filter({}, json::parse(R"({"uid":["none-1","none-2"]})"));
  ASSERT_FALSE(users);
  EXPECT_THAT(users.error().message, HasSubstr("none-1"));
  EXPECT_THAT(users.error().message, testing::Not(HasSubstr("none-2"))) << "it is not looked up";
  auto bad = merge_filter({}, json::parse(R"({"pid":[1,"x"],"exclude":{"comm":["ab*c"]}})"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ExitCode::usage);
  EXPECT_EQ(bad.error().message,
            "filter.pid[1]: must be a whole number, not a string; "
            "filter.exclude.comm[0]: '*' is possible only at the end");
  EXPECT_FALSE(merge_filter({}, json::parse("[]")));
  EXPECT_FALSE(merge_filter({}, json::parse(R"({"pids":[]})")));
}

}  // namespace
}  // namespace ktraced

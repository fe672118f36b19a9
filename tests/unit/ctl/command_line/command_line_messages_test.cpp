// SPDX-License-Identifier: BSD-2-Clause
// What ktracectl answers to wrong command lines, and to requests for help.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "unit/ctl/command_line/command_line_fixture.h"

namespace ktraced {
namespace {

using namespace command_line_test;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CommandLine, WrongFormatsAreUsageErrors) {
  EXPECT_EQ(
      usage_error({"show", "/a", "--format", "kmemtrac"}),
      "ktracectl: --format: unknown format 'kmemtrac'; did you mean 'kmemtrace'?; see 'ktracectl "
      "help show'\n");
  EXPECT_EQ(usage_error({"stream", "--format", "xml"}),
            "ktracectl: --format: unknown format 'xml'; there are ftrace, json, kmemtrace, "
            "kmemtrace-minimal, process; see 'ktracectl help stream'\n");
  EXPECT_THAT(usage_error({"show", "/a", "--format", "kmemtrace", "--gfp-names"}),
              HasSubstr("--gfp-names belongs to --format kmemtrace-minimal"));
  EXPECT_THAT(usage_error({"stream", "--names", "--format", "json"}),
              HasSubstr("--names is for text: JSON has numbers and names"));
  EXPECT_THAT(usage_error({"stream", "--names", "--no-names"}), HasSubstr("--no-names"));
  EXPECT_THAT(usage_error({"show", "/a", "--time", "wal"}),
              HasSubstr("unknown form of time 'wal'; did you mean 'wall'?"));
  EXPECT_THAT(
      usage_error({"show", "/a", "--since", "2pm"}),
      HasSubstr("--since: '2pm' is not a time: write seconds since boot (1872.5), a time of "
                "day (14:03:21.5)"));
  EXPECT_THAT(usage_error({"show", "/a", "--since", "2", "--last", "2s"}), HasSubstr("--last"));
  EXPECT_THAT(usage_error({"stream", "--last", "2s"}),
              HasSubstr("a stream has what happens from now on: --since and --last select from "
                        "traces"));
  EXPECT_THAT(usage_error({"report", "kmem", "--live", "--since", "-2s"}),
              HasSubstr("a live report has what happens from now on"));
}

// Of traces as of what happens now.
TEST(CommandLine, NamesThatNoTaskHasAreUsageErrors) {
  for (const auto& words : {std::vector<const char*>{"show", "/a"},
                            {"stream"},
                            {"record", "-o", "/b"},
                            {"report", "sched", "/a"},
                            {"query", "/a", "SELECT 1"}}) {
    auto with_comm = words;
    with_comm.insert(with_comm.begin() + 1 + (words[0] == std::string("report")),
                     {"--comm", "sh,rcu_tasks_rude_kthread"});
    EXPECT_THAT(usage_error(with_comm),
                HasSubstr("--comm: 'rcu_tasks_rude_kthread' is longer than the 15 bytes the kernel "
                          "keeps of a task's name; did you mean 'rcu_tasks_rude_'?"))
        << words[0];
  }
  EXPECT_THAT(usage_error({"filter", "set", "comm=rcu_tasks_rude_kthread"}),
              HasSubstr("15 bytes the kernel keeps"));
  EXPECT_THAT(usage_error({"report", "wakeups", "rcu_tasks_rude_kthread", "/a"}),
              HasSubstr("'rcu_tasks_rude_kthread' is longer than the 15 bytes the kernel keeps "
                        "of a task's name; did you mean 'rcu_tasks_rude_'?"));
}

TEST(CommandLine, WrongStreamOptionsAreUsageErrors) {
  EXPECT_THAT(usage_error({"stream", "--count", "0"}), HasSubstr("above 0"));
  EXPECT_THAT(usage_error({"stream", "--count", "-5"}), HasSubstr("above 0"));
  EXPECT_THAT(usage_error({"stream", "--count", "many"}), HasSubstr("above 0"));
  EXPECT_THAT(usage_error({"stream", "--duration", "nan"}), HasSubstr("above 0"));
  EXPECT_THAT(usage_error({"stream", "--duration", "inf"}), HasSubstr("above 0"));
  usage_error({"stream", "--count", "1.5"});
  usage_error({"stream", "--pid", "abc"});
  usage_error({"stream", "--pid", "-1"});
  usage_error({"stream", "--event"});
  usage_error({"stream", "--count-only", "--count", "3"});
  usage_error({"stream", "--backlog"});
  usage_error({"stream", "--follow", "make"});
  usage_error({"stream", "--buffer-kb", "0"});
  usage_error({"stream", "extra"});
}

TEST(CommandLine, RefusesEmptyEntriesOfLists) {
  EXPECT_EQ(usage_error({"show", "/a", "--syscall", ""}),
            "ktracectl: --syscall: the value is empty; see 'ktracectl help show'\n");
  for (const char* option : {"--event", "--pid", "--uid", "--comm", "--tid", "--cpu", "--error",
                             "--syscall", "--cgroup"})
    EXPECT_THAT(usage_error({"show", "/a", option, ""}), HasSubstr("the value is empty")) << option;
  EXPECT_THAT(usage_error({"show", "/a", "--pid", "222,,223"}),
              HasSubstr("--pid: '222,,223' has an empty entry"));
  EXPECT_THAT(usage_error({"show", "/a", "--cpu", "0,"}), HasSubstr("'0,' has an empty entry"));
  EXPECT_THAT(usage_error({"record", "-o", "/a", "--follow", ","}), HasSubstr("an empty entry"));
}

TEST(CommandLine, RefusesAnEmptyValueBehindAnEqualsSign) {
  EXPECT_EQ(usage_error({"show", "/a", "--since=", "--count", "1"}),
            "ktracectl: --since TIME: the value is missing; see 'ktracectl help show'\n");
  EXPECT_EQ(usage_error({"show", "/a", "--count=", "1"}),
            "ktracectl: --count N: the value is missing; see 'ktracectl help show'\n");
  EXPECT_THAT(usage_error({"--socket=", "status"}),
              HasSubstr("--socket PATH: the value is missing"));
  EXPECT_THAT(usage_error({"snapshot", "take", "--reason=", "--no-wait"}),
              HasSubstr("--reason: the value is missing; see 'ktracectl help snapshot take'"));
  EXPECT_EQ(command<SnapshotCommand>({"snapshot", "take", "--reason", ""}).reason, "")
      << "an empty word is a value";
}

TEST(CommandLine, NamesTheWrongEntryOfAList) {
  EXPECT_EQ(usage_error({"show", "/a", "--pid", "222,abc"}),
            "ktracectl: --pid: 'abc' is not a number; see 'ktracectl help show'\n");
  EXPECT_THAT(usage_error({"show", "/a", "--tid", "1,-2"}), HasSubstr("--tid: '-2' is below 0"));
  EXPECT_THAT(usage_error({"show", "/a", "--cpu", "4294967296"}), HasSubstr("is too large"));
  EXPECT_THAT(usage_error({"show", "/a", "--uid", "0,no-such-user"}), HasSubstr("no-such-user"));
}

TEST(CommandLine, ReportsUnknownCommandsWithSuggestions) {
  EXPECT_THAT(usage_error({"stats"}), HasSubstr("unknown command 'stats'; did you mean 'status'?"));
  EXPECT_THAT(
      usage_error({"snapshot", "show", "slow-request"}),
      HasSubstr("unknown command 'snapshot show'; did you mean 'ktracectl show'?; see 'ktracectl "
                "help snapshot'"));
  EXPECT_THAT(usage_error({"--frobnicate"}), HasSubstr("unknown option '--frobnicate'"));
  EXPECT_EQ(usage_error({}), "ktracectl: a command is missing; see 'ktracectl help'\n");
  EXPECT_THAT(
      usage_error({"snapshot", "lst"}),
      HasSubstr("unknown command 'lst'; did you mean 'list'?; see 'ktracectl help snapshot'"));
  EXPECT_THAT(usage_error({"snapshot", "enable", "x"}), HasSubstr("unknown argument 'x'; see"));
  usage_error({"snapshot", "delete"});
}

TEST(CommandLine, ReportsWrongOptionsInItsOwnWords) {
  EXPECT_EQ(usage_error({"stream", "--evnt", "kmalloc"}),
            "ktracectl: unknown option '--evnt'; did you mean '--event'?; see 'ktracectl help "
            "stream'\n");
  EXPECT_EQ(usage_error({"stream", "--frmat=json"}),
            "ktracectl: unknown option '--frmat'; did you mean '--format'?; see 'ktracectl help "
            "stream'\n");
  EXPECT_THAT(usage_error({"status", "--sokcet", "x"}), HasSubstr("did you mean '--socket'?"));
  EXPECT_EQ(usage_error({"stream", "--event"}),
            "ktracectl: --event NAME,…: the value is missing; see 'ktracectl help stream'\n");
  EXPECT_EQ(usage_error({"stream", "--pid", "abc"}),
            "ktracectl: --pid: 'abc' is not a number; see 'ktracectl help stream'\n");
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--duration", "2"}),
              HasSubstr("--duration is possible only with --live"));
  EXPECT_THAT(usage_error({"show", "/a", "--count-only", "--event", "kfree"}),
              HasSubstr("is not possible with"));
}

TEST(CommandLine, TakesTheSocketFromTheEnvironment) {
  ::setenv("KTRACED_SOCKET", "/of/environment", 1);
  auto parsed = parse({"status"});
  auto named = parse({"--socket", "/named", "status"});
  ::unsetenv("KTRACED_SOCKET");
  ASSERT_TRUE(std::holds_alternative<Options>(parsed) && std::holds_alternative<Options>(named));
  EXPECT_EQ(std::get<Options>(parsed).socket, "/of/environment");
  EXPECT_EQ(std::get<Options>(named).socket, "/named");
}

std::string help_text(const std::vector<const char*>& words) {
  auto parsed = parse(words);
  const auto* nothing = std::get_if<NothingToRun>(&parsed);
  if (nothing == nullptr) return "no help";
  EXPECT_EQ(nothing->exit_code, 0) << nothing->err;
  return nothing->out;
}

TEST(CommandLine, HelpOnEventsListHasItsOptions) {
  EXPECT_THAT(help_text({"help", "events", "list"}), HasSubstr("-v,--verbose"));
}

TEST(CommandLine, HelpOffersTimesOnlyWhereTheyAreTaken) {
  const auto help_of = [](const std::vector<const char*>& words) {
    auto parsed = parse(words);
    const auto* nothing = std::get_if<NothingToRun>(&parsed);
    return nothing == nullptr ? std::string() : nothing->out;
  };
  const std::string stream = help_of({"help", "stream"});
  EXPECT_THAT(stream, Not(HasSubstr("--since TIME")));
  EXPECT_THAT(stream, Not(HasSubstr("--last TIME")));
  EXPECT_THAT(stream, HasSubstr("--until TIME"));
  EXPECT_THAT(help_of({"help", "show"}), HasSubstr("--since TIME"));
  EXPECT_THAT(help_of({"help", "report", "kmem"}), HasSubstr("Of traces: Only from this time on"));
}

TEST(CommandLine, HelpCommandEqualsTheHelpOption) {
  EXPECT_EQ(help_text({"help"}), help_text({"--help"}));
  for (const char* command :
       {"status", "events", "pause", "resume", "reset", "reload", "filter", "session", "snapshot",
        "probe", "stream", "show", "report", "export", "record"}) {
    EXPECT_EQ(help_text({"help", command}), help_text({command, "-h"}));
    EXPECT_THAT(help_text({"help", command}), Not(HasSubstr("Excludes")));
    EXPECT_THAT(help_text({"help", command}),
                HasSubstr("\nExamples:\n  ktracectl " + std::string(command)));
  }
  EXPECT_EQ(help_text({"help", "filter", "set"}), help_text({"filter", "set", "--help"}));
  EXPECT_THAT(help_text({"help", "filter", "set"}), HasSubstr("ktracectl filter set pid="));
  EXPECT_EQ(usage_error({"help", "sream"}),
            "ktracectl: unknown command 'sream'; did you mean 'stream'?; see 'ktracectl help'\n");
}

TEST(CommandLine, HelpAndVersionSucceed) {
  for (std::vector<const char*> words : {std::vector<const char*>{"--version"},
                                         {"--help"},
                                         {"-h"},
                                         {"stream", "--help"},
                                         {"events", "--help"}}) {
    auto parsed = parse(words);
    const auto* nothing = std::get_if<NothingToRun>(&parsed);
    ASSERT_NE(nothing, nullptr);
    EXPECT_EQ(nothing->exit_code, 0);
    EXPECT_EQ(nothing->err, "");
    EXPECT_NE(nothing->out, "");
  }
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/completion/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/text/option_messages.h"
#include "ctl/command_line/command_line.h"
#include "unit/support/lines.h"

namespace ktraced {
namespace {

using nlohmann::json;
using test::lines_of;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

// Answers as the daemon does.
json answer_of_daemon(std::string_view method, const json& params) {
  if (method == "events.list") {
    json events = {{{"name", "kfree"}, {"group", "kmem"}, {"doc", "memory given back"}},
                   {{"name", "kmalloc"}, {"group", "kmem"}, {"doc", "memory"}},
                   {{"name", "sched_switch"}, {"group", "sched"}, {"doc", "a switch"}}};
    if (params.contains("tracepoints") && params["tracepoints"] == json{"irq:*"})
      events.push_back({{"name", "irq:softirq_entry"}, {"group", "irq"}});
    return {{"events", events}};
  }
  if (method == "session.list")
    return {{"sessions", {{{"name", "recorder"}, {"state", "recording"}}, {{"name", "client-1"}}}}};
  if (method == "snapshot.list")
    return {{"snapshots", {{{"name", "slow"}, {"reason", "why\nnot"}}, {{"name", "bad\tname"}}}}};
  if (method == "probe.list")
    return {{"probes", {{{"event", "kprobes:open"}, {"definition", "p:kprobes/open f"}}}}};
  return {};
}

// What is offered, without descriptions.
std::vector<std::string> offered(const std::vector<std::string>& words,
                                 const AskDaemon& daemon = answer_of_daemon) {
  auto lines = lines_of(complete(words, [&](const std::string&) { return daemon; }));
  for (std::string& line : lines) line = line.substr(0, line.find('\t'));
  return lines;
}

TEST(Completion, OffersCommandsWithTheirDescriptions) {
  EXPECT_THAT(lines_of(complete(std::vector<std::string>{"sna"}, {})),
              ElementsAre("snapshot\tSave what the flight recorder holds"));
  EXPECT_THAT(offered({"snapshot", ""}),
              ElementsAre("delete", "disable", "enable", "export", "keep", "list", "take"));
  EXPECT_THAT(offered({}), IsSupersetOf({"status", "record", "help"}));
  EXPECT_THAT(offered({"--json", "snapshot", "ta"}), ElementsAre("take"));  // --json has no value
}

TEST(Completion, OffersOptionsOfTheCommandAndOfThoseAboveIt) {
  EXPECT_THAT(offered({"snapshot", "take", "--"}),
              AllOf(IsSupersetOf({"--reason", "--no-wait", "--json"}), Not(Contains("--event"))));
  EXPECT_THAT(offered({"show", "DIR", "--ev"}), ElementsAre("--event"));
  EXPECT_THAT(offered({"--so"}), ElementsAre("--socket"));
}

TEST(Completion, OffersValuesOfOptions) {
  EXPECT_THAT(offered({"stream", "--format", "k"}), ElementsAre("kmemtrace", "kmemtrace-minimal"));
  EXPECT_THAT(offered({"stream", "--format=k"}),
              ElementsAre("--format=kmemtrace", "--format=kmemtrace-minimal"));
  EXPECT_THAT(offered({"stream", "--syscall", "opena"}), ElementsAre("openat", "openat2"));
  EXPECT_THAT(offered({"show", "--error", "ENOE"}), ElementsAre("ENOENT", "ENOEXEC"));
  EXPECT_THAT(offered({"export", "DIR", "--to", ""}),
              ElementsAre("folded", "json", "perfetto", "trace.dat"));
  EXPECT_THAT(offered({"report", "sched", "--by", "run"}), ElementsAre("runtime"));
  EXPECT_THAT(offered({"report", "summary", "--by", "l"}), ElementsAre("lost"));
  EXPECT_THAT(offered({"report", "sched", "--table", ""}), Contains("threads"));
  EXPECT_THAT(offered({"snapshot", "take", "--reason", "x", "--reason", ""}), IsEmpty());
}

TEST(Completion, OffersTheLastValueOfAList) {
  EXPECT_THAT(offered({"stream", "--event", "kfree,sched"}),
              ElementsAre("kfree,sched", "kfree,sched_switch"));
  EXPECT_THAT(offered({"stream", "--event=kfree,kma"}), ElementsAre("--event=kfree,kmalloc"));
}

TEST(Completion, OffersWhatTheDaemonHas) {
  EXPECT_THAT(offered({"events", "enable", "kmalloc", "k"}),
              ElementsAre("kfree", "kmalloc", "kmem"));
  EXPECT_THAT(offered({"events", "enable", "irq:"}), ElementsAre("irq:softirq_entry"));
  EXPECT_THAT(offered({"session", "show", ""}), ElementsAre("client-1", "recorder"));
  EXPECT_THAT(offered({"pause", "--session", "r"}), ElementsAre("recorder"));
  EXPECT_THAT(offered({"snapshot", "keep", "slow", ""}), ElementsAre("slow"));
  EXPECT_THAT(offered({"probe", "remove", ""}), ElementsAre("kprobes/open"));
  EXPECT_THAT(offered({"show", ""}), ElementsAre("slow", ":traces"));
  EXPECT_THAT(offered({"snapshot", "export", ""}), ElementsAre("slow"));
}

TEST(Completion, ShowsTextsOfTheDaemonInOneLine) {
  EXPECT_EQ(complete(std::vector<std::string>{"snapshot", "keep", ""},
                     [](const std::string&) { return answer_of_daemon; }),
            "slow\twhy\\x0anot\n");
}

TEST(Completion, OffersNothingOfADaemonThatDoesNotAnswer) {
  const auto silent = [](std::string_view, const json&) { return json(); };
  EXPECT_THAT(offered({"events", "enable", ""}, silent), IsEmpty());
  EXPECT_THAT(offered({"report", "kmem", ""}, silent), ElementsAre(":traces"));
  EXPECT_THAT(complete(std::vector<std::string>{"--socket", "/nowhere", "session", "show", ""}),
              "");
}

TEST(Completion, AsksTheDaemonAtTheGivenSocket) {
  std::vector<std::string> sockets;
  const auto connect = [&](const std::string& socket) -> AskDaemon {
    sockets.push_back(socket);
    return answer_of_daemon;
  };
  (void)complete(std::vector<std::string>{"--socket", "/a", "session", "show", ""}, connect);
  (void)complete(std::vector<std::string>{"session", "--socket=/b", "show", ""}, connect);
  EXPECT_THAT(sockets, ElementsAre("/a", "/b"));
}

TEST(Completion, OffersKeysAndCallsOfFilters) {
  EXPECT_THAT(offered({"filter", "set", "exclude.c"}),
              ElementsAre("exclude.cgroup=", "exclude.comm="));
  EXPECT_THAT(offered({"filter", "set", "pid=1", "syscall=read,openat2"}),
              ElementsAre("syscall=read,openat2"));
  EXPECT_THAT(offered({"filter", "set", "comm="}), IsEmpty());
  EXPECT_THAT(offered({"filter", "clear", "fo"}), ElementsAre("follow"));
}

TEST(Completion, LeavesFilesAndProgramsToTheShell) {
  EXPECT_THAT(offered({"report", "html", "DIR", "-o", ""}), ElementsAre(":files"));
  EXPECT_THAT(offered({"show", "--directory", ""}), ElementsAre(":directories"));
  EXPECT_THAT(offered({"record", "-o", "DIR", "--", "ma"}), ElementsAre(":programs"));
  EXPECT_THAT(offered({"record", "-o", "DIR", "--", "make", "-"}), ElementsAre(":files"));
}

TEST(Completion, OffersCommandsToHelp) {
  EXPECT_THAT(offered({"help", "snapshot", "ta"}), ElementsAre("take"));
  EXPECT_THAT(offered({"help", "nothing", ""}), IsEmpty());
}

// An option or argument that is new must say what its values are.
void expect_known_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    EXPECT_TRUE(value_kind(command, *option))
        << "'" << words_of(command) << "': " << option->get_name(option->get_positional())
        << " is not in value_kind.cpp";
  }
  for (const CLI::App* below : command.get_subcommands({})) expect_known_values(*below);
}

TEST(Completion, KnowsTheValuesOfEveryOptionAndArgument) {
  Options options;
  std::vector<std::string> help;
  expect_known_values(*make_program(options, help));
}

}  // namespace
}  // namespace ktraced

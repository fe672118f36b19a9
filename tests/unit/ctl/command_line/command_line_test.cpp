// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "base/install_paths.h"
#include "unit/ctl/command_line/command_line_fixture.h"

namespace ktraced {
namespace {

using namespace command_line_test;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CommandLine, AcceptsGlobalOptionsBeforeOrAfterTheCommand) {
  for (std::vector<const char*> words :
       {std::vector<const char*>{"--socket", "/x", "--json", "status"},
        {"status", "--json", "--socket", "/x"},
        {"events", "list", "--socket=/x", "--json"}}) {
    auto parsed = parse(words);
    ASSERT_TRUE(std::holds_alternative<Options>(parsed));
    EXPECT_EQ(std::get<Options>(parsed).socket, "/x");
    EXPECT_TRUE(std::get<Options>(parsed).json);
  }
  EXPECT_EQ(std::get<Options>(parse({"status"})).socket, kDefaultSocket);
}

TEST(CommandLine, Status) {
  EXPECT_FALSE(command<StatusCommand>({"status"}).per_cpu);
  EXPECT_TRUE(command<StatusCommand>({"status", "--per-cpu"}).per_cpu);
  EXPECT_FALSE(command<StatusCommand>({"status"}).overhead);
  const auto measured = command<StatusCommand>({"status", "--overhead", "--duration", "500ms"});
  EXPECT_TRUE(measured.overhead);
  EXPECT_EQ(measured.duration_s, 0.5);
}

TEST(CommandLine, Top) {
  const auto plain = command<TopCommand>({"top"});
  EXPECT_EQ(plain.view, TopView::events);
  EXPECT_FALSE(plain.interval_s || plain.count);
  const auto calls = command<TopCommand>({"top", "--view", "calls", "--interval", "200ms",
                                          "--count", "3", "--comm", "nginx*", "--syscall", "read"});
  EXPECT_EQ(calls.view, TopView::calls);
  EXPECT_EQ(calls.interval_s, 0.2);
  EXPECT_EQ(calls.count, 3U);
  EXPECT_THAT(calls.selection.comms, ElementsAre("nginx*"));
  EXPECT_THAT(calls.session.syscalls, ElementsAre("read"));
  EXPECT_THAT(usage_error({"top", "--view", "call"}), HasSubstr("calls"));
  usage_error({"top", "--count", "0"});
}

TEST(CommandLine, Events) {
  using Action = EventsCommand::Action;
  EXPECT_EQ(command<EventsCommand>({"events"}).action, Action::list);
  EXPECT_THAT(command<EventsCommand>({"events", "list", "kmem"}).names, ElementsAre("kmem"));
  EXPECT_FALSE(command<EventsCommand>({"events", "list"}).verbose);
  EXPECT_TRUE(command<EventsCommand>({"events", "-v"}).verbose);
  EXPECT_TRUE(command<EventsCommand>({"events", "list", "--verbose"}).verbose);
  auto enable = command<EventsCommand>({"events", "enable", "kmalloc", "sched"});
  EXPECT_EQ(enable.action, Action::enable);
  EXPECT_THAT(enable.names, ElementsAre("kmalloc", "sched"));
  EXPECT_EQ(command<EventsCommand>({"events", "disable", "x"}).action, Action::disable);
  EXPECT_THAT(usage_error({"events", "enable"}),
              HasSubstr("NAME is missing; see 'ktracectl help events enable'"));
  usage_error({"events", "toggle", "x"});
}

TEST(CommandLine, PlainMethods) {
  for (const char* method : {"pause", "resume", "reset", "reload"}) {
    EXPECT_EQ(command<PlainCommand>({method}).method, method);
    EXPECT_THAT(usage_error({method, "now"}), HasSubstr("now"));
  }
}

TEST(CommandLine, CommandsMayNameASession) {
  EXPECT_EQ(command<EventsCommand>({"events", "enable", "x", "--session", "s"}).session, "s");
  EXPECT_EQ(command<EventsCommand>({"events", "disable", "x", "--session", "s"}).session, "s");
  EXPECT_EQ(command<FilterCommand>({"filter", "--session", "s"}).session, "s");
  EXPECT_EQ(command<FilterCommand>({"filter", "show", "--session", "s"}).session, "s");
  EXPECT_EQ(command<FilterCommand>({"filter", "set", "pid=1", "--session=s"}).session, "s");
  EXPECT_EQ(command<FilterCommand>({"filter", "clear", "comm", "--session=s"}).session, "s");
  for (const char* method : {"pause", "resume", "reset"}) {
    EXPECT_EQ(command<PlainCommand>({method, "--session", "s"}).session, "s");
    EXPECT_EQ(command<PlainCommand>({method}).session, std::nullopt) << "the recorder";
  }
  usage_error({"reload", "--session", "s"});
}

TEST(CommandLine, Session) {
  using Action = SessionCommand::Action;
  EXPECT_EQ(command<SessionCommand>({"session"}).action, Action::list);
  EXPECT_EQ(command<SessionCommand>({"session", "list"}).action, Action::list);
  const auto show = command<SessionCommand>({"session", "show", "client-1"});
  EXPECT_EQ(show.action, Action::show);
  EXPECT_EQ(show.name, "client-1");
  EXPECT_THAT(usage_error({"session", "show"}), HasSubstr("NAME is missing"));
}

TEST(CommandLine, ShortOptionsAreVersionAndVerbose) {
  for (const char* option : {"-v", "--version"}) {
    const auto parsed = parse({option});
    ASSERT_TRUE(std::holds_alternative<NothingToRun>(parsed));
    EXPECT_EQ(std::get<NothingToRun>(parsed).exit_code, 0);
    EXPECT_EQ(std::get<NothingToRun>(parsed).out, "ktracectl " KTRACED_VERSION "\n");
  }
  EXPECT_TRUE(command<SnapshotCommand>({"snapshot", "list", "-v"}).verbose);
  EXPECT_TRUE(command<EventsCommand>({"events", "list", "-v"}).verbose);
  EXPECT_TRUE(command<StatusCommand>({"status", "-v"}).verbose);
}

TEST(CommandLine, ResetMayKeepTheHistory) {
  EXPECT_THAT(usage_error({"reset", "--keep"}), HasSubstr("did you mean '--keep-history'?"));
  EXPECT_FALSE(command<PlainCommand>({"reset"}).keep_history);
  EXPECT_TRUE(command<PlainCommand>({"reset", "--keep-history"}).keep_history);
}

TEST(CommandLine, FilterClearTakesKeys) {
  EXPECT_THAT(command<FilterCommand>({"filter", "clear"}).keys, ElementsAre());
  EXPECT_THAT(command<FilterCommand>({"filter", "clear", "comm", "exclude.uid"}).keys,
              ElementsAre("comm", "exclude.uid"));
  EXPECT_EQ(usage_error({"filter", "clear", "com"}),
            "ktracectl: unknown filter key 'com'; did you mean 'comm'?; see 'ktracectl help filter "
            "clear'\n");
  EXPECT_THAT(usage_error({"filter", "clear", "comm=x"}), HasSubstr("'filter clear comm'"));
}

TEST(CommandLine, AcceptsDurationsWithUnits) {
  EXPECT_EQ(command<StreamCommand>({"stream", "--duration", "500ms"}).duration_s, 0.5);
  EXPECT_EQ(command<RecordCommand>({"record", "-o", "/a", "--duration", "2m"}).duration_s, 120);
  EXPECT_EQ(command<ShowCommand>({"show", "/a", "--duration", "250us"}).duration_s, 250e-6);
  EXPECT_THAT(usage_error({"stream", "--duration", "2 parsecs"}), HasSubstr("such as 500ms"));
}

TEST(CommandLine, AcceptsUsersByName) {
  EXPECT_THAT(command<StreamCommand>({"stream", "--uid", "root,12"}).selection.uids,
              ElementsAre(0, 12));
  EXPECT_EQ(command<FilterCommand>({"filter", "set", "uid=root,7"}).filter,
            json::parse(R"({"uid":[0,7]})"));
  EXPECT_THAT(usage_error({"stream", "--uid", "no-such-user"}), HasSubstr("the name of a user"));
  EXPECT_THAT(usage_error({"filter", "set", "uid=no-such-user"}), HasSubstr("the name of a user"));
}

TEST(CommandLine, Filter) {
  using Action = FilterCommand::Action;
  EXPECT_EQ(command<FilterCommand>({"filter"}).action, Action::show);
  EXPECT_EQ(command<FilterCommand>({"filter", "show"}).action, Action::show);
  EXPECT_EQ(command<FilterCommand>({"filter", "clear"}).action, Action::clear);
  auto set =
      command<FilterCommand>({"filter", "set", "pid=812,813", "comm=nginx*", "exclude.uid=0"});
  EXPECT_EQ(set.action, Action::set);
  EXPECT_EQ(set.filter,
            json::parse(R"({"pid":[812,813],"comm":["nginx*"],"exclude":{"uid":[0]}})"));
  EXPECT_THAT(usage_error({"filter", "set", "pud=1"}),
              HasSubstr("unknown filter key 'pud'; did you mean 'pid'?"));
  EXPECT_THAT(usage_error({"filter", "set"}), HasSubstr("filter set needs KEY=VALUE"));
  EXPECT_EQ(
      usage_error({"filter", "set", "--pid", "abc"}),
      "ktracectl: unknown option '--pid'; did you mean 'pid=VALUE'?; see 'ktracectl help filter "
      "set'\n");
}

TEST(CommandLine, Record) {
  auto plain = command<RecordCommand>({"record", "-o", "/a", "--reason", "why", "--duration", "3"});
  EXPECT_EQ(plain.directory, "/a");
  EXPECT_EQ(plain.reason, "why");
  EXPECT_EQ(plain.duration_s, 3);
  EXPECT_TRUE(plain.command.empty());
  auto run = command<RecordCommand>(
      {"record", "-o", "/a", "--", "stream", "--count", "5", "--json", "--", "-o", "x"});
  EXPECT_EQ(run.directory, "/a");
  EXPECT_THAT(run.command, ElementsAre("stream", "--count", "5", "--json", "--", "-o", "x"));
  EXPECT_EQ(usage_error({"record"}),
            "ktracectl: record needs --output DIR (-o DIR), the directory to be made; see "
            "'ktracectl help record'\n");
  EXPECT_THAT(usage_error({"record", "--", "sleep", "1"}), HasSubstr("--output DIR"));
}

TEST(CommandLine, RecordSelects) {
  const auto record = command<RecordCommand>(
      {"record", "-o", "/a", "--event", "sched,kmalloc", "--pid", "1,2", "--uid", "root", "--comm",
       "x*", "--cgroup", "/c", "--follow", "7", "--syscall", "openat,close", "--name", "mine"});
  EXPECT_THAT(record.selection.events, ElementsAre("sched", "kmalloc"));
  EXPECT_THAT(record.selection.pids, ElementsAre(1, 2));
  EXPECT_THAT(record.selection.uids, ElementsAre(0));
  EXPECT_THAT(record.selection.comms, ElementsAre("x*"));
  EXPECT_THAT(record.session.cgroups, ElementsAre("/c"));
  EXPECT_THAT(record.session.follow, ElementsAre(7));
  EXPECT_THAT(record.session.syscalls, ElementsAre("openat", "close"));
  EXPECT_EQ(record.session.name, "mine");
  EXPECT_FALSE(record.session.all);
}

TEST(CommandLine, RecordAllExcludesAFilter) {
  const auto all =
      command<RecordCommand>({"record", "-o", "/a", "--all", "--event", "sched", "--", "make"});
  EXPECT_TRUE(all.session.all);
  EXPECT_THAT(all.command, ElementsAre("make"));
  EXPECT_THAT(usage_error({"record", "-o", "/a", "--all", "--pid", "1"}),
              HasSubstr("is not possible with"));
}

TEST(CommandLine, RecordRefusesAnEmptyCommand) {
  EXPECT_EQ(usage_error({"record", "-o", "/a", "--"}),
            "ktracectl: record -- needs a command to be run; see 'ktracectl help record'\n");
  EXPECT_THAT(usage_error({"record", "-o", "/a", "--", ""}), HasSubstr("needs a command"));
}

TEST(CommandLine, HelpHasItsDescriptionsInOneColumn) {
  auto parsed = parse({"show", "--help"});
  const auto* help = std::get_if<NothingToRun>(&parsed);
  ASSERT_NE(help, nullptr);
  // Continuation bytes of UTF-8 take no column.
  const auto column_of = [&](const char* description) {
    const size_t at = help->out.find(description);
    EXPECT_NE(at, std::string::npos) << description;
    const std::string before = help->out.substr(0, at).substr(help->out.rfind('\n', at) + 1);
    return std::ranges::count_if(before, [](char c) { return (c & 0xc0) != 0x80; });
  };
  const auto column = column_of("End after N events");
  EXPECT_EQ(column_of("Only these events or groups"), column) << "of --event NAME,…";
  EXPECT_EQ(column_of("Only events of tasks in these control groups"), column);
}

TEST(CommandLine, ListsTakeNamesWithCommasAndOptionsThatAreRepeated) {
  const auto show = command<ShowCommand>({"show", "/a", "--comm", R"(a\,b,c)", "--comm",
                                          "kworker/u8:3-events_unbound", "--cgroup", R"(/x\,y)"});
  EXPECT_EQ(show.selection.comms, (std::vector<std::string>{"a,b", "c", "kworker/u8:3"}));
  EXPECT_EQ(show.selection.cgroups, std::vector<std::string>{"/x,y"});
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/command_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <new>
#include <string>

#include "base/clock.h"
#include "trace/metadata/command_record.h"
#include "trace/metadata/name_log.h"

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::chrono::hours kNever{1};  // a loaded machine is slow

using Texts = std::map<uint32_t, std::string>;

Texts texts_in(const std::vector<std::byte>& records) {
  Texts texts;
  for (size_t at = 0; at < records.size();) {
    const RecordView view(records.data() + at);
    if (const auto command = command_of(view)) texts[command->pid] = command->text;
    at += view.bytes().size();
  }
  return texts;
}

bool all_read(const std::vector<std::byte>& records) {
  NameLog log;
  log.add(records);
  return log.lost().commands_read();
}

constexpr CommandLines::Limits kPatient{
    .patience = kNever, .for_all = kNever, .settles = std::chrono::seconds(0)};
constexpr CommandLines::Limits kNeverSettles{
    .patience = kNever, .for_all = kNever, .settles = kNever};

// Processes that exist only here. A thread reads them: change them only between two records().
struct Processes {
  struct Process {
    ProcProgram program;
    ProcCommand command;  // an empty text: it has none
  };
  std::map<uint32_t, Process> all;
  std::map<uint32_t, int> reads;

  void set(uint32_t pid, const std::string& text, std::optional<uid_t> uid = std::nullopt) {
    all[pid] = {.program = {.comm = text.substr(0, text.find(' '))},
                .command = {.uid = uid, .text = text}};
  }
  CommandLines::Source source() {
    return {
        .for_each_process =
            [this](const std::function<bool(uint32_t)>& visit) {
              for (const auto& [pid, process] : all)
                if (!visit(pid)) return;
            },
        .program = [this](uint32_t pid) -> std::optional<ProcProgram> { return all[pid].program; },
        .read = [this](uint32_t pid) -> std::optional<ProcCommand> {
          ++reads[pid];
          if (all[pid].command.text.empty()) return std::nullopt;
          return all[pid].command;
        }};
  }
};

TEST(CommandLines, AreReadOnceForAllTraces) {
  Processes processes;
  processes.set(1, "init");
  processes.set(2, "");
  processes.set(7, "sh");
  const CommandLines lines(processes.source(), kPatient);
  const auto first = lines.records();
  EXPECT_THAT(texts_in(first), ElementsAre(Pair(1, "init"), Pair(7, "sh")));
  EXPECT_TRUE(all_read(first));
  processes.set(8, "make");
  EXPECT_THAT(texts_in(lines.records()),
              ElementsAre(Pair(1, "init"), Pair(7, "sh"), Pair(8, "make")));
  EXPECT_THAT(processes.reads, ElementsAre(Pair(1, 1), Pair(2, 2), Pair(7, 1), Pair(8, 1)))
      << "one without a command line may get one";
}

TEST(CommandLines, AreReadWithoutATrace) {
  Processes processes;
  processes.set(7, "sh");
  const CommandLines lines(processes.source(), kPatient);
  lines.look();
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(7, "sh")));
  EXPECT_EQ(processes.reads[7], 1);
}

TEST(CommandLines, OfAnotherProgramOrProcessAreReadAgain) {
  Processes processes;
  processes.set(7, "sh -c x");
  processes.set(8, "sh");
  const CommandLines lines(processes.source(), kPatient);
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(7, "sh -c x"), Pair(8, "sh")));
  processes.set(7, "x --daemon");
  processes.set(8, "sh again");
  processes.all[8].program.start_ns = processes.all[8].command.start_ns = 10'000'000;
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(7, "x --daemon"), Pair(8, "sh again")));
}

// A process has the command line of the one that forked it until it executes its program.
TEST(CommandLines, OfAYoungProcessAreReadAgain) {
  Processes processes;
  processes.set(7, "sh");
  processes.all[7].program.start_ns = processes.all[7].command.start_ns = boottime_ns();
  const CommandLines lines(processes.source(), kNeverSettles);
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(7, "sh")));
  processes.all[7].command.text = "sh script";
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(7, "sh script")));
}

TEST(CommandLines, OfAProcessThatIsReplacedWhileItIsReadAreLeftOut) {
  Processes processes;
  processes.set(7, "sh");
  processes.all[7].command.start_ns = 10'000'000;
  const CommandLines lines(processes.source(), kPatient);
  EXPECT_THAT(texts_in(lines.records()), IsEmpty());
}

// A snapshot has events of such a process.
TEST(CommandLines, OfAProcessThatHasEndedStayForOneTrace) {
  Processes processes;
  processes.set(1, "init");
  processes.set(7, "service");
  const CommandLines lines(processes.source(), kPatient);
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(1, "init"), Pair(7, "service")));
  processes.all.erase(7);
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(1, "init"), Pair(7, "service")));
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(1, "init")));
}

TEST(CommandLines, StayWhenAProcessBecomesAZombie) {
  Processes processes;
  processes.set(7, "sh");
  processes.all[7].program.start_ns = processes.all[7].command.start_ns = boottime_ns();
  const CommandLines lines(processes.source(), kNeverSettles);
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(7, "sh")));
  processes.all[7].command.text = "";
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(7, "sh")));
}

TEST(CommandLines, OfOneUserAreOnlyThoseOfNoOtherUser) {
  Processes processes;
  processes.set(1, "init", 0);
  processes.set(7, "own", 1000);
  processes.set(8, "setuid");
  const CommandLines lines(processes.source(), kPatient);
  EXPECT_THAT(texts_in(lines.records(1000)), ElementsAre(Pair(7, "own")));
  EXPECT_THAT(texts_in(lines.records(1001)), IsEmpty());
}

std::vector<std::string> problems_of(const std::vector<std::byte>& records) {
  NameLog log;
  log.add(records);
  return log.problems();
}

TEST(CommandLines, HaveALimitThatATraceSays) {
  constexpr size_t kBytes = size_t{1} << 20;
  Processes processes;
  for (uint32_t pid = 1; pid < 5'000; ++pid) processes.set(pid, std::string(500, 'x'));
  const CommandLines lines(processes.source(),
                           {.bytes = kBytes, .patience = kNever, .for_all = kNever});
  const auto first = lines.records();
  EXPECT_LE(first.size(), kBytes);
  EXPECT_GT(first.size(), kBytes / 2);
  EXPECT_THAT(problems_of(first), ElementsAre(HasSubstr("command lines of processes are missing")));
  EXPECT_EQ(lines.records(), first) << "the first ones stay";
  processes.all.clear();
  processes.set(7, "sh");
  EXPECT_THAT(problems_of(lines.records()), IsEmpty()) << "now there is room";
}

// A new process is read first: the look fails before it has met the others.
TEST(CommandLines, ThatCouldNotBeReadForLackOfMemoryAreMissingUntilALookSucceeds) {
  Processes processes;
  processes.set(1, "init");
  processes.set(7, "sh");
  bool no_memory = false;
  CommandLines::Source source = processes.source();
  source.read = [&no_memory, read = source.read](uint32_t pid) {
    if (no_memory) throw std::bad_alloc();
    return read(pid);
  };
  const CommandLines lines(std::move(source), kPatient);
  EXPECT_TRUE(all_read(lines.records()));
  processes.set(8, "make");
  no_memory = true;
  for (int look = 0; look < 2; ++look) {
    const auto records = lines.records();
    EXPECT_THAT(texts_in(records), ElementsAre(Pair(1, "init"), Pair(7, "sh"))) << look;
    EXPECT_FALSE(all_read(records)) << look;
  }
  no_memory = false;
  const auto records = lines.records();
  EXPECT_THAT(texts_in(records), ElementsAre(Pair(1, "init"), Pair(7, "sh"), Pair(8, "make")));
  EXPECT_TRUE(all_read(records));
}

// Any user can start them, and the service has a limit of memory.
TEST(CommandLines, OfManyProcessesTakeLittleMemory) {
  Processes processes;
  for (uint32_t pid = 1; pid < 20'000; ++pid) processes.set(pid, std::string(512, 'x'));
  const CommandLines lines(processes.source(), kPatient);
  EXPECT_LE(lines.records().size(), size_t{4} << 20);
}

// The thread outlives its owner until the process goes on: what it uses must, too.
struct Hang {
  std::atomic<bool> next = false;  // in the next scan
  std::atomic<bool> now = false;
  std::latch go_on{1}, ended{1};
};

// Three processes, of which the second hangs; then all have executed another program.
CommandLines::Source hanging(const std::shared_ptr<Hang>& hang) {
  return {.for_each_process =
              [hang](const std::function<bool(uint32_t)>& visit) {
                hang->now = hang->next.load();
                for (const uint32_t pid : {1U, 2U, 3U})
                  if (!visit(pid)) break;
              },
          .program = [hang](uint32_t) { return ProcProgram{.comm = hang->now ? "new" : "old"}; },
          .read = [hang](uint32_t pid) -> std::optional<ProcCommand> {
            if (hang->now && pid == 2) {
              hang->go_on.wait();
              hang->ended.count_down();
            }
            return ProcCommand{.text = hang->now ? "new" : "old"};
          }};
}

TEST(CommandLines, DoNotWaitForAProcessThatHangs) {
  const auto hang = std::make_shared<Hang>();
  {
    const CommandLines lines(hanging(hang), {.patience = std::chrono::milliseconds(10)});
    while (texts_in(lines.records()) != Texts{{1, "old"}, {2, "old"}, {3, "old"}}) {
    }
    hang->next = true;
    Texts known;
    while (known[1] != "new") known = texts_in(lines.records());
    EXPECT_EQ(known, (Texts{{1, "new"}, {2, "old"}, {3, "old"}}));
    const auto records = lines.records();
    EXPECT_EQ(texts_in(records), known);
    EXPECT_FALSE(all_read(records)) << "a trace says that some may be missing";
  }
  hang->go_on.count_down();
  hang->ended.wait();
}

// Waits without an end if the process is not taken to hang.
TEST(CommandLines, KnowOfAProcessThatHangsWithoutASnapshot) {
  const auto hang = std::make_shared<Hang>();
  hang->next = true;
  {
    const CommandLines lines(
        hanging(hang),
        {.patience = std::chrono::milliseconds(10), .for_all = kNever, .briefly = kNever});
    while (texts_in(lines.records(std::nullopt, CommandLines::Wait::briefly)) !=
           Texts{{1, "new"}}) {
    }
  }
  hang->go_on.count_down();
  hang->ended.wait();
}

// Waits without an end if only the patience for one process has one.
TEST(CommandLines, OfProcessesThatAreSlowAreNotWaitedForWithoutEnd) {
  const auto hang = std::make_shared<Hang>();
  hang->next = true;
  {
    const CommandLines lines(hanging(hang),
                             {.patience = kNever, .for_all = std::chrono::milliseconds(10)});
    std::vector<std::byte> records;
    do records = lines.records();
    while (texts_in(records) != Texts{{1, "new"}});
    EXPECT_FALSE(all_read(records));
    EXPECT_THAT(problems_of(records), IsEmpty()) << "the trace is complete nevertheless";
  }
  hang->go_on.count_down();
  hang->ended.wait();
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/command_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <string>

#include "trace/metadata/command_record.h"

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::chrono::hours kNever{1};  // a loaded machine is slow

using Texts = std::map<uint32_t, std::string>;

Texts texts_in(const std::vector<std::byte>& records) {
  Texts texts;
  for (size_t at = 0; at < records.size();) {
    const RecordView view(records.data() + at);
    const auto command = command_of(view).value();
    texts[command.pid] = command.text;
    at += view.bytes().size();
  }
  return texts;
}

// Processes that exist only here.
struct Processes {
  std::map<uint32_t, ProcCommand> all;

  CommandLines::Source source() {
    return {.for_each_process =
                [this](const std::function<bool(uint32_t)>& visit) {
                  for (const auto& [pid, command] : all)
                    if (!visit(pid)) return;
                },
            .read = [this](uint32_t pid) -> std::optional<ProcCommand> {
              if (all[pid].text.empty()) return std::nullopt;
              return all[pid];
            }};
  }
};

TEST(CommandLines, AreReadAgainForEachTrace) {
  Processes processes{.all = {{1, {.text = "init"}}, {2, {}}, {7, {.text = "sh"}}}};
  const CommandLines lines(processes.source(), kNever);
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(1, "init"), Pair(7, "sh")));
  processes.all = {{1, {.text = "init"}}, {8, {.text = "make"}}};
  EXPECT_THAT(texts_in(lines.records()), ElementsAre(Pair(1, "init"), Pair(8, "make")));
}

TEST(CommandLines, OfOneUserAreOnlyThoseOfNoOtherUser) {
  Processes processes{.all = {{1, {.uid = 0, .text = "init"}},
                              {7, {.uid = 1000, .text = "own"}},
                              {8, {.uid = std::nullopt, .text = "setuid"}}}};
  const CommandLines lines(processes.source(), kNever);
  EXPECT_THAT(texts_in(lines.records(1000)), ElementsAre(Pair(7, "own")));
  EXPECT_THAT(texts_in(lines.records(1001)), IsEmpty());
}

TEST(CommandLines, HaveALimit) {
  Processes processes;
  for (uint32_t pid = 1; pid < 20'000; ++pid) processes.all[pid].text = std::string(500, 'x');
  const CommandLines lines(processes.source(), kNever);
  const auto records = lines.records();
  EXPECT_LE(records.size(), CommandLines::kMaxBytes);
  EXPECT_GT(records.size(), CommandLines::kMaxBytes / 2);
}

// The thread outlives its owner until the process goes on: what it uses must, too.
TEST(CommandLines, DoNotWaitForAProcessThatHangs) {
  struct Hang {
    std::atomic<bool> next = false;  // in the next scan
    std::atomic<bool> now = false;
    std::latch go_on{1}, ended{1};
  };
  const auto hang = std::make_shared<Hang>();
  const auto for_each_process = [hang](const std::function<bool(uint32_t)>& visit) {
    hang->now = hang->next.load();
    for (const uint32_t pid : {1U, 2U, 3U})
      if (!visit(pid)) break;
    if (hang->now) hang->ended.count_down();
  };
  const auto read = [hang](uint32_t pid) -> std::optional<ProcCommand> {
    if (hang->now && pid == 2) hang->go_on.wait();
    return ProcCommand{.text = hang->now ? "new" : "old"};
  };
  {
    const CommandLines lines({.for_each_process = for_each_process, .read = read},
                             std::chrono::milliseconds(10));
    while (texts_in(lines.records()) != Texts{{1, "old"}, {2, "old"}, {3, "old"}}) {
    }
    hang->next = true;
    Texts known;
    while (known[1] != "new") known = texts_in(lines.records());
    EXPECT_EQ(known, (Texts{{1, "new"}, {2, "old"}, {3, "old"}}));
    EXPECT_EQ(texts_in(lines.records()), known);
  }
  hang->go_on.count_down();
  hang->ended.wait();
}

}  // namespace
}  // namespace ktraced

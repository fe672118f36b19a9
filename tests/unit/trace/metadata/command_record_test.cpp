// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/command_record.h"

#include <gtest/gtest.h>

#include "bpf/records.h"
#include "trace/metadata/name_log.h"
#include "trace/metadata/name_table.h"

namespace ktraced {
namespace {

std::vector<std::byte> record_of(const CommandLine& command) {
  std::vector<std::byte> bytes;
  append_command_record(command, bytes);
  return bytes;
}

NameTable table_of(const std::vector<CommandLine>& commands) {
  NameTable names;
  for (const CommandLine& command : commands) {
    const auto bytes = record_of(command);
    EXPECT_TRUE(names.apply(RecordView(bytes.data())));
  }
  return names;
}

TEST(CommandRecord, IsReadAsItWasWritten) {
  for (const std::string text : {"", "x",
                                 "sh -c a\x1f"
                                 "b",
                                 "\xff\x01 '", "1234567", "12345678"}) {
    const auto bytes = record_of(
        {.pid = 7, .read_ns = 99, .start_ns = 20'000'000, .text = text, .cut = true, .parent = 3});
    EXPECT_EQ(bytes.size(), command_record_size(text.size()));
    EXPECT_EQ(bytes.size() % 8, 0U);
    const auto command = command_of(RecordView(bytes.data()));
    ASSERT_TRUE(command);
    EXPECT_EQ(command->pid, 7U);
    EXPECT_EQ(command->read_ns, 99U);
    EXPECT_EQ(command->start_ns, 20'000'000U);
    EXPECT_EQ(command->text, text);
    EXPECT_TRUE(command->cut);
    EXPECT_EQ(command->parent, 3U);
  }
}

TEST(CommandRecord, HasAtMostTheBytesOfTheArgumentsOfAnExec) {
  const auto bytes = record_of({.text = std::string(ARGV_MAX + 1, 'x')});
  EXPECT_LE(bytes.size(), RECORD_MAX);
  const auto command = command_of(RecordView(bytes.data()));
  ASSERT_TRUE(command);
  EXPECT_EQ(command->text, std::string(ARGV_MAX, 'x'));
  EXPECT_TRUE(command->cut);
  EXPECT_FALSE(command_of(RecordView(record_of({.text = std::string(ARGV_MAX, 'x')}).data()))->cut);
}

TEST(CommandRecord, IsNoOtherRecordAndNoShorterOne) {
  auto bytes = record_of({.text = "x"});
  const auto size = static_cast<u16>(sizeof(record));
  std::memcpy(bytes.data() + offsetof(record, size), &size, sizeof(size));
  EXPECT_FALSE(command_of(RecordView(bytes.data())));
  rec_metadata_task task{};
  task.h = {.ts = 0, .id = METADATA_task, .size = sizeof(task), .tid = 1};
  EXPECT_FALSE(command_of(RecordView(reinterpret_cast<const std::byte*>(&task))));
}

TEST(CommandLine, IsShownAsTheArgumentsOfAnExec) {
  EXPECT_EQ(CommandLine{.text = "sh -c a\x1f"
                                "b"}
                .shown(),
            "sh -c 'a b'");
  EXPECT_EQ((CommandLine{.text = "make", .cut = true}).shown(), "make...");
  EXPECT_EQ((CommandLine{.text = ""}).shown(), "''");
  EXPECT_EQ((CommandLine{.text = " 100"}).shown(), "'' 100");
}

TEST(CommandLine, IsOfTheProcessThatBeganInThatTick) {
  const NameTable names =
      table_of({{.pid = 7, .read_ns = 1, .start_ns = 20'000'000, .text = "old"},
                {.pid = 7, .read_ns = 2, .start_ns = 50'000'000, .text = "new"}});
  EXPECT_EQ(names.command_of(7, 20'000'000)->text, "old");
  EXPECT_EQ(names.command_of(7, 29'999'999)->text, "old");
  EXPECT_EQ(names.command_of(7, 30'000'000), nullptr);
  EXPECT_EQ(names.command_of(7, 51'000'000)->text, "new");
  EXPECT_EQ(names.command_of(7, 0)->text, "new") << "the last one";
  EXPECT_EQ(names.command_of(8, 0), nullptr);
}

TEST(CommandLine, IsTheOneThatWasReadLast) {
  const std::vector<CommandLine> commands = {{.pid = 7, .read_ns = 1, .text = "before"},
                                             {.pid = 7, .read_ns = 3, .text = "last"},
                                             {.pid = 7, .read_ns = 2, .text = "between"}};
  EXPECT_EQ(table_of(commands).command_of(7, 0)->text, "last");
  NameLog log;
  for (const CommandLine& command : commands) log.add(record_of(command));
  EXPECT_EQ(log.commands_json(),
            "{\"commands\":[\n{\"read_ns\":3,\"pid\":7,\"start_ns\":0,\"text\":\"last\"}\n]}\n");
  EXPECT_TRUE(log.last().empty()) << "the next trace reads it again";
}

TEST(CommandLine, TableIsBounded) {
  NameTable names;
  for (uint32_t pid = 1; pid <= NameTable::kMaxTasks + 10; ++pid) {
    const auto bytes = record_of({.pid = pid, .text = "x"});
    names.apply(RecordView(bytes.data()));
  }
  size_t count = 0;
  names.for_each_command([&](const CommandLine&) { ++count; });
  EXPECT_LE(count, NameTable::kMaxTasks);
  EXPECT_NE(names.command_of(NameTable::kMaxTasks + 10, 0), nullptr);
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/tracepoint_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A format file of a kernel.
std::string format_file(const std::string& name) {
  std::ifstream file(KTRACED_SOURCE_DIR "/tests/unit/kernel/data/formats/" + name + ".txt");
  return {std::istreambuf_iterator<char>(file), {}};
}

TracepointFormat parsed(const std::string& system, const std::string& text) {
  auto format = parse_tracepoint_format(system, text);
  EXPECT_TRUE(format) << format.error().message;
  return format ? std::move(*format) : TracepointFormat{};
}

const Field& field(const TracepointFormat& format, std::string_view name) {
  static const Field kNone;
  auto found = std::ranges::find(format.event.fields, name, &Field::name);
  EXPECT_NE(found, format.event.fields.end()) << name;
  return found == format.event.fields.end() ? kNone : *found;
}

// A format file with these field lines after the common ones.
std::string made_up(const std::string& fields) {
  return "name: it\nID: 7\nformat:\n"
         "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
         "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
         fields + "\nprint fmt: \"\"\n";
}

TEST(TracepointFormat, ReadsNumbersAndAStringOfVariableLength) {
  const TracepointFormat format = parsed("irq", format_file("6.18_irq_handler_entry"));
  EXPECT_EQ(format.kernel_id, 225U);
  EXPECT_EQ(format.event.name, "irq:irq_handler_entry");
  EXPECT_EQ(format.event.group, "irq");
  ASSERT_EQ(format.event.fields.size(), 2U);
  const Field& irq = field(format, "irq");
  EXPECT_EQ(irq.type, "int");
  EXPECT_EQ(irq.offset, 16U);
  EXPECT_EQ(irq.size, 4U);
  EXPECT_TRUE(irq.is_signed);
  const Field& name = field(format, "name");
  EXPECT_EQ(name.type, "char[]");
  EXPECT_EQ(name.meaning, Meaning::text);
  EXPECT_TRUE(name.located);
  EXPECT_EQ(name.offset, 20U);
  EXPECT_EQ(name.count, 0U);
  EXPECT_EQ(format.layout.fixed, 8);
  ASSERT_EQ(format.layout.located, 1);
  EXPECT_EQ(format.layout.field[0].at, 12);
  EXPECT_EQ(format.layout.field[0].relative, 0);
  EXPECT_EQ(format.event.print, R"("irq=%d name=%s", REC->irq, __get_str(name))");
}

TEST(TracepointFormat, ReadsArraysOfCharactersAsText) {
  const TracepointFormat format = parsed("block", format_file("6.18_block_rq_issue"));
  const Field& rwbs = field(format, "rwbs");
  EXPECT_EQ(rwbs.type, "char[10]");
  EXPECT_EQ(rwbs.meaning, Meaning::text);
  EXPECT_EQ(rwbs.count, 10U);
  EXPECT_EQ(rwbs.offset, 42U);
  EXPECT_EQ(field(format, "sector").size, 8U);
  EXPECT_TRUE(field(format, "cmd").located);
}

TEST(TracepointFormat, ReadsAddressesAsBytes) {
  const TracepointFormat format = parsed("sock", format_file("6.18_inet_sock_set_state"));
  const Field& address = field(format, "saddr_v6");
  EXPECT_EQ(address.size, 1U);
  EXPECT_EQ(address.count, 16U);
  EXPECT_EQ(address.meaning, Meaning::number);
  EXPECT_EQ(field(format, "skaddr").meaning, Meaning::hex);
}

TEST(TracepointFormat, RecognizesFieldsPrintedAsSymbols) {
  EXPECT_EQ(field(parsed("timer", format_file("6.18_timer_start")), "function").meaning,
            Meaning::kaddr);
  EXPECT_EQ(field(parsed("kmem", format_file("6.18_kfree")), "call_site").meaning, Meaning::kaddr);
}

TEST(TracepointFormat, OmitsSystemCallFieldsThatProgramsDoNotGet) {
  const std::string text = made_up(
      "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
      "\tfield:__data_loc char[] __filename_val;\toffset:12;\tsize:4;\tsigned:0;\n");
  EXPECT_EQ(parsed("syscalls", text).event.fields.size(), 1U);
  EXPECT_EQ(parsed("other", text).event.fields.size(), 2U);
}

TEST(TracepointFormat, ReadsSystemCalls) {
  const TracepointFormat format = parsed("syscalls", format_file("6.18_sys_enter_openat"));
  EXPECT_EQ(field(format, "filename").meaning, Meaning::hex);
  EXPECT_EQ(field(format, "filename").size, 8U);
  EXPECT_EQ(format.layout.located, 0);
}

TEST(TracepointFormat, ReadsRelativeLocationsAndSizesOfElements) {
  const TracepointFormat format =
      parsed("m", made_up("\tfield:__rel_loc u64[] v;\toffset:8;\tsize:4;\tsigned:0;\n"));
  EXPECT_EQ(format.layout.field[0].relative, 1);
  EXPECT_EQ(format.layout.field[0].size_log2, 3);
  EXPECT_EQ(field(format, "v").size, 8U);
}

TEST(TracepointFormat, ShowsOtherTypesAsBytes) {
  const TracepointFormat format =
      parsed("m", made_up("\tfield:struct thing t;\toffset:8;\tsize:12;\tsigned:0;\n"
                          "\tfield:unsigned long ips[4];\toffset:24;\tsize:32;\tsigned:0;\n"
                          "\tfield:bool yes;\toffset:56;\tsize:1;\tsigned:0;\n"));
  EXPECT_EQ(field(format, "t").size, 1U);
  EXPECT_EQ(field(format, "t").count, 12U);
  EXPECT_EQ(field(format, "ips").size, 8U);
  EXPECT_EQ(field(format, "ips").count, 4U);
  EXPECT_EQ(field(format, "yes").meaning, Meaning::boolean);
  EXPECT_EQ(format.event.size % 8, 0U);
}

TEST(TracepointFormat, RefusesFieldsThatCannotBeCopied) {
  std::string many;
  for (int i = 0; i < 9; ++i)
    many += "\tfield:__data_loc char[] f" + std::to_string(i) +
            ";\toffset:" + std::to_string(8 + 4 * i) + ";\tsize:4;\tsigned:0;\n";
  for (const auto& [text, why] : std::initializer_list<std::pair<std::string, std::string>>{
           {made_up(many), "too many fields of variable length"},
           {made_up("\tfield:char a[600];\toffset:8;\tsize:600;\tsigned:0;\n"), "too long"},
           {made_up("\tfield:int a;\toffset:x;\tsize:4;\tsigned:1;\n"), "not understood"},
           {"name: it\n", "no name or no ID"},
           {"", "no name or no ID"}}) {
    auto format = parse_tracepoint_format("m", text);
    ASSERT_FALSE(format) << text;
    EXPECT_EQ(format.error().code, ExitCode::unavailable);
    EXPECT_THAT(format.error().message, HasSubstr(why));
  }
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The kernel's print texts, on records made by hand.
#include "decoders/printfmt/print_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "decoders/text/safe_text.h"
#include "unit/support/packets.h"

namespace ktraced::test {
namespace {

// Fields of a few types, at offset 16 and on.
struct Rec {
  struct record h;
  u32 dev;
  s32 number;
  u64 address;
  u64 flags;
  char comm[16];
  u8 ip4[4];
  u16 state;
  u8 bytes[2];
  u8 ip6[16];
  u32 name_loc;
  u32 list_loc;
  char name[8];
  u32 list[2];
};

Event event() {
  auto number = [](const char* name, uint32_t offset, uint32_t size, bool is_signed = false) {
    return Field{
        .name = name, .type = "int", .offset = offset, .size = size, .is_signed = is_signed};
  };
  Event e{.id = 300, .name = "m:it", .group = "m"};
  e.fields = {
      number("dev", offsetof(Rec, dev), 4),
      number("number", offsetof(Rec, number), 4, true),
      number("address", offsetof(Rec, address), 8),
      number("flags", offsetof(Rec, flags), 8),
      {.name = "comm",
       .type = "char[16]",
       .meaning = Meaning::text,
       .offset = offsetof(Rec, comm),
       .size = 1,
       .count = 16},
      {.name = "ip4", .type = "__u8[4]", .offset = offsetof(Rec, ip4), .size = 1, .count = 4},
      number("state", offsetof(Rec, state), 2),
      {.name = "bytes", .type = "u8[2]", .offset = offsetof(Rec, bytes), .size = 1, .count = 2},
      {.name = "ip6", .type = "__u8[16]", .offset = offsetof(Rec, ip6), .size = 1, .count = 16},
      {.name = "name",
       .type = "char[]",
       .meaning = Meaning::text,
       .offset = offsetof(Rec, name_loc),
       .size = 1,
       .count = 0,
       .located = true},
      {.name = "list",
       .type = "u32[]",
       .offset = offsetof(Rec, list_loc),
       .size = 4,
       .count = 0,
       .located = true}};
  e.size = offsetof(Rec, name);
  return e;
}

Bytes some_record() {
  Rec r{};
  r.dev = 8U << 20 | 3;
  r.number = -5;
  r.address = 0xffffffff81000010;
  r.flags = 0x5;
  std::strcpy(r.comm, "bash");
  r.ip4[0] = 127, r.ip4[3] = 1;
  r.state = 3;
  r.bytes[0] = 0xab, r.bytes[1] = 1;
  r.ip6[15] = 1;
  r.name_loc = offsetof(Rec, name) | 6U << LOCATED_COUNT_SHIFT;
  r.list_loc = offsetof(Rec, list) | 2U << LOCATED_COUNT_SHIFT;
  std::strcpy(r.name, "virtio");
  r.list[0] = 1, r.list[1] = 0x20;
  return make_record(300, 1, 1, r);
}

// The text that a format prints for the record; "?" if the format is refused.
std::string printed(std::string_view print) {
  auto format = PrintFormat::parse(print, event());
  if (!format) return "?";
  const Bytes record = some_record();
  TextBuffer out;
  format->append(
      RecordView(record.data()),
      [](uint64_t address, TextBuffer& text) {
        text.append(address == 0xffffffff81000010 ? "f+0x10/0x20" : "0x0");
      },
      out);
  return std::string(out.view());
}

TEST(PrintFormat, ShowsIntegers) {
  EXPECT_EQ(
      printed(
          R"("%d %u %x %lx %5d|%-5d|%05d %+d", REC->number, REC->number, REC->number, REC->number, REC->number, REC->number, REC->number, 7)"),
      "-5 4294967291 fffffffb fffffffffffffffb    -5|-5   |-0005 +7");
  EXPECT_EQ(
      printed(R"("%#x %#llx %o %03u %.3d %hhu %c%%", REC->state, REC->flags, 8, 7, 5, 257, 65)"),
      "0x3 0x5 10 007 005 1 A%");
}

TEST(PrintFormat, CalculatesLikeC) {
  EXPECT_EQ(
      printed(
          R"("%d,%d", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) ((REC->dev) & ((1U << 20) - 1))))"),
      "8,3");
  EXPECT_EQ(printed(R"("%d %d %d %d", 2 + 3 * 4, (2 + 3) * 4, 7 / 2 % 2, -7 / 2)"), "14 20 1 -3");
  EXPECT_EQ(printed(R"("%d %d %d %d", 1 < 2 && 2 <= 2, 1 == 2 || !0, ~0, 6 & 3 | 8 ^ 1)"),
            "1 1 -1 11");
  EXPECT_EQ(printed(R"("%d %u", (char)(255), (u8)(REC->number))"), "-1 251");
  EXPECT_EQ(printed(R"("%u %u %lu", (uint)(REC->number), (ushort)(REC->number), (ulong)(7))"),
            "4294967291 65531 7");
  EXPECT_EQ(printed(R"("%d", 1 / 0)"), "0");
  EXPECT_EQ(printed(R"("%lu %lu", sizeof(u64), __builtin_expect(!!(REC->state), 1))"), "8 1");
}

TEST(PrintFormat, EvaluatesConditionalTexts) {
  EXPECT_EQ(printed(R"("%s %s", REC->number < 0 ? "below" : "above", REC->state ? REC->comm : "")"),
            "below bash");
  EXPECT_EQ(printed(R"("%10s|%-6s|%.2s", REC->comm, __get_str(name), "abc")"),
            "      bash|virtio|ab");
  EXPECT_EQ(printed(R"("a" " b=%d", REC->state)"), "a b=3");
}

TEST(PrintFormat, TakesWidthsAndPrecisionsFromArguments) {
  EXPECT_EQ(printed(R"("'%.*s' '%.*s'", REC->state, __get_str(name), 2, REC->comm)"), "'vir' 'ba'");
  EXPECT_EQ(printed(R"("%*d|%*d|%-*d|%0*d|%.*d|%*.*d", 4, 7, -4, 7, 4, 7, 4, 7, 3, 7, 5, 2, 7)"),
            "   7|7   |7   |0007|007|   07");
  EXPECT_EQ(printed(R"("%*s|%*.*s|%*c|%*pI4", 6, "ab", 3, 1, "ab", -2, 65, 10, REC->ip4)"),
            "    ab|  a|A | 127.0.0.1");
  EXPECT_EQ(printed(R"("%.*s", REC->state, 0 ? __get_str(name) : ((void *)0))"), "(nu");
  EXPECT_EQ(printed(R"("%.*s.", 0, ((void *)0))"), ".");
}

TEST(PrintFormat, BoundsWidthsAndPrecisionsFromArguments) {
  const std::string most = std::to_string(INT32_MAX), least = std::to_string(INT32_MIN);
  // As in C, a negative precision is none. Precisions beyond the field end with the field.
  for (const std::string& precision : {std::string("-1"), least, most, std::string("7")})
    EXPECT_EQ(printed("\"%.*s\", " + precision + ", __get_str(name)"), "virtio") << precision;
  EXPECT_EQ(printed(R"("%.*s", REC->number, REC->comm)"), "bash");
  EXPECT_EQ(printed(R"("%.*s|%.*s", 4294967297, REC->comm, REC->comm, REC->comm)"), "b|");
  EXPECT_EQ(printed("\"%*d\", " + most + ", 7"), std::string(8191, ' ') + "7");
  EXPECT_EQ(printed("\"%*d\", " + least + ", 7"), "7" + std::string(8191, ' '));
  EXPECT_EQ(printed("\"%.*d\", " + most + ", 7"), std::string(8191, '0') + "7");
  EXPECT_EQ(printed("\"%.*d\", " + least + ", 7"), "7");
}

TEST(PrintFormat, CutsTextsBeforeEscapingThem) {
  EXPECT_EQ(printed(R"("%.1s|%.*s|%.4s", "\n\n", 2, "a\n\n", "a\nbcd")"),
            printable("\n") + "|" + "a" + printable("\n") + "|a" + printable("\n") + "bc");
}

TEST(PrintFormat, ListsBits) {
  EXPECT_EQ(printed(R"("%*pbl|%*pbl", 16, REC->bytes, (1 << 10), REC->bytes)"),
            "0-1,3,5,7-8|0-1,3,5,7-8");
  EXPECT_EQ(printed(R"("%*pbl|%6pbl|%pbl|%*pbl", 8, REC->bytes, REC->bytes, REC->bytes, -1, 3)"),
            "0-1,3,5,7|0-1,3,5||");
}

TEST(PrintFormat, NamesFlagsAndSymbols) {
  EXPECT_EQ(printed(R"("%s", __print_flags(REC->flags, "|", { 1, "A" }, { 2, "B" }))"), "A|0x4");
  EXPECT_EQ(printed(R"("%s", __print_flags(REC->flags & 0, "|", { 1, "A" }))"), "");
  EXPECT_EQ(
      printed(
          R"("%s %s", __print_symbolic(REC->state, { 3, "three" }), __print_symbolic(REC->state, { (1 << 1), "two" }))"),
      "three 0x3");
}

TEST(PrintFormat, ShowsPointersAndAddresses) {
  EXPECT_EQ(
      printed(
          R"("%pS %ps %p %px", (void *)REC->address, (void *)REC->address, (void *)REC->address, REC->address)"),
      "f+0x10/0x20 f ffffffff81000010 ffffffff81000010");
  EXPECT_EQ(printed(R"("%pI4 %pI6c %pI6", REC->ip4, REC->ip6, &REC->ip6)"),
            "127.0.0.1 ::1 0000:0000:0000:0000:0000:0000:0000:0001");
}

TEST(PrintFormat, ShowsArrays) {
  EXPECT_EQ(printed(R"("%s %s", __print_hex(REC->bytes, 2), __print_hex_str(REC->bytes, 2))"),
            "ab 01 ab01");
  EXPECT_EQ(
      printed(
          R"("%s %d", __print_array(__get_dynamic_array(list), 2, 4), __get_dynamic_array_len(list))"),
      "{0x1,0x20} 8");
}

TEST(PrintFormat, ShowsElementsOfArrays) {
  EXPECT_EQ(
      printed(R"("%02x:%02x %u %c", REC->bytes[0], REC->bytes[2 - 1], REC->ip4[3], REC->comm[1])"),
      "ab:01 1 a");
  EXPECT_EQ(
      printed(
          R"("%d %d %d %d", REC->bytes[2], REC->bytes[-1], REC->ip4[1 << 31], REC->bytes[REC->address])"),
      "0 0 0 0");
}

TEST(PrintFormat, IsRefusedWhenAnyPartIsUnknown) {
  for (const char* print : {"",
                            "REC->state",
                            R"("%d")",
                            R"("%d", REC->nothing)",
                            R"("%d", f(REC->state))",
                            R"("%d", (REC->state)",
                            R"("%q", 1)",
                            R"("%pX", 1)",
                            R"("%", 1)",
                            R"("%d", 1, 2)",
                            R"("%s", __print_flags(REC->flags))",
                            R"("%s", __print_symbolic(REC->state, 3))",
                            R"("%d", SOME_CONSTANT)",
                            R"("%*d", 1)",
                            R"("%.*s", 1)",
                            R"("%*.*d", 1, 2)",
                            R"("%*d", REC->nothing, 1)",
                            R"("%.*s", f(1), REC->comm)",
                            R"("%**d", 1, 2, 3)",
                            R"("%.*s", 1, REC->comm, 2)",
                            R"("%*pb", 8, REC->bytes)",
                            R"("unfinished)"})
    EXPECT_EQ(printed(print), "?") << print;
}

// `text` `count` times.
std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

TEST(PrintFormat, IsRefusedWhenItWouldExhaustTheStack) {
  constexpr size_t kMany = 100'000;
  EXPECT_EQ(printed("\"%d\", " + repeated("(", kMany) + "1" + repeated(")", kMany)), "?");
  for (const char* part :
       {"!", "-", "~", "& ", "(int)", "1 ? 2 : ", "1 + ", "1 * ", "1 == (", "REC->bytes["})
    EXPECT_EQ(printed("\"%d\", " + repeated(part, kMany) + "1"), "?") << part;
}

TEST(PrintFormat, AcceptsLongExpressions) {
  EXPECT_EQ(printed("\"%d\", " + repeated("1 + ", 200) + "1"), "201");
  EXPECT_EQ(printed("\"%d\", " + repeated("!", 100) + "1"), "1");
  EXPECT_EQ(printed("\"%d\", " + repeated("(", 40) + "7" + repeated(")", 40)), "7");
}

TEST(PrintFormat, ShowsMissingValuesAsEmpty) {
  auto format =
      PrintFormat::parse(R"("%d %s %s", REC->state, __get_str(name), REC->comm)", event());
  ASSERT_TRUE(format);
  const Bytes record = bare_record(1, 300);
  TextBuffer out;
  format->append(RecordView(record.data()), [](uint64_t, TextBuffer&) {}, out);
  EXPECT_EQ(out.view(), "0  ");
}

}  // namespace
}  // namespace ktraced::test

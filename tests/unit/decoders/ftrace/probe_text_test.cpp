// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/ftrace/probe_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/json/json_decoder.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using testing::HasSubstr;

constexpr uint16_t kId = 300;

Field field(std::string name, std::string type, Meaning meaning, uint32_t offset, uint32_t size,
            uint32_t count = 1) {
  return {.name = std::move(name),
          .type = std::move(type),
          .meaning = meaning,
          .offset = offset,
          .size = size,
          .count = count,
          .is_signed = false,
          .located = false,
          .doc = {}};
}

// A probe at the entry with a value of each kind, and one at the return.
class ProbeTextTest : public DecoderTest {
 protected:
  ProbeTextTest() {
    Event entry{.id = kId, .name = "kprobes:open", .group = "kprobes", .doc = {}, .fields = {}};
    entry.fields = {field("__probe_ip", "kaddr_t", Meaning::kaddr, 16, 8),
                    field("dfd", "s32", Meaning::number, 24, 4),
                    field("path", "char[]", Meaning::text, 28, 1, 0),
                    field("mask", "x16", Meaning::hex, 32, 2),
                    field("letter", "char", Meaning::text, 34, 1),
                    field("bytes", "u8[3]", Meaning::number, 35, 1, 3),
                    field("__probe_failed", "u64", Meaning::failed_fields, 40, 8)};
    entry.fields[1].is_signed = true;
    entry.fields[2].located = true;
    entry.size = 48;
    schema_.add(entry);
    Event at_return{
        .id = kId + 1, .name = "kprobes:openret", .group = "kprobes", .doc = {}, .fields = {}};
    at_return.fields = {field("__probe_func", "kaddr_t", Meaning::kaddr, 16, 8),
                        field("__probe_ret_ip", "kaddr_t", Meaning::kaddr, 24, 8),
                        field("ret", "u64", Meaning::number, 32, 8)};
    at_return.size = 40;
    schema_.add(at_return);
  }

  static Bytes entry_record(uint64_t failed) {
    struct Fixed {
      struct record h;
      uint64_t ip;
      int32_t dfd;
      uint32_t path;
      uint16_t mask;
      char letter;
      uint8_t bytes[3];
      uint8_t hole[2];
      uint64_t failed;
      char text[8];
    } fixed{.h = {.ts = kTs, .id = kId, .size = sizeof(Fixed), .tid = 3352},
            .ip = kCallSite,
            .dfd = -100,
            .path = 48U | 5U << LOCATED_COUNT_SHIFT,
            .mask = 0xbeef,
            .letter = 'k',
            .bytes = {1, 2, 3},
            .hole = {},
            .failed = failed,
            .text = "/etc"};
    static_assert(sizeof(Fixed) == 56);
    Bytes bytes(sizeof(fixed));
    std::memcpy(bytes.data(), &fixed, sizeof(fixed));
    return bytes;
  }
  std::string text(const Bytes& record) {
    FtraceDecoder decoder(sources());
    return decode(decoder, record);
  }
  std::string as_json(const Bytes& record) {
    JsonDecoder decoder(sources());
    return decode(decoder, record);
  }
};

TEST_F(ProbeTextTest, PrintsAHitLikeTheKernel) {
  EXPECT_THAT(text(entry_record(0)),
              HasSubstr(": open: (load_elf_binary+0x2a/0x10f0) dfd=-100 path=\"/etc\" mask=0xbeef "
                        "letter='k' bytes={1,2,3}\n"));
}

TEST_F(ProbeTextTest, PrintsUnreadableValuesAsFaults) {
  EXPECT_THAT(text(entry_record(1U << 2 | 1U << 5)),
              HasSubstr("dfd=-100 path=(fault) mask=0xbeef letter='k' bytes=(fault)\n"));
  const std::string json = as_json(entry_record(1U << 2));
  EXPECT_THAT(json, HasSubstr(R"("path":null,"mask":"0xbeef")"));
  EXPECT_THAT(json, Not(HasSubstr("__probe_failed")));
  EXPECT_THAT(as_json(entry_record(0)), HasSubstr(R"("path":"/etc")"));
}

TEST_F(ProbeTextTest, PrintsReturnAddressAndFunctionAtReturn) {
  struct {
    struct record h;
    uint64_t function, to, ret;
  } fixed{.h = {.ts = kTs, .id = kId + 1, .size = 40, .tid = 3352},
          .function = kCallSite,
          .to = 0xffffffff80000010,
          .ret = 3};
  Bytes bytes(sizeof(fixed));
  std::memcpy(bytes.data(), &fixed, sizeof(fixed));
  EXPECT_THAT(text(bytes),
              HasSubstr(": openret: (0xffffffff80000010 <- load_elf_binary+0x2a/0x10f0) ret=3\n"));
}

TEST_F(ProbeTextTest, IgnoresEventsThatAreNoProbes) {
  for (const Event& event : schema_.events())
    EXPECT_EQ(ProbeText::of(event).has_value(), event.id >= kId) << event.name;
}

}  // namespace
}  // namespace ktraced::test

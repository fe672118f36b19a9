// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/event_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/json/json_decoder.h"
#include "decoders/symbols/frame_namer.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using nlohmann::json;

constexpr stack_numbers kBoth{.kernel = 0x8000000000000001, .user = 0x8000000000000002};

class EventStacksTest : public DecoderTest {
 protected:
  EventStacksTest() {
    add({.number = kBoth.kernel, .frames = {kCallSite, kFunction, 0xffffffff81999999}});
    add({.number = kBoth.user,
         .kind = STACK_USER,
         .end = STACK_BROKEN,
         .frames = {0x7f0000001234}});
  }
  void add(const StackSpec& spec) {
    const Bytes bytes = stack_record_of(1, spec);
    all_.add(RecordView(bytes.data()));
  }
  void name_bash_in_file() {
    constexpr uint64_t kFile = 0x8000000000000011;
    const Bytes mapping = mapping_record_of(
        1, {.tgid = 3350, .start = 0x7f0000001000, .end = 0x7f0000002000, .file = kFile});
    all_.add(RecordView(mapping.data()));
    all_.add(MappedFile{.number = kFile, .path = "/nowhere/bash", .build_id = "0123"});
  }
  DecoderSources with_frames() {
    DecoderSources all = sources();
    all.stacks = &stacks_;
    return all;
  }

  TraceStacks all_;
  FrameNames files_{{.debug_files = {.directory = "/nowhere"}}};
  EventStacks stacks_{
      all_, frame_namer([this](uint64_t address) { return symbols_.resolve(address); }, files_)};
  const Bytes record_ =
      by_bash(EVENT_kfree, rec_kfree{.call_site = kCallSite, .ptr = kHeapPointer});
};

TEST_F(EventStacksTest, AreBelowTheLineOfTheEvent) {
  FtraceDecoder decoder(with_frames());
  const std::string line = decode(decoder, record_);
  EXPECT_EQ(decode(decoder, with_stacks(record_, kBoth)),
            line +
                "<stack trace>\n"
                "=> load_elf_binary (ffffffff81234567)\n"
                "=> do_sys_openat2 (ffffffff81230000)\n"
                "=> [0xffffffff81999999]\n"
                "<user stack trace>\n"
                "=> [0x7f0000001234]\n"
                "=> [ended early: no frame pointer]\n");
  EXPECT_EQ(decode(decoder, with_stacks(record_, {.kernel = 0x8000000000000009, .user = 0})),
            line + "<stack trace>\n=> [frames not in the trace]\n");
}

TEST_F(EventStacksTest, AreNotShownUnlessTheyAreAskedFor) {
  FtraceDecoder decoder(sources());
  EXPECT_EQ(decode(decoder, with_stacks(record_, kBoth)), decode(decoder, record_));
}

TEST_F(EventStacksTest, AreMembersOfJson) {
  JsonDecoder numbers(sources());
  const json plain = json::parse(decode(numbers, record_));
  EXPECT_FALSE(plain.contains("kernel_stack"));
  const json numbered = json::parse(decode(numbers, with_stacks(record_, kBoth)));
  EXPECT_EQ(numbered["kernel_stack"], "0x8000000000000001");
  EXPECT_EQ(numbered["user_stack"], "0x8000000000000002");
  EXPECT_EQ(numbered["args"], plain["args"]);
  EXPECT_FALSE(numbered.contains("kernel_frames"));

  JsonDecoder frames(with_frames());
  const json all = json::parse(decode(frames, with_stacks(record_, kBoth)));
  EXPECT_EQ(all["kernel_frames"],
            (json{{{"address", "0xffffffff81234567"}, {"function", "load_elf_binary"}},
                  {{"address", "0xffffffff81230000"}, {"function", "do_sys_openat2"}},
                  {{"address", "0xffffffff81999999"}, {"function", "[0xffffffff81999999]"}}}));
  EXPECT_EQ(all["user_frames"],
            (json{{{"address", "0x7f0000001234"}, {"function", "[0x7f0000001234]"}},
                  {{"function", "[ended early: no frame pointer]"}}}));
  const json one =
      json::parse(decode(frames, with_stacks(record_, {.kernel = 0, .user = kBoth.user})));
  EXPECT_FALSE(one.contains("kernel_stack"));
  EXPECT_FALSE(one.contains("kernel_frames"));
}

TEST_F(EventStacksTest, HaveTheFileOfAFrame) {
  name_bash_in_file();
  FtraceDecoder text(with_frames());
  const Bytes record = with_stacks(record_, {.kernel = 0, .user = kBoth.user});
  EXPECT_THAT(decode(text, record), ::testing::HasSubstr("=> bash+0x234 (7f0000001234)\n"));
  JsonDecoder frames(with_frames());
  EXPECT_EQ(json::parse(decode(frames, record))["user_frames"][0],
            (json{{"address", "0x7f0000001234"},
                  {"function", "bash+0x234"},
                  {"file", "/nowhere/bash"},
                  {"offset", "0x234"},
                  {"build_id", "0123"}}));
}

TEST(FrameNamer, SplitsSymbols) {
  EXPECT_EQ(frame_of_symbol("schedule+0x2a/0x90"), (FrameText{"schedule", ""}));
  EXPECT_EQ(frame_of_symbol("ext4_read+0x1/0x2 [ext4]"), (FrameText{"ext4_read", "ext4"}));
  EXPECT_EQ(frame_of_symbol("ext4_read [ext4]"), (FrameText{"ext4_read", "ext4"}));
  EXPECT_EQ(frame_of_symbol("schedule"), (FrameText{"schedule", ""}));
}

}  // namespace
}  // namespace ktraced::test

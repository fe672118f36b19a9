// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/ftrace/ftrace_decoder.h"

#include <gtest/gtest.h>

#include <regex>

#include "schema/names.h"
#include "trace/packet/field_value.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

class FtraceDecoderTest : public DecoderTest {
 protected:
  std::string line(const Bytes& record, uint32_t cpu = 2) {
    FtraceDecoder decoder(sources());
    return decode(decoder, record, cpu);
  }
};

TEST_F(FtraceDecoderTest, WritesSpecialValuesLikeTheKernel) {
  const std::map<std::string, std::string> expected{
      {"sched_switch",
       "prev_comm=bash prev_pid=3352 prev_prio=120 prev_state=S ==> next_comm=swapper/2 "
       "next_pid=0 next_prio=120"},
      {"sched_wakeup", "comm=nginx pid=812 prio=-1 target_cpu=006"},
      {"sched_process_fork", "comm=bash pid=3352 child_comm=make child_pid=4000"},
      {"sched_process_exec",
       "filename=/usr/bin/make pid=3352 old_pid=3353 parent_pid=812 argv=make -j4"},
      {"sched_process_exit",
       "comm=bash pid=3352 prio=120 group_dead=true exit_code=768 status=exit 3"},
      {"task_rename", "pid=3352 oldcomm=bash newcomm=make oom_score_adj=-17"},
      {"kmalloc",
       "call_site=load_elf_binary+0x2a/0x10f0 ptr=ffff888104c5a000 bytes_req=500 bytes_alloc=512 "
       "gfp_flags=GFP_KERNEL|__GFP_ZERO node=-1 accounted=false"},
      {"kfree", "call_site=0xffffffff81234568 ptr=ffff888104c5a000"},
      {"kmem_cache_alloc",
       "call_site=load_elf_binary+0x2a/0x10f0 ptr=ffff888104c5a000 name=dentry bytes_req=192 "
       "bytes_alloc=192 gfp_flags=GFP_KERNEL_ACCOUNT node=0"},
      {"kmem_cache_free",
       "call_site=load_elf_binary+0x2a/0x10f0 ptr=ffff888104c5a000 name=0000000000001234"},
      {"mm_page_alloc", "page=ffffea0004131680 order=1 migratetype=-1 gfp_flags=none"},
      {"mm_page_free", "page=0000000000000000 order=10"},
      {"sys_enter", "NR 257 (ffffffffffffff9c, 7f00, 2, 0, 0, 1)"},
      {"sys_exit", "NR 257 = -2"},
      {"signal_generate", "sig=10 errno=0 code=0 comm=nginx pid=812 grp=1 res=0"},
      {"signal_deliver", "sig=11 errno=2 code=1 sa_handler=0 sa_flags=14000000"},
  };
  const auto records = special_records();
  for (const auto& [event, text] : expected)
    EXPECT_EQ(line(records.at(event)),
              "            bash-3352    [002] ..... 18440.883932: " + event + ": " + text + "\n");
}

TEST_F(FtraceDecoderTest, HasTheContextAmongTheFlags) {
  const Bytes record = special_records().at("mm_page_free");
  const auto flags = [&](record_context context) {
    return line(in_context(context, record)).substr(31, 5);
  };
  EXPECT_EQ(flags(CONTEXT_TASK), ".....");
  EXPECT_EQ(flags(CONTEXT_SOFTIRQ), "..s..");
  EXPECT_EQ(flags(CONTEXT_HARDIRQ), "..h..");
  EXPECT_EQ(flags(CONTEXT_HARDIRQ_IN_SOFTIRQ), "..H..");
  EXPECT_EQ(flags(CONTEXT_NMI), "..z..");
}

// What a value of a sample record is shown as in a form of FTRACE: a regular expression. The forms
// of flags and states are in WritesSpecialValuesLikeTheKernel.
std::string value_shown_as(const Field& field, std::string_view form, uint64_t value) {
  if (form == "comm") return "bash";
  if (form == "03") return fmt::format("{:03}", static_cast<int64_t>(value));
  if (form == "hex") return fmt::format("{:x}", value);
  if (form == "pointer") return fmt::format("{:016x}", value);
  if (form == "symbol") return fmt::format("{:#x}", value);
  if (form == "truth") return "true";
  if (form == "status") return exit_code_text(static_cast<int32_t>(value));
  if (form == "accounted") return (value & 0x400000) != 0 ? "true" : "false";
  switch (field.meaning) {
    case Meaning::gfp_flags:
    case Meaning::task_state:
      return "[A-Za-z_0-9|+]+";
    case Meaning::kaddr:
    case Meaning::hex:
    case Meaning::clone_flags:
      return fmt::format("{:#x}", value);
    case Meaning::slab_cache:
      return fmt::format("{:016x}", value);
    default:
      return field.is_signed ? fmt::format("{}", static_cast<int64_t>(value))
                             : fmt::format("{}", value);
  }
}

std::string shown_as(const Field& field, std::string_view form, RecordView record) {
  if (field.meaning == Meaning::text) return std::string(text_of(field, record));
  std::string text;
  for (size_t i = 0; i < field.count; ++i)
    text += (i == 0 ? "" : ", ") + value_shown_as(field, form, *integer_of(field, record, i));
  return text;
}

// The text of a sample record as its tag FTRACE says: a regular expression.
std::string text_by_tag(const Event& event, RecordView record) {
  static const std::regex kPlace(R"(\{(\w+):?(\w*)\})"), kSpecial(R"([.^$|()\[\]*+?\\])");
  std::string text;
  auto at = event.ftrace.begin();
  const auto add_literal = [&](auto end) {
    text += std::regex_replace(std::string(at, end), kSpecial, R"(\$&)");
  };
  for (std::sregex_iterator place(event.ftrace.begin(), event.ftrace.end(), kPlace), last;
       place != last; ++place) {
    add_literal((*place)[0].first);
    at = (*place)[0].second;
    const auto field = std::ranges::find(event.fields, (*place)[1].str(), &Field::name);
    if (field == event.fields.end()) return "no field " + (*place)[1].str();
    text += shown_as(*field, (*place)[2].str(), record);
  }
  add_literal(event.ftrace.end());
  return text;
}

TEST_F(FtraceDecoderTest, WritesEveryEventAsItsTagSays) {
  for (const Event& event : schema_.events()) {
    EXPECT_TRUE(parse_format(event.ftrace, event)) << event.name << ": " << event.ftrace;
    const Bytes record = sample_record(event, 3352);
    const std::string text = line(record);
    const std::string head =
        "            bash-3352    [002] ..... 18440.883932: " + event.name + ": ";
    ASSERT_TRUE(text.starts_with(head)) << text;
    EXPECT_EQ(text.find_first_of("{}"), std::string::npos) << text;
    const std::string expected = text_by_tag(event, RecordView(record.data())) + "\n";
    EXPECT_TRUE(event.ftrace.empty() ||
                std::regex_match(text.substr(head.size()), std::regex(expected)))
        << text << " is not " << expected;
  }
}

TEST_F(FtraceDecoderTest, NamesFlagsWhenRequested) {
  struct Newtask {
    record h;
    s32 pid;
    s32 unused;
    u64 clone_flags;
  };
  const auto number = [](const char* name, uint32_t offset, uint32_t size) {
    return Field{.name = name, .type = "int", .offset = offset, .size = size};
  };
  schema_.add({.id = 310,
               .name = "task:task_newtask",
               .group = "task",
               .fields = {number("pid", 16, 4), number("clone_flags", 24, 8)},
               .size = 32,
               .print = R"("pid=%d clone_flags=%lx", REC->pid, REC->clone_flags)"});
  const auto text = [&](const Bytes& record, bool names) {
    FtraceDecoder decoder(sources(), names);
    const std::string line = decode(decoder, record);
    return line.substr(line.find(": ") + 2);
  };
  const Bytes newtask = by_bash(310, Newtask{.pid = 7, .clone_flags = 0x1200000});
  EXPECT_EQ(text(newtask, false), "task_newtask: pid=7 clone_flags=1200000\n");
  EXPECT_EQ(text(newtask, true),
            "task_newtask: pid=7 clone_flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID\n");
  EXPECT_EQ(text(by_bash(310, Newtask{.pid = 7}), true), "task_newtask: pid=7 clone_flags=0\n");
  EXPECT_EQ(text(special_records().at("signal_deliver"), true),
            "signal_deliver: sig=SIGSEGV errno=ENOENT code=SEGV_MAPERR sa_handler=0 "
            "sa_flags=SA_RESTORER|SA_RESTART\n");
  EXPECT_EQ(text(by_bash(EVENT_signal_deliver, rec_signal_deliver{{}, 9, 0, 0, 0, 0}), true),
            "signal_deliver: sig=SIGKILL errno=0 code=SI_USER sa_handler=0 sa_flags=0\n");
}

TEST_F(FtraceDecoderTest, SaysOnceHowAThreadEnded) {
  for (const bool names : {false, true}) {
    FtraceDecoder decoder(sources(), names);
    const auto end = [&](int32_t code) {
      const std::string text = decode(
          decoder, by_bash(EVENT_sched_process_exit, rec_sched_process_exit{.exit_code = code}));
      return text.substr(text.find("exit_code="));
    };
    EXPECT_EQ(end(0), "exit_code=0 status=exit 0\n");
    EXPECT_EQ(end(3 << 8), "exit_code=768 status=exit 3\n");
    EXPECT_EQ(end(9), "exit_code=9 status=SIGKILL\n");
  }
}

// As for traces of versions that did not store the format.
TEST_F(FtraceDecoderTest, ShowsAnEventWithoutFormatAsNamesAndValues) {
  Event kfree = *schema_.find("kfree");
  for (const char* format : {"", "ptr={ptr:form_invented_later}", "ptr={no_such_field}", "{ptr"}) {
    kfree.ftrace = format;
    schema_.add(kfree);
    EXPECT_TRUE(line(special_records().at("kfree"))
                    .ends_with(": kfree: call_site=0xffffffff81234568 ptr=0xffff888104c5a000\n"));
  }
}

TEST_F(FtraceDecoderTest, WritesLinesThatPerfettoReads) {
  // The expression of Perfetto's importer of ftrace text.
  const std::regex importer(
      R"(-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*([a-zA-Z.]{3}[0-9a-f.]{1,2}\s*)?(\d+\.\d+):\s+(\S+):)");
  learn(task_name(7654321, 1, 1, "0123456789abcdef"));
  auto records = all_records();
  records.push_back(make_record(EVENT_kfree, 5, 7654321, rec_kfree{}));  // a long name
  records.push_back(make_record(EVENT_kfree, 5, 0, rec_kfree{}));        // the idle task
  for (const Bytes& record : records) {
    for (uint32_t cpu : {0U, 7U, 1023U})
      EXPECT_TRUE(std::regex_search(line(record, cpu), importer)) << line(record, cpu);
  }
}

TEST_F(FtraceDecoderTest, BeginsWithTheKernelsHeader) {
  FtraceDecoder decoder(sources());
  TextBuffer out;
  decoder.header(out);
  EXPECT_TRUE(out.view().starts_with("# tracer: nop\n#\n"));
  EXPECT_NE(out.view().find("#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"),
            std::string_view::npos);
}

TEST_F(FtraceDecoderTest, AlignsShortAndLongNamesAndTimes) {
  EXPECT_EQ(line(make_record(EVENT_mm_page_free, 1500, 0, rec_mm_page_free{})),
            "          <idle>-0       [002] .....     0.000002: mm_page_free: "
            "page=0000000000000000 order=0\n");
  EXPECT_EQ(line(make_record(EVENT_mm_page_free, 999999500, 99, rec_mm_page_free{})),
            "           <...>-99      [002] .....     1.000000: mm_page_free: "
            "page=0000000000000000 order=0\n");
}

TEST_F(FtraceDecoderTest, ShowsStatesLikeTheKernel) {
  auto state = [&](uint32_t value) {
    std::string text = line(by_bash(EVENT_sched_switch, rec_sched_switch{.prev_state = value}));
    size_t from = text.find("prev_state=") + 11;
    return text.substr(from, text.find(' ', from) - from);
  };
  EXPECT_EQ(state(0), "R");
  EXPECT_EQ(state(0x100), "R+");
  EXPECT_EQ(state(2), "D");
  EXPECT_EQ(state(0x80), "I");
  EXPECT_EQ(state(0x22), "D|Z");
}

TEST_F(FtraceDecoderTest, EscapesLineEndsAndControlCharactersInNames) {
  for (const char* name : {"a\nb-1 [0] x", "\x1b[2J", "\xc2\x9b[2J", "\x7f\r\b"}) {
    learn(task_name(3352, 1, 3350, name));
    for (const Bytes& record : {rename_record(name, "x"), exec_record(name)}) {
      std::string text = line(record);
      EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
      EXPECT_EQ(text.find_first_of("\x1b\x7f\r\b"), std::string::npos);
      EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
    }
  }
  EXPECT_NE(line(rename_record("caf\xc3\xa9", "x")).find("oldcomm=caf\xc3\xa9 "),
            std::string::npos);
  EXPECT_NE(line(rename_record("a\nb\xff", "x")).find(R"(oldcomm=a\x0ab\xff )"), std::string::npos);
}

TEST_F(FtraceDecoderTest, ShowsOtherEventsAsNamesAndValues) {
  schema_.add(
      {.id = 300,
       .name = "my_probe",
       .group = "kprobes",
       .doc = "",
       .fields =
           {{.name = "dfd", .type = "s32", .offset = 16, .size = 4, .is_signed = true},
            {.name = "flags", .type = "hex_t", .meaning = Meaning::hex, .offset = 24, .size = 8},
            {.name = "where",
             .type = "kaddr_t",
             .meaning = Meaning::kaddr,
             .offset = 32,
             .size = 8}},
       .size = 40});
  struct {
    record h;
    s32 dfd = -100;
    u32 pad = 0;
    u64 flags = 0x8000, where = kCallSite;
  } hit;
  EXPECT_EQ(line(by_bash(300, hit)),
            "            bash-3352    [002] ..... 18440.883932: my_probe: dfd=-100 flags=0x8000 "
            "where=load_elf_binary+0x2a/0x10f0\n");
  EXPECT_EQ(line(bare_record(kTs, 1999, 3352)),
            "            bash-3352    [002] ..... 18440.883932: event_1999: \n");
}

TEST_F(FtraceDecoderTest, ShowsAnEventGenericallyWhenItsFieldsChanged) {
  schema_.add({.id = EVENT_kfree,
               .name = "kfree",
               .group = "kmem",
               .doc = "",
               .fields = {{.name = "pointer", .type = "u64", .offset = 16, .size = 8}},
               .size = 24});
  EXPECT_NE(line(by_bash(EVENT_kfree, rec_kfree{.call_site = 77})).find(": kfree: pointer=77\n"),
            std::string::npos);
}

TEST_F(FtraceDecoderTest, WritesLossesLikeTheKernel) {
  FtraceDecoder decoder(sources());
  EXPECT_EQ(decode_loss(decoder, {.ts = 1, .cpu = 2, .event_id = EVENT_kmalloc, .count = 123}),
            "CPU:2 [LOST 123 EVENTS]\n");
}

TEST_F(FtraceDecoderTest, ShowsTheReadablePartOfShortRecords) {
  for (const Bytes& record : all_records()) {
    Bytes cut = record;
    u16 size = sizeof(struct record) + 8;
    std::memcpy(cut.data() + offsetof(struct record, size), &size, sizeof(size));
    cut.resize(size);
    EXPECT_TRUE(line(cut).ends_with('\n')) << line(record);
  }
}

TEST(FtraceFormat, IsRefusedWhenItDoesNotMatchTheEvent) {
  Event event;
  event.fields.push_back({.name = "pid", .type = "s32", .offset = 16, .size = 4});
  EXPECT_TRUE(parse_format("pid={pid} comm={pid:comm} {pid:03}", event));
  EXPECT_TRUE(parse_format("", event));
  EXPECT_FALSE(parse_format("{tid}", event));
  EXPECT_FALSE(parse_format("{pid:unheard_of}", event));
  EXPECT_FALSE(parse_format("{pid", event));
}

}  // namespace
}  // namespace ktraced::test

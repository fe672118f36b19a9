// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/json/json_decoder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/coverage/call_result.h"
#include "schema/annotations.h"
#include "trace/packet/field_value.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class JsonDecoderTest : public DecoderTest {
 protected:
  std::string line(const Bytes& record) { return decode(decoder_, record); }
  json args(const Bytes& record) { return json::parse(line(record))["args"]; }

  JsonDecoder decoder_{sources()};
};

// A line of an event by bash with these arguments.
std::string by_bash_line(std::string_view event, std::string_view args) {
  return fmt::format(
      R"({{"ts":18440883932456,"cpu":2,"pid":3350,"tid":3352,"comm":"bash","event":"{}","args":{{{}}}}})"
      "\n",
      event, args);
}

// JSON is also printed on terminals.
TEST_F(JsonDecoderTest, EscapesTerminalControlCharacters) {
  const std::string written = line(make_record(
      EVENT_task_rename, 1, 3352,
      rec_task_rename{.pid = 3352, .oldcomm = "a\u009b\x7f\x1b", .newcomm = "\u202e\u2028"}));
  EXPECT_NE(written.find(R"("oldcomm":"a\u009b\u007f\u001b","newcomm":"\u202e\u2028")"),
            std::string::npos)
      << written;
}

TEST_F(JsonDecoderTest, HasTheContextWhereItIsKnown) {
  const Bytes record = make_record(EVENT_kfree, 1, 3352, rec_kfree{});
  EXPECT_FALSE(json::parse(line(record)).contains("context"));
  EXPECT_EQ(json::parse(line(in_context(CONTEXT_TASK, record)))["context"], "task");
  EXPECT_EQ(json::parse(line(in_context(CONTEXT_SOFTIRQ, record)))["context"], "softirq");
  EXPECT_EQ(json::parse(line(in_context(CONTEXT_HARDIRQ_IN_SOFTIRQ, record)))["context"],
            "hardirq");
}

// The names of values: threads, states, flags, errors and so on.
TEST_F(JsonDecoderTest, AnnotatesValues) {
  const std::map<std::string, std::string> expected{
      {"sched_switch",
       R"("prev_pid":3352,"prev_comm":"bash","prev_prio":120,"prev_state":1,"prev_state_name":"S",)"
       R"("next_pid":0,"next_comm":"swapper/2","next_prio":120)"},
      {"sched_wakeup", R"("pid":812,"comm":"nginx","prio":-1,"target_cpu":6)"},
      {"sched_process_fork",
       R"("parent_pid":3352,"parent_comm":"bash","child_pid":4000,"child_comm":"make",)"
       R"("child_tgid":4000,"child_tgid_comm":"make")"},
      {"sched_process_exec",
       R"("pid":3352,"comm":"bash","old_pid":3353,"parent_pid":812,"parent_comm":"nginx","argv":"make -j4","filename":"/usr/bin/make")"},
      {"sched_process_exit",
       R"("pid":3352,"comm":"bash","prio":120,"exit_code":768,"exit_status":3,"group_dead":true)"},
      {"task_rename",
       R"("pid":3352,"comm":"bash","oom_score_adj":-17,"oldcomm":"bash","newcomm":"make")"},
      {"kmalloc",
       R"("call_site":"0xffffffff81234567","call_site_symbol":"load_elf_binary+0x2a/0x10f0",)"
       R"("ptr":"0xffff888104c5a000","bytes_req":500,"bytes_alloc":512,)"
       R"("gfp_flags":3520,"gfp_flags_names":"GFP_KERNEL|__GFP_ZERO","node":-1,"page_node":0)"},
      {"kfree", R"("call_site":"0xffffffff81234568","ptr":"0xffff888104c5a000")"},
      {"kmem_cache_alloc",
       R"("call_site":"0xffffffff81234567","call_site_symbol":"load_elf_binary+0x2a/0x10f0",)"
       R"("ptr":"0xffff888104c5a000","name":"dentry","bytes_req":192,"bytes_alloc":192,)"
       R"("gfp_flags":4197568,"gfp_flags_names":"GFP_KERNEL_ACCOUNT","node":0,"page_node":0)"},
      {"kmem_cache_free",
       R"("call_site":"0xffffffff81234567","call_site_symbol":"load_elf_binary+0x2a/0x10f0",)"
       R"("ptr":"0xffff888104c5a000","name":"0x1234")"},
      {"mm_page_alloc",
       R"("page":"0xffffea0004131680","gfp_flags":0,"gfp_flags_names":"none","order":1,)"
       R"("migratetype":-1,"page_node":0)"},
      {"mm_page_free", R"("page":"0x0","order":10)"},
      {"sys_enter", R"("nr":257,"syscall":"openat","abi":0,)"
                    R"("args":["0xffffffffffffff9c","0x7f00","0x2","0x0","0x0","0x1"])"},
      {"sys_exit", R"("nr":257,"syscall":"openat","abi":0,"ret":-2,"error":"ENOENT")"},
      {"signal_generate",
       R"("sig":10,"sig_name":"SIGUSR1","error":0,"code":0,"code_name":"SI_USER","pid":812,)"
       R"("comm":"nginx","group":true,"result":0,"result_name":"delivered")"},
      {"signal_deliver",
       R"("sig":11,"sig_name":"SIGSEGV","error":2,"error_name":"ENOENT","code":1,)"
       R"("code_name":"SEGV_MAPERR","sa_handler":"0x0","sa_flags":"0x14000000")"},
  };
  const auto records = special_records();
  for (const auto& [event, args] : expected) {
    EXPECT_EQ(line(records.at(event)), by_bash_line(event, args));
    EXPECT_TRUE(json::accept(line(records.at(event))));
  }
}

TEST_F(JsonDecoderTest, NamesNoErrorOfSigreturn) {
  const json written =
      args(make_record(EVENT_sys_exit, 1, 3352, rec_sys_exit{.nr = kSigreturnNumber, .ret = -4}));
  EXPECT_EQ(written["ret"], -4);
  EXPECT_FALSE(written.contains("error"));
}

// The value of a field, from the bytes of its record.
ordered_json value_in_json(const Field& field, RecordView record) {
  if (field.meaning == Meaning::text) return text_of(field, record);
  ordered_json values;
  for (size_t i = 0; i < field.count; ++i) {
    const uint64_t value = integer_of(field, record, i).value();
    switch (field.meaning) {
      case Meaning::kaddr:
      case Meaning::hex:
      case Meaning::clone_flags:
      case Meaning::slab_cache:  // without a name
        values.push_back(fmt::format("{:#x}", value));
        break;
      case Meaning::boolean:
        values.push_back(value != 0);
        break;
      default:
        values.push_back(field.is_signed ? ordered_json(static_cast<int64_t>(value))
                                         : ordered_json(value));
    }
  }
  return field.count == 1 ? values[0] : values;
}

// In the order of the record; annotations follow their value.
TEST_F(JsonDecoderTest, WritesEveryFieldOfEveryEvent) {
  for (const Event& event : schema_.events()) {
    const Bytes record = sample_record(event, 3352);
    const std::string text = line(record);
    EXPECT_EQ(text.substr(0, text.find(R"("args":)")),
              by_bash_line(event.name, "").substr(0, text.find(R"("args":)")));
    ordered_json written = ordered_json::parse(text)["args"], expected;
    for (const Field& field : event.fields) {
      expected[field.name] = value_in_json(field, RecordView(record.data()));
      const ExitAnnotations exit = exit_annotations_of(field);
      for (const std::string& annotation :
           {annotation_of(field), exit.status, exit.signal, exit.core})
        if (written.contains(annotation) && !annotation.empty())
          expected[annotation] = field.meaning == Meaning::tid ? "bash" : written[annotation];
      EXPECT_TRUE(field.meaning != Meaning::tid || written.contains(annotation_of(field)))
          << event.name << "." << field.name;
    }
    EXPECT_EQ(written.dump(), expected.dump()) << event.name;
  }
}

TEST_F(JsonDecoderTest, ShowsTheIdleTaskWithItsCpu) {
  EXPECT_EQ(line(make_record(EVENT_kfree, 5, 0, rec_kfree{})),
            R"({"ts":5,"cpu":2,"pid":0,"tid":0,"comm":"swapper/2","event":"kfree",)"
            R"("args":{"call_site":"0x0","ptr":"0x0"}})"
            "\n");
}

TEST_F(JsonDecoderTest, WritesNullForAnUnknownThread) {
  EXPECT_EQ(line(make_record(EVENT_sched_waking, 5, 99, rec_sched_waking{.pid = 98})),
            R"({"ts":5,"cpu":2,"pid":null,"tid":99,"comm":null,"event":"sched_waking",)"
            R"("args":{"pid":98,"prio":0,"target_cpu":0}})"
            "\n");
}

TEST_F(JsonDecoderTest, UsesTheNameOfTheThreadAtThatTime) {
  learn(task_name(812, kTs + 1, 812, "renamed"));
  auto record = by_bash(EVENT_sched_waking, rec_sched_waking{.pid = 812});
  EXPECT_EQ(args(record)["comm"], "nginx");
  record = make_record(EVENT_sched_waking, kTs + 1, 3352, rec_sched_waking{.pid = 812});
  EXPECT_EQ(args(record)["comm"], "renamed");
}

TEST_F(JsonDecoderTest, NamesSystemCallsByTheirAbi) {
  EXPECT_EQ(line(by_bash(EVENT_sys_exit, rec_sys_exit{.nr = 110, .abi = 0, .ret = 42})),
            by_bash_line("sys_exit", R"("nr":110,"syscall":"getppid","abi":0,"ret":42)"))
      << "x86-64";
  EXPECT_EQ(args(by_bash(EVENT_sys_exit, rec_sys_exit{.nr = 64, .abi = 1})),
            json::parse(R"({"nr":64,"syscall":"getppid","abi":1,"abi_name":"i386","ret":0})"));
  EXPECT_FALSE(args(by_bash(EVENT_sys_exit, rec_sys_exit{.nr = 9999})).contains("syscall"));
  EXPECT_FALSE(args(by_bash(EVENT_sys_exit, rec_sys_exit{.nr = -1})).contains("syscall"));
}

TEST_F(JsonDecoderTest, TreatsOnlySmallNegativeResultsAsErrors) {
  auto error = [&](int64_t ret) {
    return args(by_bash(EVENT_sys_exit, rec_sys_exit{.nr = 9, .ret = ret})).value("error", "");
  };
  EXPECT_EQ(error(-1), "EPERM");
  EXPECT_EQ(error(-512), "ERESTARTSYS");
  EXPECT_EQ(error(0), "");
  EXPECT_EQ(error(2), "");
  EXPECT_EQ(error(-4096), "");
  EXPECT_EQ(error(INT64_MIN), "");
  EXPECT_EQ(error(static_cast<int64_t>(0xfffffffe00000002)), "");
}

TEST_F(JsonDecoderTest, SplitsExitCodes) {
  auto end = [&](int32_t code) {
    json all = args(by_bash(EVENT_sched_process_exit, rec_sched_process_exit{.exit_code = code}));
    for (const char* other : {"pid", "comm", "prio", "group_dead"}) all.erase(other);
    return all.dump();
  };
  EXPECT_EQ(end(0), R"({"exit_code":0,"exit_status":0})");
  EXPECT_EQ(end(9), R"({"exit_code":9,"exit_signal":"SIGKILL"})");
  EXPECT_EQ(end(0x8b), R"({"exit_code":139,"exit_core":true,"exit_signal":"SIGSEGV"})");
}

TEST_F(JsonDecoderTest, WritesValidJsonForHostileStrings) {
  // name → expected parsed text; bytes that are not UTF-8 are replaced
  const std::map<std::string, std::string> cases{
      {"\"},{\"ts\":1,\"", "\"},{\"ts\":1,\""},
      {"a\nb\tc\\", "a\nb\tc\\"},
      {std::string("\x01\x1b[31m\x7f"), std::string("\x01\x1b[31m\x7f")},
      {"caf\xc3\xa9", "caf\xc3\xa9"},
      {"\xe2\x82\xac\xf0\x9f\x90\x9b", "\xe2\x82\xac\xf0\x9f\x90\x9b"},
      {"x\xff\xfe", "x\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xc3", "\xef\xbf\xbd"},
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
  };
  for (const auto& [name, expected] : cases) {
    json parsed = json::parse(line(rename_record(name, "x")));
    EXPECT_EQ(parsed["args"]["oldcomm"], expected);
    EXPECT_EQ(json::parse(line(exec_record(name)))["args"]["filename"], expected);
  }
}

TEST_F(JsonDecoderTest, WritesValidJsonForEveryByteInAComm) {
  for (int byte = 1; byte < 256; ++byte) {
    NameTable fresh;
    auto named = task_name(1, 1, 1, std::string(15, static_cast<char>(byte)));
    fresh.apply(RecordView(named.data()));
    JsonDecoder decoder({schema_, fresh});
    auto text = decode(decoder, make_record(EVENT_kfree, 5, 1, rec_kfree{}));
    EXPECT_TRUE(json::accept(text)) << byte;
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << byte;
  }
}

TEST_F(JsonDecoderTest, EndsATextWithoutNulAtItsField) {
  EXPECT_EQ(args(rename_record("0123456789abcdefXYZ", "b"))["oldcomm"], "0123456789abcdef");
}

TEST_F(JsonDecoderTest, ShowsTheReadablePartOfShortRecords) {
  auto record = by_bash(EVENT_kmalloc, rec_kmalloc{.call_site = 1, .ptr = 2, .bytes_req = 3});
  u16 size = 32;  // header, call_site and ptr
  std::memcpy(record.data() + offsetof(struct record, size), &size, sizeof(size));
  record.resize(size);
  EXPECT_EQ(args(record),
            json::parse(R"({"call_site":"0x1","ptr":"0x2","bytes_req":null,)"
                        R"("bytes_alloc":null,"gfp_flags":null,"node":null,"page_node":null})"));
  auto bare = bare_record(1, EVENT_sys_enter);
  EXPECT_TRUE(json::accept(line(bare)));
  EXPECT_TRUE(json::accept(line(bare_record(1, EVENT_sched_process_exec))));
}

TEST_F(JsonDecoderTest, WritesALineForEventsMissingFromTheSchema) {
  json parsed = json::parse(line(bare_record(7, 1999, 3352)));
  EXPECT_EQ(parsed["event"], "event_1999");
  EXPECT_EQ(parsed["args"], json::object());
}

TEST_F(JsonDecoderTest, WritesLosses) {
  JsonDecoder decoder(sources());
  EXPECT_EQ(decode_loss(decoder, {.ts = 12, .cpu = 3, .event_id = EVENT_kmalloc, .count = 99}),
            R"({"ts":12,"cpu":3,"lost":99,"event":"kmalloc"})"
            "\n");
  EXPECT_EQ(decode_loss(decoder, {.ts = 12, .cpu = 3, .event_id = 70000, .count = 1}),
            R"({"ts":12,"cpu":3,"lost":1,"event":"event_70000"})"
            "\n");
}

TEST_F(JsonDecoderTest, WritesValidJsonForDamagedRecords) {
  uint32_t seed = 1;
  for (const Bytes& good : all_records()) {
    for (int round = 0; round < 500; ++round) {
      Bytes record = good;
      for (int flips = 0; flips < 8; ++flips) {
        seed = seed * 1664525 + 1013904223;
        size_t at = sizeof(struct record) + (seed >> 8) % (record.size() - sizeof(struct record));
        record[at] = static_cast<std::byte>(seed >> 24);
      }
      ASSERT_TRUE(json::accept(line(record))) << line(good);
    }
  }
}

}  // namespace
}  // namespace ktraced::test

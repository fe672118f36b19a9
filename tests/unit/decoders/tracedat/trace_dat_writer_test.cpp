// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/tracedat/trace_dat_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decoders/tracedat/event_layout.h"
#include "unit/support/decoder_fixture.h"
#include "unit/support/trace_cmd.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TraceDatTest : public DecoderTest {
 protected:
  // Given to the writer, and to the decoder whose lines are expected.
  void add(const Bytes& record, uint32_t cpu = 2) {
    writer_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
    ftrace_.event(cpu, RecordView(record.data()), expected_);
  }
  void lose(uint32_t cpu, uint64_t count) {
    const LossItem loss{.ts = kTs, .cpu = cpu, .event_id = EVENT_kmalloc, .count = count};
    writer_.on_loss(loss);
    ftrace_.loss(loss, expected_);
  }
  // What trace-cmd reads.
  std::string report(const std::string& options = "-N") {
    writer_.finish();
    std::map<uint32_t, uint64_t> bytes;
    std::string pages;
    for (auto& [cpu, each] : writer_.cpus()) {
      bytes[cpu] = each.out().size();
      pages += each.out();
    }
    write_file(file_, writer_.header(bytes) + pages);
    return trace_cmd_report(file_, options);
  }
  std::vector<FtraceLine> expected() { return ftrace_lines(std::string(expected_.view())); }

  // An event of which the kernel described the text.
  void add_tracepoint(const std::string& name, std::vector<Field> fields, std::string print) {
    schema_.add({.id = 1500,
                 .name = name,
                 .group = name.substr(0, name.find(':')),
                 .fields = std::move(fields),
                 .size = 40,
                 .print = std::move(print)});
  }

  TempDirectory directory_;
  std::filesystem::path file_ = directory_.path() / "trace.dat";
  Manifest manifest_{.origin = {.host = "box", .kernel = "6.12.9"}};
  TraceDatWriter writer_{{{.sources = sources(), .manifest = manifest_}}};
  FtraceDecoder ftrace_{sources()};
  TextBuffer expected_;
};

TEST_F(TraceDatTest, EveryEventIsPrintedByTraceCmdAsByShow) {
  for (const Bytes& record : all_records()) add(record);
  EXPECT_EQ(ftrace_lines(report()), expected());
}

TEST_F(TraceDatTest, FieldsAndNamesOfThreadsAreReadable) {
  add(special_records().at("sched_switch"));
  add(special_records().at("kmalloc"));
  add(exec_record("/usr/bin/make"));
  const std::string fields = report("-R -N");
  EXPECT_THAT(fields, HasSubstr("prev_comm=bash next_comm=swapper/2 "));
  EXPECT_THAT(fields, HasSubstr("prev_pid=3352"));
  EXPECT_THAT(fields, HasSubstr("ptr=0xffff888104c5a000"));
  EXPECT_THAT(fields, HasSubstr("filename=/usr/bin/make"));
  // The form of trace-cmd's own plugin.
  EXPECT_THAT(report(""), HasSubstr("bash:3352 [120] S ==> swapper/2:0 [120]"));
  EXPECT_THAT(report("--uname"), HasSubstr("Linux box 6.12.9"));
}

TEST_F(TraceDatTest, CommonFlagsHaveTheContext) {
  const EventLayout layout(*schema_.find("kfree"), 400);
  const auto flags = [&](record_context context) {
    const Bytes record = in_context(context, special_records().at("kfree"));
    std::string event;
    layout.append(2, RecordView(record.data()), "", names_, event);
    return static_cast<int>(event.at(2)) + event.at(3);  // and the preemption count, which is 0
  };
  EXPECT_EQ(flags(CONTEXT_UNKNOWN), 0);
  EXPECT_EQ(flags(CONTEXT_TASK), 0);
  EXPECT_EQ(flags(CONTEXT_HARDIRQ), 0x08) << "TRACE_FLAG_HARDIRQ";
  EXPECT_EQ(flags(CONTEXT_SOFTIRQ), 0x10) << "TRACE_FLAG_SOFTIRQ";
}

TEST_F(TraceDatTest, EventsInInterruptsArePrintedAsByShow) {
  for (const record_context context : {CONTEXT_TASK, CONTEXT_SOFTIRQ, CONTEXT_HARDIRQ, CONTEXT_NMI})
    add(in_context(context, special_records().at("kfree")));
  EXPECT_EQ(ftrace_lines(report()), expected());
}

TEST_F(TraceDatTest, LossesAreMarkedBeforeTheNextEventOfTheirCpu) {
  add(special_records().at("kfree"), 0);
  lose(0, 4);
  lose(0, 3);
  add(special_records().at("kfree"), 0);
  lose(1, 9);
  const auto lines = ftrace_lines(report());
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].event, expected()[0].event);
  EXPECT_EQ(lines[1].event, "CPU 0 lost 7");
  EXPECT_EQ(lines[2].event, expected()[0].event);
  EXPECT_EQ(lines[3].event, "CPU 1 lost 9");
  EXPECT_THAT(lines[4].event, HasSubstr("lost_events:"));
  EXPECT_THAT(report("--stat"), HasSubstr("dropped events: 9\nread events: 0"));
}

TEST_F(TraceDatTest, NamesAreTheLastOnesOfAThread) {
  learn(task_name(3352, kTs + 5, 3350, "make\nit"));
  learn(task_name(3100, kTs + 5, 3100, ""));
  learn(task_name(3101, kTs + 5, 3101, "  "));
  add(special_records().at("kfree"));
  add(make_record(EVENT_kfree, kTs + 6, 3100, rec_kfree{}));
  add(make_record(EVENT_kfree, kTs + 7, 3101, rec_kfree{}));
  add(make_record(EVENT_kfree, kTs + 10, 3352, rec_kfree{}));
  add(make_record(EVENT_kfree, kTs + 11, 0, rec_kfree{}));
  add(make_record(EVENT_kfree, kTs + 12, 77, rec_kfree{}));
  std::vector<std::string> names;
  for (const FtraceLine& line : ftrace_lines(report())) names.push_back(line.comm);
  EXPECT_THAT(names,
              ElementsAre(R"(make\x0ait)", "<...>", "<...>", R"(make\x0ait)", "<idle>", "<...>"));
}

TEST_F(TraceDatTest, HostileNamesOfEventsAndFieldsDoNotBreakTheFile) {
  add_tracepoint(
      "a b;:x\ty",
      {{.name = "x;\toffset:0", .type = "u64", .offset = 16, .size = 8},
       {.name = "far", .type = "u64", .offset = 900000, .size = 8},
       {.name = "odd", .type = "odd", .offset = 24, .size = 3},
       {.name = "list", .type = "u8[]", .offset = 36, .size = 1, .count = 0, .located = true}},
      "");
  struct Odd {
    record h;
    u64 values[3];
  };
  add(make_record(1500, kTs, 3352, Odd{.values = {1, 2, ~uint64_t{0}}}));
  add(special_records().at("kfree"));
  add(bare_record(kTs + 1, 1501));
  const auto lines = ftrace_lines(report());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0].event, HasSubstr("x_y:"));
  EXPECT_EQ(lines[1], expected()[1]);
  EXPECT_THAT(lines[2].event, HasSubstr("event_1501:"));
}

TEST_F(TraceDatTest, EventsLongerThanAPageAreMarkedAsLost) {
  add_tracepoint("a:long", {}, "");
  Bytes record = bare_record(kTs, 1500);
  record.resize(RingBufferPages::kPageBytes - 8);
  const auto size = static_cast<u16>(record.size());
  std::memcpy(record.data() + offsetof(::record, size), &size, sizeof(size));
  add(record);
  EXPECT_EQ(writer_.too_long(), 1U);
  add(special_records().at("kfree"));
  const auto lines = ftrace_lines(report());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].event, "CPU 2 lost 1");
  EXPECT_THAT(report("--stat"), HasSubstr("dropped events: 1\nread events: 1"));
}

TEST_F(TraceDatTest, CpusWithoutAPlaceAreRefused) {
  add(special_records().at("kfree"), TraceDatWriter::kMaxCpus - 1);
  EXPECT_FALSE(writer_.refused_cpu());
  add(special_records().at("kfree"), TraceDatWriter::kMaxCpus);
  EXPECT_EQ(writer_.refused_cpu(), TraceDatWriter::kMaxCpus);
}

}  // namespace
}  // namespace ktraced::test

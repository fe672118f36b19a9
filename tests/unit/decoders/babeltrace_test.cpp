// SPDX-License-Identifier: BSD-2-Clause
// babeltrace2 checks written traces: it must read the same from a trace directory as our reader,
// without warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <utility>

#include "trace/merge/history.h"
#include "trace/metadata/stack_table.h"
#include "trace/packet/field_value.h"
#include "unit/support/babeltrace.h"
#include "unit/support/decoder_fixture.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// By record_context, as the metadata of a trace names them.
constexpr std::array kContexts = {"unknown",
                                  "task",
                                  "softirq",
                                  "hardirq",
                                  "hardirq_in_softirq",
                                  "nmi_in_hardirq",
                                  "nmi_in_nested_hardirq",
                                  "nmi"};

// The text that babeltrace2 prints for a field, made from the schema.
std::string value_text(const Field& field, const RecordView& record) {
  if (field.meaning == Meaning::text) return fmt::format("\"{}\"", text_of(field, record));
  auto element = [&](size_t index) {
    uint64_t value = integer_of(field, record, index).value();
    switch (field.meaning) {
      case Meaning::kaddr:
      case Meaning::hex:
      case Meaning::slab_cache:
      case Meaning::gfp_flags:
      case Meaning::clone_flags:
        return fmt::format("0x{:X}", value);
      default:
        return field.is_signed ? fmt::format("{}", static_cast<int64_t>(value))
                               : fmt::format("{}", value);
    }
  };
  if (field.count == 1) return element(0);
  std::string text;
  for (size_t i = 0; i < field.count; ++i)
    text += fmt::format("{}[{}] = {}", i == 0 ? "" : ", ", i, element(i));
  return fmt::format("[ {} ]", text);
}

std::string named_value(const Field& field, RecordView record) {
  return fmt::format("{} = {}", field.name, value_text(field, record));
}

// What stands in the place of a located field.
std::string location_text(const Field& field, RecordView record) {
  const Elements elements = elements_of(field, record);
  return fmt::format("_{0}_offset = {1}, {0}_cut = {2}, _{0}_length = {3}", field.name,
                     elements.offset, elements.cut ? 1 : 0, elements.count);
}

// Our own reader's view of a trace in babeltrace2's form.
class Lines : public MergeSink {
 public:
  explicit Lines(const Schema& schema) : schema_(schema) {}
  void on_record(const RecordOrigin& from, RecordView record) override { add_event(from, record); }
  void on_stack(const RecordOrigin& from, RecordView record) override {
    if (record.id() == RECORD_STACK)
      add_stack(from, record);
    else
      add_event(from, record);
  }
  void on_loss(const LossItem& loss) override {
    if (lost_.empty() || loss.cpu != last_loss_.cpu || loss.ts != last_loss_.ts) lost_.push_back(0);
    lost_.back() += loss.count;
    last_loss_ = loss;
  }
  std::string text_;
  std::vector<uint64_t> lost_;  // at each place, all events together

 private:
  void add_event(const RecordOrigin& from, RecordView record) {
    const Event& event = *schema_.find(record.id());
    std::string fields;
    for (const Field& field : event.fields)
      fields +=
          fmt::format("{}{}", fields.empty() ? "" : ", ",
                      field.located ? location_text(field, record) : named_value(field, record));
    for (const Field& field : event.fields)
      if (field.located) fields += ", " + named_value(field, record);
    if (record.has_stacks())
      fields +=
          fmt::format("{}kernel_stack = 0x{:X}, user_stack = 0x{:X}", fields.empty() ? "" : ", ",
                      record.stacks().kernel, record.stacks().user);
    add(from, event.name, fields, record);
  }
  void add_stack(const RecordOrigin& from, RecordView record) {
    const Stack stack = stack_of(record).value();
    const auto [kind, number] = stack.kind == StackKind::user ? std::pair("user", 2)
                                : stack.sampled               ? std::pair("sampled", 3)
                                                              : std::pair("kernel", 1);
    std::string frames;
    for (size_t i = 0; i < stack.frames.size(); ++i)
      frames += fmt::format("{}[{}] = 0x{:X}", i == 0 ? " " : ", ", i, stack.frames[i]);
    add(from, "stack",
        fmt::format("{}, _frames_length = {}, kind = ( \"{}\" : container = {} ), "
                    "end = ( \"{}\" : container = {} ), {}, frames = [{} ]",
                    named_value(schema_.find(RECORD_STACK)->fields.front(), record),
                    stack.frames.size(), kind, number, name_of(stack.end),
                    static_cast<int>(stack.end),
                    named_value(schema_.find(RECORD_STACK)->fields.back(), record), frames),
        record);
  }
  void add(const RecordOrigin& from, const std::string& name, const std::string& fields,
           RecordView record) {
    text_ += fmt::format(
        "[{:020}] test-host {}: {{ cpu_id = {} }}, {{ context = ( \"{}\" : container = {} ), "
        "words = {}, tid = {} }}, {{ {} }}\n",
        record.ts(), name, from.cpu, kContexts.at(record.context()), +record.context(),
        record.bytes().size() / 8, record.tid(), fields);
  }

  const Schema& schema_;
  LossItem last_loss_;
};

Lines own_lines(const fs::path& path) {
  auto history = History::open(std::vector{path});
  EXPECT_TRUE(history) << history.error().message;
  Lines lines(history->traces().front().schema());
  while (history->read(lines)) {
  }
  EXPECT_TRUE(history->verdict());
  return lines;
}

// Without the losses of the packet, which it prints with each event.
std::string without_losses(const std::string& text) {
  static const std::regex kLosses(R"(, lost_count = [0-9]+, lost = \[.*?\] \}, \{ context)");
  return std::regex_replace(text, kLosses, " }, { context");
}

std::vector<uint64_t> numbers(const std::string& text, const char* pattern) {
  std::vector<uint64_t> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.push_back(std::stoull((*match)[1]));
  return found;
}

class Babeltrace : public ::testing::Test {
 protected:
  // Gives a record the next time.
  Bytes at_next_time(Bytes record) {
    now_ += 1001;
    std::memcpy(record.data(), &now_, sizeof(now_));
    return record;
  }
  // All events, in one packet and each as the last of one, with strings of every padding. No string
  // is empty: for an empty one babeltrace2 2.0.4 prints the previous content.
  TraceSpec every_event() {
    TraceSpec spec{.schema = schema_};
    PacketSpec together{.cpu = 2};
    for (const auto& records : {special_records(), sample_records(schema_, 3352)})
      for (const auto& [name, record] : records) together.records.push_back(at_next_time(record));
    for (uint32_t context = 0; context <= RECORD_CONTEXT; ++context)
      together.records.push_back(
          at_next_time(in_context(static_cast<record_context>(context), exec_record("/bin/sh"))));
    for (size_t length = 1; length < 20; ++length)
      together.records.push_back(at_next_time(exec_record(std::string(length, 'x'))));
    together.records.push_back(at_next_time(exec_record("/usr/bin/caf\xc3\xa9")));
    together.records.push_back(at_next_time(rename_record("fifteen letters", "x")));
    spec.packets.push_back(together);
    for (const Bytes& record : together.records)
      spec.packets.push_back({.cpu = 5, .records = {at_next_time(record)}});
    return spec;
  }

  TempDirectory directory_;
  fs::path path_ = directory_.path() / "trace";
  Schema schema_ = built_schema();
  uint64_t now_ = 1'000'000'000;
};

TEST_F(Babeltrace, ReadsEveryEventLikeOurReader) {
  TraceSpec spec = every_event();
  write_trace(path_, spec);
  Printed printed = babeltrace(path_, "--clock-cycles --no-delta");
  ASSERT_EQ(printed.status, 0) << "is babeltrace2 installed? " << printed.err;
  EXPECT_EQ(printed.err, "");
  EXPECT_EQ(without_losses(printed.out), own_lines(path_).text_);
  for (const Event& event : schema_.events())
    EXPECT_THAT(printed.out, ::testing::HasSubstr(" " + event.name + ": "));
}

// Each record also as the last of a packet: it has no padding.
TEST_F(Babeltrace, ReadsEventsWithStacks) {
  TraceSpec spec{.schema = schema_};
  std::vector<Bytes> records;
  for (const StackSpec& stack :
       {StackSpec{.number = 1ULL << 63, .frames = {0xffffffff81000001, 0xffffffff81000002}},
        StackSpec{.number = 3ULL << 62,
                  .kind = STACK_USER,
                  .end = STACK_DEPTH,
                  .frames = {0x1000},
                  .layout = 0xabcd1234},
        StackSpec{.number = 5ULL << 61, .kind = STACK_USER, .end = STACK_UNREADABLE},
        StackSpec{.number = 7ULL << 61, .kind = STACK_USER, .end = STACK_BROKEN, .frames = {1}},
        StackSpec{.number = 9ULL << 60, .kind = STACK_SAMPLED, .frames = {0xffffffff81000001}}})
    records.push_back(at_next_time(stack_record_of(1, stack)));
  records.push_back(at_next_time(test::mapping_record_of(1, {.start = 0x1000,
                                                             .end = 0x3000,
                                                             .offset = 0x2000,
                                                             .file = 9ULL << 60,
                                                             .layout = 0xabcd1234})));
  for (size_t length = 1; length < 10; ++length)
    records.push_back(at_next_time(test::file_record_of(1, 9ULL << 60, std::string(length, '/'))));
  for (const auto& [name, record] : sample_records(schema_, 3352)) {
    records.push_back(at_next_time(record));
    records.push_back(at_next_time(with_stacks(record, {.kernel = 1ULL << 63, .user = 0})));
  }
  for (size_t length = 1; length < 20; ++length)
    records.push_back(at_next_time(
        with_stacks(exec_record(std::string(length, 'x')), {.kernel = 0, .user = 3ULL << 62})));
  spec.packets.push_back({.cpu = 2, .records = records});
  for (const Bytes& record : records)
    spec.packets.push_back({.cpu = 5, .records = {at_next_time(record)}});
  write_trace(path_, spec);
  Printed printed = babeltrace(path_, "--clock-cycles --no-delta");
  ASSERT_EQ(printed.status, 0) << printed.err;
  EXPECT_EQ(printed.err, "");
  EXPECT_EQ(without_losses(printed.out), own_lines(path_).text_);
}

TEST_F(Babeltrace, ShowsWallClockTimes) {
  write_trace(path_, {.schema = schema_,
                      .packets = {{.cpu = 0, .records = {at_next_time(exec_record("x"))}}}});
  // CLOCK_BOOTTIME 1.000001001 s, 1700000000.123456789 s ahead of it.
  Printed printed = babeltrace(path_, "--clock-seconds --no-delta");
  EXPECT_EQ(printed.err, "");
  EXPECT_THAT(printed.out, ::testing::StartsWith("[1700000001.123457790]"));
}

TEST_F(Babeltrace, ReportsLossesAsDiscardedEvents) {
  TraceSpec spec{.schema = schema_};
  auto add = [&](uint32_t cpu, std::vector<Lost> lost, bool with_record) {
    PacketSpec packet{.cpu = cpu, .lost = std::move(lost)};
    if (with_record)
      packet.records = {at_next_time(exec_record("abc"))};
    else
      packet.begin = packet.end = now_ += 10;
    spec.packets.push_back(packet);
  };
  add(0, {}, true);
  add(0, {{.count = 3, .event_id = EVENT_kfree}, {.count = 4, .event_id = EVENT_kmalloc}}, true);
  add(1, {{.count = 50, .event_id = EVENT_kfree}}, true);  // the first of its CPU
  add(0, {{.count = 600, .event_id = EVENT_kfree}}, false);
  add(0, {}, true);
  add(1, {}, true);
  add(1, {{.count = 8000, .event_id = EVENT_sys_enter}}, true);
  write_trace(path_, spec);

  Printed printed = babeltrace(path_, "--clock-cycles --no-delta");
  ASSERT_EQ(printed.status, 0) << printed.err;
  Lines own = own_lines(path_);
  EXPECT_EQ(without_losses(printed.out), own.text_);
  EXPECT_THAT(own.lost_, ElementsAre(7, 600, 50, 8000));
  EXPECT_EQ(numbers(printed.err, "WARNING: Tracer discarded ([0-9]+) events"), own.lost_);
  EXPECT_EQ(std::ranges::count(printed.err, '\n'), 4) << "and nothing else: " << printed.err;

  Printed details = babeltrace(path_, "-c sink.text.details");
  EXPECT_EQ(details.err, "");
  EXPECT_EQ(numbers(details.out, R"(Discarded events \(([0-9]+) events\))"), own.lost_);
}

TEST_F(Babeltrace, ReadsAnUnfinishedTrace) {
  TraceSpec spec = every_event();
  fs::path partial = begin_trace(path_, spec)->keep_unfinished();
  Printed printed = babeltrace(partial, "");
  EXPECT_EQ(printed.status, 0);
  EXPECT_EQ(printed.err, "");
}

}  // namespace
}  // namespace ktraced::test

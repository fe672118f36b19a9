// SPDX-License-Identifier: BSD-2-Clause
// Trace directories, from writer to reader.
#include "trace/merge/history.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "unit/trace/merge/history_fixture.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST_F(HistoryTest, ReturnsRecordsAndLossesInTimeOrder) {
  auto path = write("t", {.packets = two_cpus()});
  Outcome outcome = read({path});
  ASSERT_TRUE(outcome.verdict) << outcome.verdict.error().message;
  EXPECT_EQ(outcome.notes.text_, kTwoCpus);
  Bytes expected;
  for (uint64_t ts : {10, 20, 40, 50, 60, 70})
    for (std::byte byte : record_at(ts)) expected.push_back(byte);
  EXPECT_EQ(outcome.notes.bytes_, expected) << "records are equal byte for byte";
}

TEST_F(HistoryTest, ReadsADirectoryThatIsGivenTwiceOnce) {
  const auto path = write("t", {.packets = two_cpus()});
  fs::create_symlink(path, path.parent_path() / "same");
  Outcome outcome = read({path, path, path.parent_path() / "same", path.parent_path() / "." / "t"});
  ASSERT_TRUE(outcome.verdict) << outcome.verdict.error().message;
  EXPECT_EQ(outcome.notes.text_, kTwoCpus) << "its losses too";
}

TEST_F(HistoryTest, ReadsATraceWithoutRecords) { EXPECT_EQ(text({write("t", {})}), ""); }

TEST_F(HistoryTest, ReturnsNamesAndSymbols) {
  std::string odd = "\xff\xfe caf\xc3\xa9 \"\\\n\x01";
  auto path =
      write("t", {.names = {task_name(5, 100, 4, "bash"), task_name(5, 100, 4, "bash"),
                            task_name(5, 300, 4, odd), task_name(6, 1, 6, "sixteen letters!"),
                            cache_name(0xffff888000000001, "dentry")},
                  .symbols = {{0xffffffff81000000, "_stext+0x0/0x10"}}});
  auto trace = TraceReader::open(path);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_TRUE(trace->damage().empty());
  EXPECT_EQ(trace->names().task_at(5, 200)->comm(), "bash");
  EXPECT_EQ(trace->names().task_at(5, 200)->tgid, 4U);
  EXPECT_EQ(trace->names().task_at(5, 300)->comm(), odd);
  EXPECT_EQ(trace->names().task_at(6, 2)->comm(), "sixteen letters!");
  EXPECT_EQ(trace->names().cache_name(0xffff888000000001), "dentry");
  EXPECT_EQ(trace->symbols().at(0xffffffff81000000), "_stext+0x0/0x10");
  EXPECT_EQ(trace->schema().events(), schema_.events());
  EXPECT_EQ(trace->manifest().reason, "a test");
}

TEST_F(HistoryTest, KeepsEveryNameOfAThread) {
  TraceSpec spec;
  for (uint64_t ts = 0; ts < 1000; ++ts)
    spec.names.push_back(task_name(5, ts, 5, fmt::format("n{}", ts)));
  auto trace = TraceReader::open(write("t", spec));
  ASSERT_TRUE(trace);
  for (uint64_t ts = 0; ts < 1000; ++ts)
    EXPECT_EQ(trace->names().task_at(5, ts)->comm(), fmt::format("n{}", ts));
}

TEST_F(HistoryTest, HoldsOnePacketOfEachCpuInMemory) {
  TraceSpec spec;
  for (uint64_t i = 0; i < 1000; ++i)
    for (uint32_t cpu = 0; cpu < 4; ++cpu)
      spec.packets.push_back(packet(cpu, {1 + 10 * i, 5 + 10 * i + cpu}));
  std::vector paths = {write("a", spec)};
  for (PacketSpec& later : spec.packets) {
    for (Bytes& record : later.records) {
      uint64_t ts = RecordView(record.data()).ts() + 20'000;
      std::memcpy(record.data(), &ts, sizeof(ts));
    }
  }
  spec.begin_ns = 20'001;
  paths.push_back(write("b", spec));
  auto history = History::open(paths);
  ASSERT_TRUE(history);
  class : public MergeSink {
   public:
    void on_record(const RecordOrigin& from, RecordView) override {
      note_held();
      ended += ++records[{from.source, from.cpu}] % 2 == 0;  // each packet has two
    }
    void on_loss(const LossItem&) override {}
    // Packets that have been read, and whose records have not all been given.
    void note_held() { most = std::max(most, history->packets() - ended); }
    History* history = nullptr;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> records;
    uint64_t ended = 0, most = 0;
  } sink;
  sink.history = &*history;
  while (history->read(sink)) sink.note_held();
  EXPECT_EQ(sink.ended, 8'000U);
  EXPECT_LE(sink.most, 4U);
}

TEST_F(HistoryTest, MergesDirectoriesGivenInAnyOrder) {
  auto a = write("a", {.packets = {packet(0, {10, 20}), packet(1, {15})}, .begin_ns = 10});
  auto b = write("b", {.packets = {packet(0, {30, 40}),
                                   {.cpu = 1,
                                    .records = {record_at(35)},
                                    .lost = {{.count = 2, .event_id = EVENT_kfree}}}},
                       .begin_ns = 30});
  const char* expected = "0:10 1:15 0:20 1/0:30 1/1:35-2 1/1:35 1/0:40";
  EXPECT_EQ(text({a, b}), expected);
  EXPECT_EQ(text({b, a}), expected);
}

TEST_F(HistoryTest, MergesOverlappingDirectories) {
  auto a = write("a", {.packets = {packet(0, {10, 30, 50})}, .begin_ns = 10});
  auto b = write("b", {.packets = {packet(0, {20, 40, 60}), packet(2, {25})}, .begin_ns = 20});
  EXPECT_EQ(text({a, b}), "0:10 1/0:20 1/2:25 0:30 1/0:40 0:50 1/0:60");
}

TEST_F(HistoryTest, ShowsRecordsOfTwoDirectoriesOnce) {
  auto a = write(
      "a",
      {.packets = {{.cpu = 0,
                    .records = {record_at(10), record_at(20, 1), record_at(20, 1), record_at(30)}},
                   packet(1, {20})}});
  auto b = write(
      "b",
      {.packets = {{.cpu = 0,
                    .records = {record_at(20, 1), record_at(20, 2), record_at(30), record_at(40)}},
                   packet(2, {20})}});
  auto history = History::open(std::vector{a, b});
  ASSERT_TRUE(history);
  Outcome outcome = read_all(*history);
  EXPECT_EQ(outcome.notes.text_, "0:10 0:20 0:20 1/0:20 1:20 1/2:20 0:30 1/0:40")
      << "two equal records of one trace are two events, and another pointer or CPU is another";
  EXPECT_EQ(history->repeated(), 2U);
}

TEST_F(HistoryTest, DoesNotCompareTimesOfDifferentBoots) {
  auto a = write("a", {});
  TraceSpec other;
  other.origin.boot_id = "another";
  EXPECT_EQ(error({a, write("b", other)}).code, ExitCode::usage);
}

TEST_F(HistoryTest, ShowsAnUnfinishedTraceOnlyWhenRequested) {
  TraceSpec spec{.schema = schema_, .packets = two_cpus()};
  auto path = directory_.path() / "t";
  begin_trace(path, spec)->keep_unfinished();
  fs::path partial = path.string() + ".partial";
  EXPECT_THAT(error({path}).message, HasSubstr(partial.string()));
  EXPECT_THAT(error({partial}).message, HasSubstr("--partial"));
  EXPECT_THAT(error({partial / ""}).message, HasSubstr("--partial"));
  Outcome outcome = read({partial}, true);
  EXPECT_TRUE(outcome.verdict) << outcome.verdict.error().message;
  EXPECT_EQ(outcome.notes.text_, kTwoCpus);
  fs::resize_file(partial / "ctf/cpu0", fs::file_size(partial / "ctf/cpu0") - 1);
  outcome = read({partial}, true);
  EXPECT_TRUE(outcome.verdict) << "a writer that was stopped may leave half a packet";
  EXPECT_EQ(outcome.notes.text_, "0:10 1:20 0:40 0:40-3 1:50 1:60");
  EXPECT_FALSE(TraceReader::open(partial, true)->manifest().complete());
}

TEST_F(HistoryTest, WriterThatIsAbandonedLeavesNothing) {
  begin_trace(directory_.path() / "t", {.schema = schema_, .packets = two_cpus()});
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_F(HistoryTest, WriterDoesNotTouchExistingFiles) {
  auto create = [&] {
    return TraceWriter::create(directory_.path() / "t", schema_, test_origin(), {});
  };
  auto first = create();
  ASSERT_TRUE(first);
  auto second = create();
  ASSERT_FALSE(second) << "the first is not finished";
  EXPECT_EQ(second.error().code, ExitCode::usage);
  first->reset();
  fs::create_directory(directory_.path() / "t");
  second = create();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ExitCode::usage);
}

}  // namespace
}  // namespace ktraced::test

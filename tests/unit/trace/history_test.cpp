// Trace directories, from writer to reader.
#include "trace/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Notes what comes: "cpu:ts" for records, "cpu:ts-count" for losses; of traces after the
// first with their number before it: "1/cpu:ts".
class Notes : public MergeSink {
 public:
  void on_record(const RecordOrigin& from, RecordView record) override {
    add(from.source, fmt::format("{}:{}", from.cpu, record.ts()));
    bytes_.insert(bytes_.end(), record.bytes().begin(), record.bytes().end());
    in_order_ &= record.ts() >= last_ts_;
    last_ts_ = record.ts();
    ++records_;
  }
  void on_loss(const LossItem& loss) override {
    add(loss.source, fmt::format("{}:{}-{}", loss.cpu, loss.ts, loss.count));
  }
  std::string text_;
  Bytes bytes_;
  uint64_t last_ts_ = 0;
  uint64_t records_ = 0;
  bool in_order_ = true;

 private:
  void add(uint32_t source, const std::string& item) {
    text_ += text_.empty() ? "" : " ";
    if (source != 0) text_ += fmt::format("{}/", source);
    text_ += item;
  }
};

// All that can be read, and how it ended.
struct Outcome {
  Notes notes;
  Result<> verdict;
};

Outcome read_all(History& history) {
  Outcome outcome;
  while (history.read(outcome.notes)) {
  }
  outcome.verdict = history.verdict();
  return outcome;
}

class HistoryTest : public ::testing::Test {
 protected:
  // Two CPUs with losses and packets that hold nothing else.
  static std::vector<PacketSpec> two_cpus() {
    return {{.cpu = 0, .records = {record_at(10), record_at(40)}},
            {.cpu = 1, .records = {record_at(20)}},
            {.cpu = 0, .lost = {{.count = 3, .event_id = EVENT_kfree}}, .begin = 40, .end = 45},
            {.cpu = 1, .records = {record_at(50), record_at(60)}},
            {.cpu = 0,
             .records = {record_at(70)},
             .lost = {{.count = 5, .event_id = EVENT_kmalloc}, {.count = 1, .event_id = 1}}}};
  }
  static constexpr const char* kTwoCpus = "0:10 1:20 0:40 0:40-3 0:45-5 0:45-1 1:50 1:60 0:70";

  static Bytes record_at(uint64_t ts, uint64_t pointer = 0) {
    return make_record(EVENT_kfree, ts, 7, rec_kfree{.call_site = 1, .ptr = pointer});
  }
  static PacketSpec packet(uint32_t cpu, std::initializer_list<uint64_t> times) {
    PacketSpec spec{.cpu = cpu};
    for (uint64_t ts : times) spec.records.push_back(record_at(ts));
    return spec;
  }
  fs::path write(const std::string& name, TraceSpec spec) {
    spec.schema = schema_;
    write_trace(directory_.path() / name, spec);
    return directory_.path() / name;
  }
  static Outcome read(const std::vector<fs::path>& paths, bool allow_unfinished = false) {
    auto history = History::open(paths, allow_unfinished);
    if (!history) return {.notes = {}, .verdict = pass_on(history)};
    return read_all(*history);
  }
  static std::string text(const std::vector<fs::path>& paths) {
    Outcome outcome = read(paths);
    EXPECT_TRUE(outcome.verdict) << outcome.verdict.error().message;
    EXPECT_TRUE(outcome.notes.in_order_);
    return outcome.notes.text_;
  }
  static Error error(const std::vector<fs::path>& paths) {
    Outcome outcome = read(paths);
    EXPECT_FALSE(outcome.verdict);
    return outcome.verdict ? Error{ExitCode::ok, ""} : outcome.verdict.error();
  }

  // Makes a small manifest, of which every byte matters.
  void use_small_schema() {
    Event kfree = *schema_.find(EVENT_kfree);
    schema_ = Schema();
    schema_.add(kfree);
  }

  TempDirectory directory_;
  Schema schema_ = built_schema();
};

TEST_F(HistoryTest, GivesBackRecordsAndLossesInTimeOrder) {
  auto path = write("t", {.packets = two_cpus()});
  Outcome outcome = read({path});
  ASSERT_TRUE(outcome.verdict) << outcome.verdict.error().message;
  EXPECT_EQ(outcome.notes.text_, kTwoCpus);
  Bytes expected;
  for (uint64_t ts : {10, 20, 40, 50, 60, 70})
    for (std::byte byte : record_at(ts)) expected.push_back(byte);
  EXPECT_EQ(outcome.notes.bytes_, expected) << "byte for byte";
}

TEST_F(HistoryTest, AlsoThatOfATraceWithoutRecords) { EXPECT_EQ(text({write("t", {})}), ""); }

TEST_F(HistoryTest, ATraceKnowsItsNamesAndSymbols) {
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

TEST_F(HistoryTest, EveryNameAThreadEverHadIsKept) {
  TraceSpec spec;
  for (uint64_t ts = 0; ts < 1000; ++ts)
    spec.names.push_back(task_name(5, ts, 5, fmt::format("n{}", ts)));
  auto trace = TraceReader::open(write("t", spec));
  ASSERT_TRUE(trace);
  for (uint64_t ts = 0; ts < 1000; ++ts)
    EXPECT_EQ(trace->names().task_at(5, ts)->comm(), fmt::format("n{}", ts));
}

TEST_F(HistoryTest, OnePacketOfEachCpuIsInMemory) {
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
  size_t most = 0;
  class : public MergeSink {
   public:
    void on_record(const RecordOrigin&, RecordView) override {
      most = std::max(most, history->resident_packets());
      ++records;
    }
    void on_loss(const LossItem&) override {}
    History* history = nullptr;
    size_t most = 0, records = 0;
  } sink;
  sink.history = &*history;
  while (history->read(sink)) most = std::max(most, history->resident_packets());
  EXPECT_EQ(sink.records, 16'000U);
  EXPECT_LE(std::max(most, sink.most), 4U);
}

TEST_F(HistoryTest, DirectoriesAreOneHistoryInWhateverOrderTheyAreGiven) {
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

TEST_F(HistoryTest, DirectoriesThatOverlapAreMerged) {
  auto a = write("a", {.packets = {packet(0, {10, 30, 50})}, .begin_ns = 10});
  auto b = write("b", {.packets = {packet(0, {20, 40, 60}), packet(2, {25})}, .begin_ns = 20});
  EXPECT_EQ(text({a, b}), "0:10 1/0:20 1/2:25 0:30 1/0:40 0:50 1/0:60");
}

TEST_F(HistoryTest, WhatTwoDirectoriesHoldHasHappenedOnce) {
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

TEST_F(HistoryTest, TimesOfDifferentBootsAreNotCompared) {
  auto a = write("a", {});
  TraceSpec other;
  other.origin.boot_id = "another";
  EXPECT_EQ(error({a, write("b", other)}).code, ExitCode::usage);
}

TEST_F(HistoryTest, ANewerFormatIsRefused) {
  auto path = write("t", {.packets = two_cpus()});
  auto manifest = nlohmann::json::parse(read_file(path / "manifest.json"));
  manifest["format"] = Manifest::kFormat + 1;
  write_file(path / "manifest.json", manifest.dump());
  Error refused = error({path});
  EXPECT_EQ(refused.code, ExitCode::data);
  EXPECT_THAT(refused.message, HasSubstr("format 2"));
  EXPECT_THAT(refused.message, HasSubstr("newer ktracectl"));
  EXPECT_THAT(refused.message, HasSubstr(path.string()));
}

TEST_F(HistoryTest, AnUnfinishedTraceIsShownOnlyWhenAskedFor) {
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

TEST_F(HistoryTest, AWriterThatIsGivenUpLeavesNothing) {
  begin_trace(directory_.path() / "t", {.schema = schema_, .packets = two_cpus()});
  EXPECT_TRUE(fs::is_empty(directory_.path()));
}

TEST_F(HistoryTest, AWriterDoesNotTouchWhatIsThere) {
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

TEST_F(HistoryTest, WhatIsMissingIsNamedAndTheRestIsShown) {
  EXPECT_THAT(error({directory_.path() / "no"}).message, HasSubstr("no trace directory"));
  EXPECT_THAT(error({directory_.path()}).message, HasSubstr("a trace directory?"));
  auto path = write("t", {.packets = two_cpus()});
  for (const char* name : {"ctf/cpu1", "tasks.json", "caches.json", "symbols.json"}) {
    std::string content = read_file(path / name);
    fs::remove(path / name);
    Outcome outcome = read({path});
    ASSERT_FALSE(outcome.verdict) << name;
    EXPECT_EQ(outcome.verdict.error().code, ExitCode::data);
    EXPECT_THAT(outcome.verdict.error().message, HasSubstr(name));
    EXPECT_THAT(outcome.notes.text_, HasSubstr("0:10"));
    write_file(path / name, content);
  }
  EXPECT_EQ(text({path}), kTwoCpus);
  fs::copy(path / "ctf/cpu0", path / "ctf/cpu7");
  EXPECT_THAT(error({path}).message, HasSubstr("cpu7"));
}

TEST_F(HistoryTest, AFileCutOffAnywhereGivesItsWholePacketsAndOneError) {
  use_small_schema();
  auto path = write("t", {.packets = two_cpus()});
  auto file = path / "ctf/cpu0";
  std::string whole = read_file(file);
  std::vector<size_t> ends = {0};
  std::vector<std::string> expected = {"1:20 1:50 1:60", "0:10 1:20 0:40 1:50 1:60",
                                       "0:10 1:20 0:40 0:40-3 1:50 1:60"};
  while (ends.back() < whole.size())
    ends.push_back(ends.back() +
                   *packet_bytes(std::as_bytes(std::span(whole)).subspan(ends.back())));
  ASSERT_EQ(ends.size(), 4U);
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file(file, std::string_view(whole).substr(0, size));
    Outcome outcome = read({path});
    auto packets = static_cast<size_t>(std::ranges::upper_bound(ends, size) - ends.begin() - 1);
    EXPECT_EQ(outcome.notes.text_, expected[packets]) << size;
    ASSERT_FALSE(outcome.verdict) << size;
    EXPECT_EQ(outcome.verdict.error().code, ExitCode::data);
    EXPECT_THAT(outcome.verdict.error().message,
                HasSubstr(fmt::format("{} is damaged", file.string())));
    EXPECT_THAT(outcome.verdict.error().message,
                HasSubstr(fmt::format("at byte {}", ends[packets])));
  }
}

TEST_F(HistoryTest, AJsonFileCutOffAnywhereIsAnError) {
  use_small_schema();
  auto path = write("t", {.packets = two_cpus(),
                          .names = {task_name(5, 1, 5, "bash"), cache_name(7, "dentry")},
                          .symbols = {{0xffffffff81000000, "_stext+0x0/0x10"}}});
  for (const char* name : {"manifest.json", "tasks.json", "caches.json", "symbols.json"}) {
    std::string whole = read_file(path / name);
    for (size_t size = 0; size + 2 < whole.size(); ++size) {
      write_file(path / name, std::string_view(whole).substr(0, size));
      Error damage = error({path});
      EXPECT_EQ(damage.code, ExitCode::data);
      EXPECT_THAT(damage.message, HasSubstr(name));
    }
    write_file(path / name, whole);
  }
}

// Whatever is in the files: the reader ends, in bounds, and gives no more than there was.
TEST_F(HistoryTest, FlippedBytesDoNoHarm) {
  TraceSpec spec{.packets = two_cpus(),
                 .names = {task_name(5, 1, 5, "bash"), cache_name(7, "dentry")},
                 .symbols = {{0xffffffff81000000, "_stext+0x0/0x10"}}};
  use_small_schema();
  auto path = write("t", spec);
  std::mt19937_64 random(11);
  size_t unharmed = 0;
  for (const char* name :
       {"ctf/cpu0", "ctf/cpu1", "manifest.json", "tasks.json", "caches.json", "symbols.json"}) {
    std::string whole = read_file(path / name);
    for (int i = 0; i < 500; ++i) {
      std::string changed = whole;
      for (uint64_t flips = 1 + random() % 3; flips > 0; --flips)
        changed[random() % changed.size()] ^= static_cast<char>(1U << random() % 8);
      write_file(path / name, changed);
      Outcome outcome = read({path});
      EXPECT_LE(outcome.notes.records_, 6U);
      unharmed += outcome.verdict.has_value();
    }
    write_file(path / name, whole);
  }
  EXPECT_GT(unharmed, 0U) << "there are bytes that may have any value";
}

TEST_F(HistoryTest, APacketThatIsNotOfThisTraceIsRefused) {
  auto path = write("t", {.packets = {packet(0, {10}), packet(0, {20}), packet(0, {30})}});
  auto file = path / "ctf/cpu0";
  const std::string whole = read_file(file);
  const size_t size = whole.size() / 3;
  auto change = [&](size_t offset, auto value) {
    std::string changed = whole;
    std::memcpy(changed.data() + size + offset, &value, sizeof(value));
    write_file(file, changed);
    Outcome outcome = read({path});
    EXPECT_EQ(outcome.notes.text_, "0:10");
    EXPECT_FALSE(outcome.verdict);
    if (outcome.verdict) return;
    EXPECT_THAT(outcome.verdict.error().message, HasSubstr(fmt::format("at byte {}", size)));
  };
  change(offsetof(PacketHeader, uuid), uint8_t{1});
  change(offsetof(PacketHeader, stream_id), uint32_t{1});
  change(offsetof(PacketHeader, cpu_id), uint32_t{1});
  change(offsetof(PacketHeader, timestamp_begin), uint64_t{9});
  change(offsetof(PacketHeader, timestamp_end), uint64_t{9});
  change(sizeof(PacketHeader), uint64_t{21});
}

}  // namespace
}  // namespace ktraced::test

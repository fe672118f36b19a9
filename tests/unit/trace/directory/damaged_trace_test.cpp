// SPDX-License-Identifier: BSD-2-Clause
// Incomplete trace directories: each causes one clear error, and the readable part is shown.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <ranges>

#include "unit/trace/merge/history_fixture.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

using DamagedTrace = HistoryTest;

class TraceFormats : public HistoryTest {
 protected:
  // A trace whose manifest has this format.
  fs::path of_format(uint64_t format) {
    auto path = write("format" + std::to_string(format), {.packets = two_cpus()});
    auto manifest = nlohmann::json::parse(read_file(path / "manifest.json"));
    manifest["format"] = format;
    write_file(path / "manifest.json", manifest.dump());
    return path;
  }
  void expect_refusal(uint64_t format, std::string_view remedy) {
    const auto path = of_format(format);
    const Error refused = error({path});
    EXPECT_EQ(refused.code, ExitCode::data);
    EXPECT_THAT(refused.message, HasSubstr(path.string()));
    EXPECT_THAT(refused.message,
                HasSubstr(fmt::format("the trace has format {}, this program reads 1 to 4: use {}",
                                      format, remedy)));
  }
};

TEST_F(TraceFormats, AreRefusedInOneSentenceIfNewerOrTooOld) {
  expect_refusal(Manifest::kFormat + 1, "a newer ktracectl");
  expect_refusal(UINT64_MAX, "a newer ktracectl");
  expect_refusal(0, "an older ktracectl");
}

TEST_F(TraceFormats, AreReadFromTheOldestToTheNewest) {
  for (uint64_t format = Manifest::kOldestFormat; format <= Manifest::kFormat; ++format)
    EXPECT_EQ(text({of_format(format)}), kTwoCpus) << format;
}

// Readers that know no stacks read all other traces.
TEST_F(TraceFormats, AreTheNewestOnlyOfTracesWithStacks) {
  const auto format_of = [](const fs::path& path) {
    return nlohmann::json::parse(read_file(path / "manifest.json"))["format"];
  };
  EXPECT_EQ(format_of(write("without", {.packets = two_cpus()})), Manifest::kFormat - 1);
  TraceSpec spec{.packets = two_cpus()};
  spec.packets.push_back(
      {.records = {with_stacks(bare_record(1000), {.kernel = 1ULL << 63, .user = 0})}});
  EXPECT_EQ(format_of(write("with", spec)), Manifest::kFormat);
}

TEST_F(DamagedTrace, NamesMissingFilesAndShowsTheRest) {
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

class DamagedPacket : public DamagedTrace {
 protected:
  // What can be read of two_cpus() when the file of CPU 0 is cut at a byte: each entry from its
  // number of bytes on.
  struct Shown {
    size_t from;
    const char* items;
  };
  static constexpr size_t kRecord = sizeof(rec_kfree);
  static constexpr size_t kFirst = sizeof(PacketHeader);
  static constexpr size_t kOnlyLosses = kFirst + 2 * kRecord;
  static constexpr size_t kLast = kOnlyLosses + sizeof(PacketHeader) + sizeof(Lost);
  static constexpr Shown kShown[] = {{0, "1:20 1:50 1:60"},
                                     {kFirst + kRecord, "0:10 1:20 1:50 1:60"},
                                     {kFirst + 2 * kRecord, "0:10 1:20 0:40 1:50 1:60"},
                                     {kLast, "0:10 1:20 0:40 0:40-3 1:50 1:60"}};

  static size_t packet_at(size_t size) {
    return size < kOnlyLosses ? 0 : size < kLast ? kOnlyLosses : kLast;
  }
  static std::string_view shown_at(size_t size) {
    return std::prev(std::ranges::upper_bound(kShown, size, {}, &Shown::from))->items;
  }
  // The bytes of those items that are records.
  static Bytes records_of(std::string_view items) {
    Bytes bytes;
    for (const auto item : std::views::split(items, ' ')) {
      const std::string text(item.begin(), item.end());
      if (text.contains('-')) continue;
      const Bytes record = record_at(std::stoull(text.substr(text.find(':') + 1)));
      bytes.insert(bytes.end(), record.begin(), record.end());
    }
    return bytes;
  }

  const fs::path path_ = [this] {
    use_small_schema();
    return write("t", {.packets = two_cpus()});
  }();
  const fs::path file_ = path_ / "ctf/cpu0";
  const std::string whole_ = read_file(file_);
};

TEST_F(DamagedPacket, TruncatedAtAnyByteGivesItsWholeRecordsAndOneError) {
  uint64_t before = 0;
  for (size_t size = 0; size < whole_.size(); ++size) {
    write_file(file_, std::string_view(whole_).substr(0, size));
    const Outcome outcome = read({path_});
    EXPECT_EQ(outcome.notes.text_, shown_at(size)) << size;
    EXPECT_EQ(outcome.notes.bytes_, records_of(shown_at(size))) << size;
    EXPECT_TRUE(outcome.notes.in_order_) << size;
    EXPECT_GE(outcome.notes.records_, before) << size;
    before = outcome.notes.records_;
    ASSERT_FALSE(outcome.verdict) << size;
    EXPECT_EQ(outcome.verdict.error().code, ExitCode::data);
    EXPECT_THAT(outcome.verdict.error().message,
                AllOf(HasSubstr(fmt::format("{} is damaged", file_.string())),
                      HasSubstr(fmt::format("at byte {}", packet_at(size)))));
  }
}

// A crash may leave a file of the right length, the end of which was never written.
TEST_F(DamagedPacket, OfZerosAfterAnyRecordGivesTheRecordsBeforeThem) {
  for (const size_t size : {kFirst, kFirst + kRecord, kOnlyLosses, kLast}) {
    std::string zeros = whole_;
    std::ranges::fill(zeros.begin() + static_cast<ptrdiff_t>(size), zeros.end(), '\0');
    write_file(file_, zeros);
    const Outcome outcome = read({path_});
    EXPECT_EQ(outcome.notes.text_, shown_at(size)) << size;
    ASSERT_FALSE(outcome.verdict) << size;
    EXPECT_EQ(outcome.verdict.error().code, ExitCode::data);
  }
}

TEST_F(DamagedPacket, GivesTheLossesBeforeItsWholeRecords) {
  const auto path = write("lossy", {.packets = {packet(0, {10}),
                                                {.cpu = 0,
                                                 .records = {record_at(20), record_at(30)},
                                                 .lost = {{.count = 5, .event_id = 1}}}}});
  fs::resize_file(path / "ctf/cpu0", fs::file_size(path / "ctf/cpu0") - 1);
  const Outcome outcome = read({path});
  EXPECT_EQ(outcome.notes.text_, "0:10 0:10-5 0:20");
  EXPECT_FALSE(outcome.verdict);
}

TEST_F(DamagedPacket, GivesItsWholeRecordsInWhateverContextTheyWereMade) {
  PacketSpec spec;
  Bytes records;
  for (uint64_t context = 0; context <= RECORD_CONTEXT; ++context) {
    spec.records.push_back(
        in_context(static_cast<record_context>(context), record_at(10 + context)));
    records.insert(records.end(), spec.records.back().begin(), spec.records.back().end());
  }
  const auto path = write("contexts", {.packets = {spec}});
  const std::string whole = read_file(path / "ctf/cpu0");
  const Outcome undamaged = read({path});
  EXPECT_TRUE(undamaged.verdict) << undamaged.verdict.error().message;
  EXPECT_EQ(undamaged.notes.bytes_, records);
  for (size_t size = kFirst; size < whole.size(); ++size) {
    write_file(path / "ctf/cpu0", std::string_view(whole).substr(0, size));
    const Outcome outcome = read({path});
    EXPECT_FALSE(outcome.verdict) << size;
    const size_t bytes = (size - kFirst) / kRecord * kRecord;
    EXPECT_EQ(outcome.notes.bytes_,
              Bytes(records.begin(), std::next(records.begin(), static_cast<ptrdiff_t>(bytes))))
        << size;
  }
}

TEST_F(DamagedPacket, IsUnreadableFromItsLastWholeRecordOn) {
  fs::resize_file(file_, kFirst + kRecord + 1);
  auto history = History::open(std::vector{path_});
  ASSERT_TRUE(history);
  std::vector<History::Unreadable> unreadable;
  Notes notes;
  history->on_unreadable([&](const History::Unreadable& what) {
    unreadable.push_back(what);
    EXPECT_EQ(notes.text_, "0:10") << "no later event is given before";
  });
  while (history->read(notes)) {
  }
  ASSERT_EQ(unreadable.size(), 1U);
  EXPECT_EQ(unreadable[0].cpu, 0U);
  EXPECT_EQ(unreadable[0].ts, 10U);
}

TEST_F(DamagedPacket, OfAnUnfinishedTraceBelongsToItsWindowAndIsNoError) {
  const auto path = directory_.path() / "u";
  begin_trace(path, {.schema = schema_, .packets = {packet(0, {10, 20}), packet(0, {30, 40, 50})}})
      ->keep_unfinished();
  const fs::path partial = path.string() + ".partial";
  fs::resize_file(partial / "ctf/cpu0", fs::file_size(partial / "ctf/cpu0") - 1);
  auto history = History::open(std::vector{partial}, true);
  ASSERT_TRUE(history);
  const TimeWindow extent = history->extent(0);
  EXPECT_EQ(extent.begin_ns, 10U);
  EXPECT_EQ(extent.end_ns, 40U);
  const Outcome outcome = read_all(*history);
  EXPECT_EQ(outcome.notes.text_, "0:10 0:20 0:30 0:40");
  EXPECT_TRUE(outcome.verdict) << outcome.verdict.error().message;
}

class DamagedFile : public DamagedTrace {
 protected:
  // Replaces the file by `content` and reads the trace. An error must be one sentence that names
  // the file and the remedy.
  Outcome read_with(const std::string& name, std::string_view content) {
    write_file(path_ / name, content);
    Outcome outcome = read({path_});
    EXPECT_LE(outcome.notes.records_, 6U);
    if (outcome.verdict) return outcome;
    const Error& error = outcome.verdict.error();
    EXPECT_EQ(error.code, ExitCode::data);
    EXPECT_THAT(error.message, HasSubstr(path_.string() + "/"));
    EXPECT_THAT(error.message, AnyOf(HasSubstr("copy it again"), HasSubstr("babeltrace2 reads"),
                                     HasSubstr("use a newer ktracectl")));
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    return outcome;
  }
  // Unreadable names cause no loss of events.
  void expect_names_lost(const std::string& name, const Outcome& outcome) {
    EXPECT_EQ(outcome.notes.text_, kTwoCpus);
    if (!outcome.verdict) {
      EXPECT_THAT(outcome.verdict.error().message, HasSubstr((path_ / name).string()));
    }
  }

  const fs::path path_ = [this] {
    use_small_schema();
    return write("t", {.packets = two_cpus(),
                       .names = {task_name(5, 1, 5, "bash"), cache_name(7, "dentry")},
                       .symbols = {{0xffffffff81000000, "_stext+0x0/0x10"}}});
  }();
  const std::vector<std::string> names_ = {"tasks.json", "caches.json", "symbols.json"};
  std::mt19937_64 random_{11};
};

// `whole` with the byte at `at` changed.
std::string flipped(std::string whole, size_t at, uint64_t bits) {
  whole[at] = static_cast<char>(static_cast<unsigned char>(whole[at]) ^ bits);
  return whole;
}

TEST_F(DamagedFile, ReportsAnErrorForATruncatedManifest) {
  const std::string whole = read_file(path_ / "manifest.json");
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    Outcome outcome = read_with("manifest.json", std::string_view(whole).substr(0, size));
    ASSERT_FALSE(outcome.verdict) << size;
    EXPECT_THAT(outcome.verdict.error().message, HasSubstr("manifest.json is damaged at byte"));
  }
}

TEST_F(DamagedFile, ShowsAllEventsWithAnErrorForTruncatedNames) {
  for (const std::string& name : names_) {
    const std::string whole = read_file(path_ / name);
    for (size_t size = 0; size + 1 < whole.size(); ++size) {
      Outcome outcome = read_with(name, std::string_view(whole).substr(0, size));
      EXPECT_FALSE(outcome.verdict) << name << " " << size;
      expect_names_lost(name, outcome);
    }
    write_file(path_ / name, whole);
  }
}

// For any content of the files, the reader ends, stays in bounds, and returns no more than was
// written.
TEST_F(DamagedFile, SurvivesAFlippedBitAnywhere) {
  size_t unharmed = 0;
  for (const char* name :
       {"ctf/cpu0", "ctf/cpu1", "manifest.json", "tasks.json", "caches.json", "symbols.json"}) {
    const std::string whole = read_file(path_ / name);
    for (size_t at = 0; at < whole.size(); ++at) {
      Outcome outcome = read_with(name, flipped(whole, at, 1U << random_() % 8));
      unharmed += outcome.verdict.has_value();
      if (std::ranges::count(names_, name) != 0) expect_names_lost(name, outcome);
    }
    write_file(path_ / name, whole);
  }
  EXPECT_GT(unharmed, 0U) << "some bytes may have any value";
}

TEST_F(DamagedFile, SurvivesSeveralFlippedBytes) {
  for (const char* name :
       {"ctf/cpu0", "ctf/cpu1", "manifest.json", "tasks.json", "caches.json", "symbols.json"}) {
    const std::string whole = read_file(path_ / name);
    for (int i = 0; i < 300; ++i) {
      std::string changed = whole;
      for (uint64_t flips = 1 + random_() % 3; flips > 0; --flips)
        changed = flipped(std::move(changed), random_() % whole.size(), random_() % 256);
      read_with(name, changed);
    }
    write_file(path_ / name, whole);
  }
}

// ctf/metadata is for other readers; ours uses the schema in the manifest.
TEST_F(DamagedFile, DoesNotNeedTheMetadata) {
  const std::string whole = read_file(path_ / "ctf/metadata");
  auto expect_all = [&](std::string_view content) {
    Outcome outcome = read_with("ctf/metadata", content);
    EXPECT_TRUE(outcome.verdict) << outcome.verdict.error().message;
    EXPECT_EQ(outcome.notes.text_, kTwoCpus);
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    expect_all(std::string_view(whole).substr(0, at));
    expect_all(flipped(whole, at, 1U << random_() % 8));
  }
  fs::remove(path_ / "ctf/metadata");
  EXPECT_EQ(text({path_}), kTwoCpus);
}

// Renames before removing, like retention.
void remove_trace(const fs::path& trace) {
  const fs::path removing = trace.string() + ".partial";
  fs::rename(trace, removing);
  fs::remove_all(removing);
}

TEST_F(DamagedFile, IsNotReportedAsDamagedWhenRemovedBeforeReading) {
  auto history = History::open(std::vector{path_});
  ASSERT_TRUE(history);
  remove_trace(path_);
  Outcome outcome = read_all(*history);
  ASSERT_FALSE(outcome.verdict);
  EXPECT_EQ(outcome.verdict.error().code, ExitCode::io);
  EXPECT_EQ(outcome.verdict.error().message,
            fmt::format("{} was removed while it was read", path_.string()));
}

TEST_F(DamagedFile, IsReadToTheEndWhenRemovedDuringReading) {
  auto history = History::open(std::vector{path_});
  ASSERT_TRUE(history);
  Notes notes;
  ASSERT_TRUE(history->read(notes));
  remove_trace(path_);
  while (history->read(notes)) {
  }
  EXPECT_TRUE(history->verdict());
  EXPECT_EQ(notes.text_, kTwoCpus);
}

TEST_F(DamagedFile, IsNamedWhenFinishedDuringReading) {
  const fs::path partial = path_.string() + ".partial";
  fs::rename(path_, partial);
  auto history = History::open(std::vector{partial}, true);
  ASSERT_TRUE(history);
  fs::rename(partial, path_);
  Outcome outcome = read_all(*history);
  ASSERT_FALSE(outcome.verdict);
  EXPECT_THAT(outcome.verdict.error().message, HasSubstr("show " + path_.string()));
}

TEST_F(DamagedTrace, RefusesAPacketOfAnotherTrace) {
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

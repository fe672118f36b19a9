// SPDX-License-Identifier: BSD-2-Clause
// Parts of histories.
#include <gmock/gmock.h>

#include "unit/trace/merge/history_fixture.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class HistoryWindow : public HistoryTest {
 protected:
  static Outcome read_part(const std::vector<fs::path>& paths, TimeWindow window,
                           bool unfinished = false) {
    auto history = History::open(paths, unfinished);
    if (!history) return {.notes = {}, .verdict = propagate(history)};
    history->set_window(window);
    return read_all(*history);
  }
  static std::string part(const std::vector<fs::path>& paths, uint64_t begin, uint64_t end) {
    Outcome outcome = read_part(paths, {.begin_ns = begin, .end_ns = end});
    EXPECT_TRUE(outcome.verdict) << outcome.verdict.error().message;
    return outcome.notes.text_;
  }
};

TEST_F(HistoryWindow, HasItsRecordsAndLosses) {
  const auto path = write("t", {.packets = two_cpus()});
  EXPECT_EQ(part({path}, 0, UINT64_MAX), kTwoCpus);
  EXPECT_EQ(part({path}, 40, 60), "0:40 0:40-3 0:45-5 0:45-1 1:50 1:60");
  EXPECT_EQ(part({path}, 0, 40), "0:10 1:20 0:40 0:40-3");
  EXPECT_EQ(part({path}, 61, 69), "0:61-5 0:61-1") << "lost between 45 and 70";
  EXPECT_EQ(part({path}, 71, 100), "");
}

TEST_F(HistoryWindow, HasALossThatBeginsBeforeItAtItsBegin) {
  const auto path = write("t", {.packets = two_cpus()});
  EXPECT_EQ(part({path}, 46, UINT64_MAX), "0:46-5 0:46-1 1:50 1:60 0:70");
}

TEST_F(HistoryWindow, CanLackTimes) {
  auto history = History::open(std::vector{write("t", {.packets = two_cpus()})});
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_TRUE(history->is_whole());
  history->leave_out({{.begin_ns = 15, .end_ns = 20}, {.begin_ns = 45, .end_ns = 59}});
  EXPECT_FALSE(history->is_whole());
  EXPECT_EQ(read_all(*history).notes.text_, "0:10 0:40 0:40-3 0:60-5 0:60-1 1:60 0:70")
      << "lost between 45 and 70";
}

TEST_F(HistoryWindow, IsNotDamageOfWhatIsLeftOut) {
  TraceSpec spec;
  for (uint64_t ts = 10; ts < 10'000; ts += 10) spec.packets.push_back(packet(0, {ts}));
  const auto path = write("t", spec);
  EXPECT_EQ(part({path}, 5'000, 5'020), "0:5000 0:5010 0:5020");
  EXPECT_EQ(part({path}, 9'985, UINT64_MAX), "0:9990");
  EXPECT_EQ(part({path}, 10'000, UINT64_MAX), "");
}

TEST_F(HistoryWindow, ReportsDamageInItOnly) {
  TraceSpec spec;
  for (uint64_t ts = 10; ts <= 100; ts += 10) spec.packets.push_back(packet(0, {ts}));
  const auto path = write("t", spec);
  std::string bytes = read_file(path / "ctf/cpu0");
  const size_t size = bytes.size() / 10;
  bytes[size * 4 + sizeof(PacketHeader) + offsetof(record, size)] = 1;  // the record at 50
  write_file(path / "ctf/cpu0", bytes);
  EXPECT_EQ(part({path}, 60, 80), "0:60 0:70 0:80");
  const Outcome damaged = read_part({path}, {.begin_ns = 30, .end_ns = 80});
  EXPECT_EQ(damaged.notes.text_, "0:30 0:40");
  ASSERT_FALSE(damaged.verdict);
  EXPECT_THAT(damaged.verdict.error().message, HasSubstr("is damaged at byte"));
}

TEST_F(HistoryWindow, LeavesOutWholeTraces) {
  const auto write_at = [this](const std::string& name, uint64_t begin) {
    return write(
        name,
        {.packets = {packet(0, {begin, begin + 5})}, .begin_ns = begin, .end_ns = begin + 10});
  };
  const auto a = write_at("a", 100), b = write_at("b", 200), c = write_at("c", 300);
  fs::remove(a / "ctf/cpu0");
  fs::remove(c / "ctf/cpu0");
  EXPECT_EQ(part({a, b, c}, 150, 250), "1/0:200 1/0:205") << "files of the others are not opened";
}

TEST_F(HistoryWindow, ExtentIsThatOfAllTraces) {
  const auto a = write("a", {.packets = two_cpus(), .begin_ns = 5, .end_ns = 90});
  auto finished = History::open(std::vector{a});
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->extent(0).begin_ns, 5U);
  EXPECT_EQ(finished->extent(0).end_ns, 90U);
  fs::rename(a, a.string() + ".partial");
  auto unfinished = History::open(std::vector{fs::path(a.string() + ".partial")}, true);
  ASSERT_TRUE(unfinished);
  EXPECT_EQ(unfinished->extent(0).begin_ns, 10U);
  EXPECT_EQ(unfinished->extent(0).end_ns, 70U);
}

}  // namespace
}  // namespace ktraced::test

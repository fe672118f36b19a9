// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/reversed_scan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "unit/ctl/query/query_fixture.h"

namespace ktraced::test {
namespace {

// Rows of a time and a text, which counts those that are read.
class TimeTable : public QueryTable {
 public:
  TimeTable(std::vector<uint64_t> times, Span span)
      : QueryTable("times", "times"), times_(std::move(times)), span_(span) {}
  [[nodiscard]] std::optional<size_t> order() const override { return 1; }
  [[nodiscard]] Span span() const override { return span_; }
  [[nodiscard]] uint64_t rows() const override { return times_.size(); }
  [[nodiscard]] uint64_t records() const override { return times_.size(); }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                              const std::atomic<bool>& /*stop*/) const override {
    return std::make_unique<Scan>(*this, limits);
  }
  [[nodiscard]] const std::vector<uint64_t>& times() const { return times_; }
  [[nodiscard]] size_t read() const { return read_; }

 private:
  class Scan : public RowScan {
   public:
    Scan(const TimeTable& table, const ScanLimits& limits)
        : table_(table),
          at_(std::ranges::lower_bound(table.times_, limits.begin_ns) - table.times_.begin() - 1),
          end_(std::ranges::upper_bound(table.times_, limits.end_ns) - table.times_.begin()) {}
    bool next() override {
      ++table_.read_;
      return ++at_ < end_;
    }
    Value value(size_t column) override {
      const uint64_t ts = table_.times_[static_cast<size_t>(at_)];
      text_ = "at " + std::to_string(ts);
      return column == 1 ? Value::integer(ts) : Value::of(text_);
    }
    int64_t rowid() override { return at_; }

   private:
    const TimeTable& table_;
    ptrdiff_t at_, end_;
    std::string text_;
  };

  std::vector<uint64_t> times_;
  Span span_;
  mutable size_t read_ = 0;
};

// 300,000 rows, most of them in the last tenth; many have the same time.
TimeTable uneven() {
  std::vector<uint64_t> times;
  for (uint64_t i = 0; i < 300'000; ++i) times.push_back(i < 1000 ? i * 900 : 900'000 + i / 3);
  return {std::move(times), {.begin_ns = 0, .end_ns = 1'000'000}};
}

const std::atomic<bool> kNeverStopped = false;

TEST(ReversedScan, HasAllRowsFromTheLastToTheFirst) {
  const TimeTable table = uneven();
  ReversedScan scan(table, {}, {0, 1}, kNeverStopped);
  for (size_t row = table.times().size(); row-- != 0;) {
    ASSERT_TRUE(scan.next());
    ASSERT_EQ(scan.value(1).number, static_cast<int64_t>(table.times()[row]));
    ASSERT_EQ(scan.value(0).text, "at " + std::to_string(table.times()[row]));
    ASSERT_EQ(scan.rowid(), static_cast<int64_t>(row));
  }
  EXPECT_FALSE(scan.next());
  EXPECT_FALSE(scan.next());
  EXPECT_LT(table.read(), 2 * table.times().size()) << "parts that are too large are read again";
}

TEST(ReversedScan, ReadsFewRowsForTheLastOnes) {
  const TimeTable table = uneven();
  ReversedScan scan(table, {}, {1}, kNeverStopped);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(scan.next());
  EXPECT_LT(table.read(), 10 * ReversedScan::kFewRows);
}

TEST(ReversedScan, HasTheRowsOfItsLimits) {
  const TimeTable table({1, 5, 5, 7, 9}, {.begin_ns = 4, .end_ns = 8});
  const auto times = [&](const ScanLimits& limits) {
    ReversedScan scan(table, limits, {1}, kNeverStopped);
    std::string out;
    while (scan.next()) out += std::to_string(scan.value(1).number) + " ";
    return out;
  };
  EXPECT_EQ(times({}), "9 7 5 5 1 ") << "also those before and behind the time of the table";
  EXPECT_EQ(times({.begin_ns = 5, .end_ns = 7}), "7 5 5 ");
  EXPECT_EQ(times({.begin_ns = 6, .end_ns = 6}), "");
  EXPECT_EQ(times({.begin_ns = 8, .end_ns = 3}), "");
  EXPECT_EQ(times({.begin_ns = 9}), "9 ");
}

TEST(ReversedScan, TakesAnyNumberOfRowsWithOneTime) {
  const TimeTable table(std::vector<uint64_t>(5000, 77), {.begin_ns = 70, .end_ns = 80});
  ReversedScan scan(table, {}, {1}, kNeverStopped);
  size_t rows = 0;
  while (scan.next()) ++rows;
  EXPECT_EQ(rows, 5000U);
}

TEST(ReversedScan, Stops) {
  const TimeTable table = uneven();
  const std::atomic<bool> stopped = true;
  ReversedScan scan(table, {}, {1}, stopped);
  EXPECT_FALSE(scan.next());
}

}  // namespace
}  // namespace ktraced::test

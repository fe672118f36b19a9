// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/grouped_scan.h"

#include <array>
#include <string>
#include <utility>

#include "unit/ctl/query/query_fixture.h"

namespace ktraced::test {
namespace {

// Rows of a number and a text.
class PairScan : public RowScan {
 public:
  using Rows = std::vector<std::pair<std::optional<int64_t>, std::string>>;
  explicit PairScan(Rows rows) : rows_(std::move(rows)) {}

  bool next() override { return ++at_ <= rows_.size(); }
  Value value(size_t column) override {
    const auto& [number, text] = rows_[at_ - 1];
    if (column == 1) return Value::of(text);
    return number ? Value::integer(static_cast<uint64_t>(*number)) : Value::null();
  }
  int64_t rowid() override { return static_cast<int64_t>(at_); }

 private:
  Rows rows_;
  size_t at_ = 0;
};

std::string rows_of(GroupedScan& scan, std::vector<size_t> columns) {
  std::string out;
  while (scan.next()) {
    for (const size_t column : columns) {
      const Value value = scan.value(column);
      out += value.type == Value::Type::text      ? std::string(value.text)
             : value.type == Value::Type::integer ? std::to_string(value.number)
                                                  : "-";
      out += ' ';
    }
  }
  return out;
}

const PairScan::Rows kRows = {{2, "b"}, {1, "c"}, {2, "a"}, {std::nullopt, "x"},
                              {2, "b"}, {-1, ""}};

TEST(GroupedScan, SortsRowsByTheirKeysAndKeepsTheirNumber) {
  GroupedScan up(std::make_unique<PairScan>(kRows), {.keys = {{0}, {1, true}}, .used = {0, 1}},
                 1 << 20);
  EXPECT_EQ(rows_of(up, {0, 1}), "- x -1  1 c 2 b 2 b 2 a ");
  GroupedScan down(std::make_unique<PairScan>(kRows), {.keys = {{0, true}}, .used = {0}}, 1 << 20);
  EXPECT_EQ(rows_of(down, {0}), "2 2 2 1 -1 - ");
  GroupedScan none(std::make_unique<PairScan>(PairScan::Rows()), {.keys = {{0}}, .used = {0}},
                   1 << 20);
  EXPECT_FALSE(none.next());
}

TEST(GroupedScan, HoldsManyDifferentRows) {
  PairScan::Rows rows;
  for (int64_t i = 0; i < 5000; ++i) rows.emplace_back((i * 7919) % 5000, "");
  GroupedScan scan(std::make_unique<PairScan>(rows), {.keys = {{0}}, .used = {0}}, 1 << 20);
  for (int64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(scan.next());
    EXPECT_EQ(scan.value(0).number, i);
  }
  EXPECT_FALSE(scan.next());
}

// Rows of which all texts differ, with three keys: 2, 1, NULL, 2 …
PairScan::Rows many_rows_of_few_groups() {
  PairScan::Rows rows;
  for (int64_t i = 0; i < 100'000; ++i)
    rows.emplace_back(i % 3 == 2 ? std::nullopt : std::optional(2 - i % 3), std::to_string(i));
  return rows;
}

TEST(GroupedScan, SortsGroupsOnlyIfTheirRowsDiffer) {
  for (const bool descending : {false, true}) {
    GroupedScan scan(std::make_unique<PairScan>(many_rows_of_few_groups()),
                     {.keys = {{0, descending}}, .used = {0, 1}}, uint64_t{1} << 30);
    for (const int64_t rest : descending ? std::array{0, 1, 2} : std::array{2, 1, 0})
      for (int64_t i = rest; i < 100'000; i += 3) {
        ASSERT_TRUE(scan.next());
        ASSERT_EQ(scan.value(1).text, std::to_string(i));
        ASSERT_EQ(scan.value(0).type, rest == 2 ? Value::Type::null : Value::Type::integer);
        ASSERT_EQ(scan.value(0).number, rest == 2 ? 0 : 2 - rest);
      }
    EXPECT_FALSE(scan.next());
  }
}

// After the sample every row is stored, also those that equal an earlier one.
TEST(GroupedScan, KeepsTheNumberOfEqualRowsBehindTheSample) {
  PairScan::Rows rows = many_rows_of_few_groups();
  for (int i = 0; i < 1000; ++i) rows.emplace_back(1, "same");
  rows.insert(rows.begin(), {{1, "same"}, {1, "same"}});
  GroupedScan scan(std::make_unique<PairScan>(rows), {.keys = {{0}}, .used = {0, 1}},
                   uint64_t{1} << 30);
  uint64_t all = 0, same = 0;
  while (scan.next()) {
    ++all;
    if (scan.value(1).text == "same") ++same;
  }
  EXPECT_EQ(all, rows.size());
  EXPECT_EQ(same, 1002U);
}

TEST(GroupedScan, StopsWhenRowsOfFewGroupsNeedTooMuchMemory) {
  GroupedScan scan(std::make_unique<PairScan>(many_rows_of_few_groups()),
                   {.keys = {{0}}, .used = {0, 1}}, 10'000'000);
  EXPECT_FALSE(scan.next());
  EXPECT_TRUE(scan.out_of_memory());
}

TEST(GroupedScan, StopsWhenItNeedsTooMuchMemory) {
  PairScan::Rows rows;
  for (int64_t i = 0; i < 5000; ++i) rows.emplace_back(i, "");
  GroupedScan scan(std::make_unique<PairScan>(rows), {.keys = {{0}}, .used = {0}}, 50'000);
  EXPECT_FALSE(scan.next());
  EXPECT_TRUE(scan.out_of_memory());
}

class GroupBy : public QueryTest {
 protected:
  void SetUp() override { open(spec()); }
};

// An expression is grouped by SQLite itself.
TEST_F(GroupBy, GivesWhatSqliteGives) {
  for (const auto& [grouped, sorted] : std::initializer_list<std::pair<const char*, const char*>>{
           {"SELECT event, count(*), min(ts) FROM events GROUP BY event",
            "SELECT event, count(*), min(ts) FROM events GROUP BY event || ''"},
           {"SELECT tid, cpu, count(*) FROM events GROUP BY tid, cpu ORDER BY tid DESC, cpu",
            "SELECT tid, cpu, count(*) FROM events GROUP BY +tid, +cpu ORDER BY tid DESC, cpu"},
           {"SELECT DISTINCT comm FROM events ORDER BY comm DESC",
            "SELECT DISTINCT comm || '' FROM events ORDER BY 1 DESC"},
           {"SELECT error, sum(ret) FROM sys_exit WHERE ts > 1000 GROUP BY error",
            "SELECT error, sum(ret) FROM sys_exit WHERE ts > 1000 GROUP BY error || ''"},
           {"SELECT count(DISTINCT rowid), cpu FROM events GROUP BY cpu",
            "SELECT count(DISTINCT rowid), cpu FROM events GROUP BY +cpu"}}) {
    EXPECT_EQ(query(grouped), query(sorted)) << grouped;
    EXPECT_NE(query(grouped), "") << grouped;
  }
}

TEST_F(GroupBy, FailsWithoutEnoughMemory) {
  open({directory_.path() / "trace"}, 0);
  sqlite3_hard_heap_limit64(0);  // as the limit of grouping only
  EXPECT_EQ(query("SELECT event, count(*) FROM events GROUP BY event"),
            "error: the query needs more than 0 MiB of memory: --memory-mb sets the limit");
}

}  // namespace
}  // namespace ktraced::test

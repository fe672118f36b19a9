// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "ctl/input/report_text.h"

namespace ktraced::test {
namespace {

using nlohmann::json;

std::string name_and_place(const json& row, const json& report) {
  return printable(text_at(row, "name")) + " in " + text_at(report, "place");
}

// A report with a table of all kinds of columns.
class ReportTableTest : public ::testing::Test {
 protected:
  static ReportTable table() {
    using namespace columns;
    return {"things",
            make_columns(text("name", "NAME"), "id", number("cpu", "CPU"), count("hits", "HITS"),
                         loss("lost", "LOST"), bytes("size", "SIZE"), duration("ns", "TOOK"),
                         latency("delay.max_ns", "LONGEST"), time("ts", "AT"),
                         text("", "WHERE", name_and_place), "end", "end.ts")};
  }
  static json report() {
    const json full = {{"name", "a\x1b"}, {"id", 7},
                       {"cpu", 1200},     {"hits", 1234},
                       {"lost", 5},       {"size", 2048},
                       {"ns", 1500},      {"delay", {{"count", 2}, {"max_ns", 3000}}},
                       {"ts", 2'500'000}, {"end", {{"ts", 9}}}};
    const json empty = {
        {"name", "b"}, {"ns", nullptr}, {"delay", {{"count", 0}, {"max_ns", 0}}}, {"end", "=1,2"}};
    return {{"place", "here"}, {"things", {{"rows", {full, empty}}, {"of", 5}}}};
  }
};

TEST_F(ReportTableTest, ShowsEachKindOfValue) {
  EXPECT_EQ(section_text(table(), report(), Colours(false)),
            "NAME    CPU   HITS  LOST     SIZE    TOOK  LONGEST        AT  WHERE\n"
            "a\\x1b  1200  1,234     5    2 KiB  1.5 us     3 us  0.002500  a\\x1b in here\n"
            "b         0      0     0  0 bytes       -        -  0.000000  b in here\n"
            "… 3 more\n\n");
}

TEST_F(ReportTableTest, HasAColumnOfTheWallClockIfThatIsKnown) {
  json known = report();
  known["window"] = {{"begin_ns", 0}, {"clock_offset_ns", 86'400'000'000'000}};
  const TableColumns shown = make_columns(columns::text("name", "NAME"), columns::time("ts", "AT"));
  EXPECT_EQ(table_text(shown, json::parse(R"([{"name":"b"}])"), known, Colours(false)),
            "NAME        AT  WALL CLOCK\n"
            "b     0.000000           -\n");
}

TEST_F(ReportTableTest, ShowsLossesInRed) {
  const TableColumns shown = make_columns(columns::loss("lost", "LOST"));
  EXPECT_EQ(table_text(shown, json::parse(R"([{"lost":0},{"lost":5}])"), {}, Colours(true)),
            "\x1b[1mLOST\x1b[0m\n   0\n\x1b[31m   5\x1b[0m\n");
}

TEST_F(ReportTableTest, IsLeftOutIfItIsEmptyExceptWhereItsHeadingsSaySo) {
  json without = report();
  without["things"]["rows"] = json::array();
  without["things"]["of"] = 0;
  ReportTable table = {"things", make_columns(columns::count("hits", "HITS"))};
  EXPECT_EQ(section_text(table, without, Colours(false)), "");
  table.even_if_empty = true;
  EXPECT_EQ(section_text(table, without, Colours(false)), "HITS\n\n");
}

TEST_F(ReportTableTest, HasTheValuesOfJsonInCsv) {
  EXPECT_EQ(table_csv(table(), report()),
            "name,id,cpu,hits,lost,size,ns,delay.max_ns,ts,end,end.ts\n"
            "a\\x1b,7,1200,1234,5,2048,1500,3000,2500000,,9\n"
            "b,,,,,,,0,,\"'=1,2\",\n");
}

TEST_F(ReportTableTest, HasRowsByNameInCsvInTheOrderOfTheReport) {
  const ReportTable table = {"events", make_columns("event", "events", "lost")};
  const json report = json::parse(
      R"({"by":"lost","events":{"a":{"events":9,"lost":0},"b\"":{"events":1,"lost":2}}})");
  EXPECT_EQ(table_csv(table, report), "event,events,lost\n\"b\"\"\",1,2\na,9,0\n");
}

}  // namespace
}  // namespace ktraced::test

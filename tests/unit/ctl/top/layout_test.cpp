// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "ctl/rates/activity_rates.h"
#include "ctl/rates/rates.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

std::string line_text(const TopLine& line) {
  std::string text;
  for (const TopSpan& span : line) text += span.text;
  return text;
}

std::vector<std::string> screen_of(const TopFrame& frame, const TopState& state, TopSize size) {
  std::vector<std::string> lines;
  for (const TopLine& line : layout(frame, state, size)) lines.push_back(line_text(line));
  return lines;
}

void expect_fits(const std::vector<std::string>& lines, TopSize size) {
  EXPECT_THAT(lines, SizeIs(size.rows));
  for (const std::string& line : lines) {
    EXPECT_LE(text_columns(line), size.columns) << line;
    EXPECT_EQ(line.find_first_of("\x1b\n\r\t"), std::string::npos) << line;
  }
}

// The screen without spaces at the ends of its lines.
std::vector<std::string> trimmed(std::vector<std::string> lines) {
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

// A screen with these first lines and this last one, and nothing between.
std::vector<std::string> golden(std::vector<std::string> lines, const char* last, TopSize size) {
  lines.resize(size.rows - 1);
  lines.emplace_back(last);
  return lines;
}

constexpr const char* kKeys =
    "?help  q quit  /filter  s sort  r reverse  p pause  t snapshot  Tab view";

class TopLayout : public testing::Test {
 protected:
  TopLayout() {
    frame_.header = {.version = "1.0",
                     .kernel = "6.12",
                     .state = "running",
                     .rates = {.recorded = 12345, .filtered = 1, .dropped = 2, .missed = 0},
                     .overhead = "0.420 % of a CPU",
                     .flight_reach_ns = 14'200'000'000,
                     .sessions = 3};
    frame_.table.columns = {{.title = "EVENT", .is_text = true},
                            {.title = "HITS/S"},
                            {.title = "RECORDED/S"},
                            {.title = "FILTERED/S"},
                            {.title = "DROPPED/S"},
                            {.title = "MISSED/S"}};
    add_row("sched_switch");
    for (int i = 1; i < 60; ++i) add_row("event_" + std::to_string(i));
  }
  void add_row(std::string_view name) {
    frame_.table.rows.push_back(
        {text_cell(name), rate_cell(1e6), rate_cell(2), rate_cell(3), loss_cell(4), loss_cell(0)});
  }

  // The view of processes, with the events beside it.
  void show_processes() {
    state_.view = TopView::processes;
    frame_.table.rows.clear();
    add_event("sched_switch", 8000, 7990, 10);
    add_event("sched_wakeup", 4488, 4488, 0);
    frame_.beside = std::exchange(frame_.table, {.columns = {{.title = "PROCESS", .is_text = true},
                                                             {.title = "EVENTS/S"},
                                                             {.title = "SHARE"},
                                                             {.title = "CPU %"},
                                                             {.title = "PID"},
                                                             {.title = "COMMAND", .is_text = true}},
                                                 .rows = {}});
    add_texts({"python3", "7,482", "59.9 %", "187.5", "3684",
               "/usr/bin/python3 -m http.server --directory /srv/files --bind 127.0.0.1 8080"});
    add_texts({"漢字", "3,750", "30.0 %", "0.4", "812", "nginx: worker process"});
    add_texts({"idle", "1,256", "10.1 %", "-", "0", ""});
  }
  void add_event(std::string_view name, double hits, double recorded, double filtered) {
    frame_.table.rows.push_back({text_cell(name), rate_cell(hits), rate_cell(recorded),
                                 rate_cell(filtered), loss_cell(0), loss_cell(0)});
  }
  void add_texts(std::initializer_list<std::string_view> texts) {
    TopRow row;
    for (const std::string_view text : texts) row.push_back(text_cell(text));
    frame_.table.rows.push_back(std::move(row));
  }

  TopFrame frame_;
  TopState state_;
};

TEST_F(TopLayout, NamesTheSnapshotThatHasWhatCameBefore) {
  frame_.header.flight_reach_ns = 0;
  frame_.header.flight_saved_in = "a\x1b";
  EXPECT_NE(
      plain_frame(frame_, state_)
          .find("flight recorder: last 0.0 s, before that saved in snapshot a\\x1b  sessions: 3"),
      std::string::npos);
}

TEST_F(TopLayout, FillsEighty24) {
  const auto lines = screen_of(frame_, state_, {.rows = 24, .columns = 80});
  expect_fits(lines, {.rows = 24, .columns = 80});
  EXPECT_EQ(lines[0], "ktraced running  12,345 events/s  lost 2.0/s (2.0 dropped, 0 missed)");
  EXPECT_EQ(lines[1], "flight recorder: last 14.2 s  sessions: 3  overhead: 0.420 % of a CPU");
  EXPECT_THAT(lines[2], StartsWith("1 Events  2 Processes  3 System calls  4 Sessions  every 1 s"));
  EXPECT_THAT(lines[3], StartsWith("EVENT           HITS/Sv   RECORDED/S"));
  EXPECT_THAT(lines[3], HasSubstr("MISSED/S"));
  EXPECT_EQ(text_columns(lines[3]), 80U) << "the headings reach the edge";
  EXPECT_THAT(lines[4], StartsWith("sched_switch  1,000,000 "));
  EXPECT_THAT(lines[22], StartsWith("event_18"));
  EXPECT_THAT(lines[23], HasSubstr("q quit"));
}

TEST_F(TopLayout, ShowsOneViewOnEighty24) {
  show_processes();
  frame_.recent = {1, 2, 3};
  const TopSize size{.rows = 24, .columns = 80};
  const auto lines = screen_of(frame_, state_, size);
  expect_fits(lines, size);
  EXPECT_EQ(
      trimmed(lines),
      golden({"ktraced running  12,345 events/s  lost 2.0/s (2.0 dropped, 0 missed)",
              "flight recorder: last 14.2 s  sessions: 3  overhead: 0.420 % of a CPU",
              "1 Events  2 Processes  3 System calls  4 Sessions  every 1 s",
              "PROCESS   EVENTS/Sv   SHARE   CPU %   PID  COMMAND",
              "python3       7,482  59.9 %   187.5  3684  /usr/bin/python3 -m http.server --dir",
              "漢字          3,750  30.0 %     0.4   812  nginx: worker process",
              "idle          1,256  10.1 %       -     0"},
             kKeys, size));
  frame_.table.note = "CPU %: needs sched_switch";
  EXPECT_EQ(trimmed(screen_of(frame_, state_, size))[2],
            "1 Events  2 Processes  3 System calls  4 Sessions  CPU %: needs sched_switch");
}

TEST_F(TopLayout, ShowsASecondTableAndTheLastRatesOnTwoHundred50) {
  show_processes();
  frame_.recent = {0, 3086, 6172, 12345};
  const TopSize size{.rows = 50, .columns = 200};
  const auto lines = screen_of(frame_, state_, size);
  expect_fits(lines, size);
  EXPECT_EQ(
      trimmed(lines),
      golden({"ktraced running  12,345 events/s  lost 2.0/s (2.0 dropped, 0 missed)"
              "  last 4 s, up to 12,345/s:  ▂▄█",
              "flight recorder: last 14.2 s  sessions: 3  overhead: 0.420 % of a CPU",
              "1 Events  2 Processes  3 System calls  4 Sessions  every 1 s",
              "PROCESS   EVENTS/Sv   SHARE   CPU %   PID  COMMAND                                "
              "                   EVENT         HITS/Sv   RECORDED/S   FILTERED/S   DROPPED/S   "
              "MISSED/S",
              "python3       7,482  59.9 %   187.5  3684  /usr/bin/python3 -m http.server --direc"
              "tory /srv/files -  sched_switch    8,000        7,990           10           0    "
              "      0",
              "漢字          3,750  30.0 %     0.4   812  nginx: worker process                  "
              "                   sched_wakeup    4,488        4,488            0           0    "
              "      0",
              "idle          1,256  10.1 %       -     0"},
             kKeys, size));
  frame_.table = {};
  frame_.note = "opening a session ...";
  const auto waiting = screen_of(frame_, state_, size);
  EXPECT_THAT(waiting[3], StartsWith("opening a session ...          "));
  EXPECT_EQ(waiting[3].find("EVENT "), 101U);
}

// A table with more rows than a screen of 50 lines, each with these texts.
TopTable filled(TopTable table, std::initializer_list<std::string_view> texts) {
  EXPECT_EQ(table.columns.size(), texts.size());
  TopRow row;
  for (const std::string_view text : texts) row.push_back(text_cell(text));
  table.rows.assign(60, row);
  return table;
}

std::vector<std::pair<TopView, TopTable>> tables_of_all_views() {
  const auto of_activity = [](TopView view) { return ActivityRates::of(view, 0)->take(0, 1); };
  return {
      {TopView::events, filled(events_table({}, {}), {"sched_migrate_task", "1,234,567",
                                                      "1,234,567", "123,456", "12,345", "1.5"})},
      {TopView::processes,
       filled(of_activity(TopView::processes),
              {"a-name-of-fifte", "1,234,567", "100.0 %", "6400.0", "4194303",
               "/usr/bin/python3 -m http.server --directory /srv/files --bind 127.0.0.1 8080"})},
      {TopView::calls, filled(of_activity(TopView::calls), {"rt_sigtimedwait_time32", "1,234,567",
                                                            "123,456", "123.4 ms", "64.00 s"})},
      {TopView::sessions,
       filled(sessions_table({}, {}),
              {"recorder", "1,234,567", "123,456", "12,345", "recording", "flight", "4194303"})},
  };
}

TEST_F(TopLayout, HasAllColumnsOnEighty24AndTwoFullTablesOnTwoHundred50) {
  const auto tables = tables_of_all_views();
  const auto table_of = [&](TopView view) {
    return std::ranges::find(tables, view, &std::pair<TopView, TopTable>::first)->second;
  };
  const auto expect_headings = [](const std::string& line, const TopTable& table) {
    for (const TopColumn& column : table.columns) EXPECT_THAT(line, HasSubstr(column.title));
  };
  for (const auto& [view, table] : tables) {
    state_.view = view;
    frame_.table = table;
    frame_.beside = table_of(view_beside(view));
    const TopSize small{.rows = 24, .columns = 80}, large{.rows = 50, .columns = 200};
    const auto narrow = screen_of(frame_, state_, small), wide = screen_of(frame_, state_, large);
    expect_fits(narrow, small);
    expect_fits(wide, large);
    expect_headings(narrow[3], table);
    expect_headings(wide[3].substr(0, 99), table);
    expect_headings(wide[3].substr(101), frame_.beside);
    for (size_t i = 4; i < large.rows - 1; ++i) {
      EXPECT_THAT(wide[i], StartsWith(table.rows[0][0].text)) << i;
      EXPECT_THAT(wide[i].substr(101), StartsWith(frame_.beside.rows[0][0].text)) << i;
    }
  }
}

TEST_F(TopLayout, FitsScreensOfAllSizes) {
  const auto fits = [this] {
    for (const size_t columns : {1UL, 2UL, 39UL, 40UL, 80UL, 159UL, 160UL, 161UL, 200UL, 500UL})
      for (const size_t rows : {1UL, 6UL, 10UL, 50UL, 200UL}) {
        const TopSize size{.rows = rows, .columns = columns};
        expect_fits(screen_of(frame_, state_, size), size);
      }
  };
  frame_.recent.assign(60, 1e6);
  fits();
  show_processes();
  add_texts({"\x1b[2J\n漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢", "9", "9", "9", "9",
             "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\x07"});
  frame_.header.state = std::string(300, 'x');
  fits();
  frame_.header.state = "running";
  frame_.header.rates = {.recorded = 1e17, .filtered = 1e17, .dropped = 1e17, .missed = 1e17};
  frame_.table = {};
  frame_.note = "漢\x1b[2J" + std::string(300, 'x');
  fits();
  state_.help = true;
  fits();
}

TEST_F(TopLayout, ShowsMoreRowsOnALargeScreen) {
  const auto lines = screen_of(frame_, state_, {.rows = 50, .columns = 200});
  expect_fits(lines, {.rows = 50, .columns = 200});
  EXPECT_THAT(lines[48], StartsWith("event_44"));
  EXPECT_EQ(page_of(frame_, {.rows = 50, .columns = 200}).visible, 45U);
}

TEST_F(TopLayout, LeavesOutWhatASmallScreenHasNoRoomFor) {
  const auto lines = screen_of(frame_, state_, {.rows = 5, .columns = 20});
  expect_fits(lines, {.rows = 5, .columns = 20});
  EXPECT_EQ(lines[0], "ktraced running  12,");
  EXPECT_THAT(lines[1], StartsWith("EVENT        HITS/Sv"));
  EXPECT_EQ(lines[2], "sched_swi  1,000,000");
  EXPECT_EQ(lines[4], "event_2    1,000,000");
  for (const TopSize size : {TopSize{.rows = 1, .columns = 1}, TopSize{.rows = 2, .columns = 3},
                             TopSize{.rows = 6, .columns = 9}, TopSize{.rows = 8, .columns = 1}}) {
    expect_fits(screen_of(frame_, state_, size), size);
    state_.help = !state_.help;
  }
}

TEST_F(TopLayout, EscapesHostileNamesAndCutsWideOnes) {
  frame_.table.rows.clear();
  add_row("\x1b]0;title\a\n\xff");
  add_row("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2");  // 10 columns wide
  const auto narrow = screen_of(frame_, state_, {.rows = 24, .columns = 20});
  expect_fits(narrow, {.rows = 24, .columns = 20});
  EXPECT_EQ(narrow[4], "\\x1b]0;ti  1,000,000");
  EXPECT_EQ(narrow[5], "\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97   1,000,000")
      << "no half character";
  const auto wide = screen_of(frame_, state_, {.rows = 24, .columns = 100});
  EXPECT_THAT(wide[4], StartsWith("\\x1b]0;title\\x07\\x0a\\xff  1,000,000"));
  state_.filter = "\x1b[2J";
  frame_.note = "a\nb";
  frame_.header.state = frame_.header.overhead = "\x1b[31m";
  expect_fits(screen_of(frame_, state_, {.rows = 24, .columns = 80}), {.rows = 24, .columns = 80});
}

TEST_F(TopLayout, ScrollsToTheLastRowAtMost) {
  const TopSize size{.rows = 24, .columns = 80};
  state_.first_row = 1000;
  EXPECT_THAT(screen_of(frame_, state_, size)[22], StartsWith("event_59"));
  state_.first_row = 1;
  EXPECT_THAT(screen_of(frame_, state_, size)[4], StartsWith("event_1 "));
}

TEST_F(TopLayout, ShowsMessagesTheFilterAndHelp) {
  const TopSize size{.rows = 24, .columns = 80};
  state_.message = "snapshot x: 3 records, complete";
  EXPECT_EQ(screen_of(frame_, state_, size)[23], state_.message);
  state_.typing_filter = true;
  state_.filter = "sys";
  EXPECT_EQ(screen_of(frame_, state_, size)[23], "filter: sys_");
  state_.typing_filter = false;
  state_.paused = true;
  EXPECT_THAT(screen_of(frame_, state_, size)[2], HasSubstr("paused  filter: sys"));
  state_.help = true;
  EXPECT_THAT(screen_of(frame_, state_, size)[10], HasSubstr("take a snapshot"));
}

TEST_F(TopLayout, WrapsANote) {
  frame_.table = {};
  frame_.note = std::string(100, 'x') + "end";
  const auto lines = screen_of(frame_, state_, {.rows = 24, .columns = 80});
  expect_fits(lines, {.rows = 24, .columns = 80});
  EXPECT_EQ(lines[3], std::string(80, 'x'));
  EXPECT_EQ(lines[4], std::string(20, 'x') + "end");
}

TEST_F(TopLayout, IsPlainTextForOtherOutputs) {
  const std::string text = plain_frame(frame_, state_);
  EXPECT_THAT(text, HasSubstr("\nevent_59 "));
  EXPECT_THAT(text, Not(HasSubstr(" \n")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, testing::EndsWith("\n\n"));
}

TEST_F(TopLayout, HasAJsonLine) {
  const std::string text = frame_json(frame_, TopView::events);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto frame = nlohmann::json::parse(text);
  EXPECT_EQ(frame["view"], "events");
  EXPECT_EQ(frame["rows"][0]["event"], "sched_switch");
  EXPECT_EQ(frame["rows"][0]["dropped_per_s"], 4);
  EXPECT_EQ(frame["rates"]["recorded_per_s"], 12345);

  frame_.table = {.columns = {{.title = "PROCESS", .is_text = true}, {.title = "CPU %"}},
                  .rows = {{text_cell("nginx"), unknown_cell()}}};
  const auto processes = nlohmann::json::parse(frame_json(frame_, TopView::processes));
  EXPECT_EQ(processes["rows"][0], (nlohmann::json{{"process", "nginx"}, {"cpu_percent", nullptr}}));
}

TEST(ColumnText, CountsColumnsAndNotBytes) {
  EXPECT_EQ(text_columns("abc"), 3U);
  EXPECT_EQ(text_columns("\xc3\xa9"), 1U);
  EXPECT_EQ(text_columns("\xe6\xbc\xa2"), 2U);
  EXPECT_EQ(text_columns("e\xcc\x81"), 1U) << "a combining accent";
  EXPECT_EQ(cut_to("\xe6\xbc\xa2\xe6\xbc\xa2", 3), "\xe6\xbc\xa2");
  EXPECT_EQ(filled_to("\xe6\xbc\xa2\xe6\xbc\xa2", 3), "\xe6\xbc\xa2 ");
  EXPECT_EQ(filled_to("7", 3, true), "  7");
  EXPECT_EQ(filled_to("abc", 0), "");
}

}  // namespace
}  // namespace ktraced

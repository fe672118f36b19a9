// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/command_line/command_line.h"
#include "ctl/views/views.h"
#include "unit/ctl/command_line/command_line_fixture.h"
#include "unit/support/lines.h"

namespace ktraced {
namespace {

using nlohmann::json;
using Action = SnapshotCommand::Action;
using testing::HasSubstr;

SnapshotCommand command(std::vector<const char*> words) {
  words.insert(words.begin(), {"ktracectl", "snapshot"});
  auto parsed = parse_command_line(static_cast<int>(words.size()), words.data());
  if (const auto* nothing = std::get_if<NothingToRun>(&parsed)) {
    ADD_FAILURE() << nothing->err;
    return {};
  }
  return std::get<SnapshotCommand>(std::get<Options>(parsed).command);
}

TEST(SnapshotCommandLine, SelectsTheAction) {
  EXPECT_EQ(command({}).action, Action::list);
  EXPECT_EQ(command({"list"}).action, Action::list);
  EXPECT_FALSE(command({"list"}).per_cpu);
  EXPECT_TRUE(command({"list", "--per-cpu"}).per_cpu);
  EXPECT_EQ(command({"enable"}).action, Action::enable);
  EXPECT_EQ(command({"disable"}).action, Action::disable);
  EXPECT_EQ(command({"delete", "x"}).action, Action::remove);
  EXPECT_EQ(command({"delete", "x"}).names, std::vector<std::string>{"x"});
  EXPECT_EQ(command({"delete", "x", "y"}).names, (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(command({"list", "--verbose"}).verbose);
}

TEST(SnapshotCommandLine, TakeAcceptsOptions) {
  SnapshotCommand plain = command({"take"});
  EXPECT_EQ(plain.action, Action::take);
  EXPECT_EQ(plain.name, std::nullopt);
  EXPECT_EQ(plain.reason, std::nullopt);
  EXPECT_TRUE(plain.wait);
  SnapshotCommand full = command({"take", "--name", "a", "--reason", "why not", "--no-wait"});
  EXPECT_EQ(full.name, "a");
  EXPECT_EQ(full.reason, "why not");
  EXPECT_FALSE(full.wait);
  EXPECT_EQ(command({"take", "b"}).name, "b");
  EXPECT_EQ(plain.timeout_s, std::nullopt);
  EXPECT_EQ(command({"take", "--timeout", "500ms"}).timeout_s, 0.5);
  EXPECT_TRUE(command({"take", "--timeout", "1h"}).wait);
  EXPECT_FALSE(plain.with_previous);
  EXPECT_TRUE(command({"take", "--with-previous"}).with_previous);
}

TEST(SnapshotCommandLine, TakeRefusesContradictingOptions) {
  for (std::vector<const char*> words : {std::vector{"take", "a", "--name", "b"},
                                         {"take", "--timeout", "5s", "--no-wait"},
                                         {"take", "--with-previous", "--no-wait"},
                                         {"take", "--timeout", "0"},
                                         {"take", "--timeout", "61m"}}) {
    words.insert(words.begin(), {"ktracectl", "snapshot"});
    EXPECT_TRUE(std::holds_alternative<NothingToRun>(
        parse_command_line(static_cast<int>(words.size()), words.data())))
        << words.back();
  }
}

TEST(SnapshotCommandLine, KeepTakesNamesAndUndo) {
  const SnapshotCommand keep = command({"keep", "a", "b"});
  EXPECT_EQ(keep.action, Action::keep);
  EXPECT_EQ(keep.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(keep.undo);
  EXPECT_TRUE(command({"keep", "--undo", "a"}).undo);
  EXPECT_TRUE(command({"keep", "a", "--undo"}).undo);
}

TEST(SnapshotCommandLine, ExportIsACommandOnADirectory) {
  using command_line_test::command;
  const auto plain = command<ArchiveCommand>({"snapshot", "export", "a"});
  EXPECT_EQ(plain.directories, std::vector<std::string>{"a"});
  EXPECT_EQ(plain.output, "");
  EXPECT_EQ(plain.store, "");
  const auto full = command<ArchiveCommand>(
      {"snapshot", "export", "a", "-o", "-", "--directory", "/mnt/snapshots"});
  EXPECT_EQ(full.output, "-");
  EXPECT_EQ(full.store, "/mnt/snapshots");
  EXPECT_THAT(command_line_test::usage_error({"snapshot", "export"}), HasSubstr("NAME"));
  EXPECT_THAT(command_line_test::usage_error({"snapshot", "export", "a", "b"}), HasSubstr("'b'"));
}

json snapshot(const char* name, json because) {
  return {{"name", name},
          {"complete", because.empty()},
          {"incomplete_because", because},
          {"reason", "latency above 200 ms in the front end"},
          {"taken_realtime_ns", 1795253018616985848U},
          {"begin_ns", 1'000'000'000U},
          {"end_ns", 3'500'000'000U},
          {"requested_by", "pid 1 (uid 0)"},
          {"window", {{"begin_ns", 1'000'000'001U}, {"end_ns", 3'500'000'000U}}},
          {"records", 165592},
          {"overwritten", 63009},
          {"lost", 7},
          {"missed", 1234},
          {"bytes", 8641160},
          {"cpus",
           {{{"cpu", 0},
             {"first_ns", 1'000'000'001U},
             {"last_ns", 3'000'000'000U},
             {"records", 165000},
             {"overwritten", 63009},
             {"lost", 7}},
            {{"cpu", 12},
             {"first_ns", 0},
             {"last_ns", 0},
             {"records", 592},
             {"overwritten", 0},
             {"lost", 0}}}}};
}

TEST(SnapshotTakenView, CountsTheSnapshotAndTheOneBeforeItAsOne) {
  json answer = {
      {"path", "/s/b"},
      {"name", "b"},
      {"records", 1204},
      {"complete", true},
      {"incomplete_because", json::array()},
      {"with_previous",
       {{"path", "/s/a"},
        {"show", "ktracectl show /s/a /s/b"},
        {"records", 342316},
        {"complete", false},
        {"incomplete_because", {"a: x\x1b", "b: y"}},
        {"window", {{"begin_ns", 2'049'452'133'000U}, {"end_ns", 2'070'000'000'000U}}}}}};
  EXPECT_EQ(snapshot_taken_view(answer, false), "/s/b: 1,204 records, complete\n");
  EXPECT_EQ(snapshot_taken_view(answer, true),
            "/s/b: 1,204 records, complete\n"
            "what came before is in /s/a: ktracectl show /s/a /s/b\n"
            "both, from 2049.452133 to 2070.000000 s: 342,316 records, incomplete: a: x\\x1b; "
            "b: y\n");
  answer["with_previous"] = nullptr;
  EXPECT_EQ(snapshot_taken_view(answer, true),
            "/s/b: 1,204 records, complete\nno snapshot has what came right before it\n");
  EXPECT_EQ(snapshot_taken_view({{"path", "/s/b"}}, false), "/s/b is being written\n");
}

json unreadable(const std::string& name) {
  return {{"name", name},
          {"unreadable", true},
          {"complete", false},
          {"incomplete_because", {"/a/manifest.json is a FIFO, not a regular file"}},
          {"bytes", 5}};
}

TEST(SnapshotListView, ShowsThePreviousSnapshot) {
  json second = snapshot("two", json::array());
  second["previous"] = "one";
  const json answer = {{"snapshots", {snapshot("one", json::array()), second}}};
  const std::string text = snapshot_list_view(answer, {.verbose = true}, Colours(false));
  EXPECT_THAT(text, HasSubstr("what came before is in one\n"));
  EXPECT_EQ(text.find("what came before"), text.rfind("what came before"));
}

TEST(SnapshotListView, ShowsCompletenessOrLosses) {
  json answer = {
      {"snapshots",
       {snapshot("one", json::array()), snapshot("two", {"the kernel skipped 3 hits of kfree"})}},
      {"writing", {"three"}}};
  EXPECT_EQ(snapshot_list_view(answer, {}, Colours(false)),
            "NAME  TAKEN (UTC)          FROM (s)    TO (s)  RECORDS       SIZE  STATE\n"
            "one   2026-11-21 09:23:38  1.000000  3.500000  165,592  8.241 MiB  complete\n"
            "two   2026-11-21 09:23:38  1.000000  3.500000  165,592  8.241 MiB  incomplete\n"
            "being written: three\n");
  EXPECT_EQ(snapshot_list_view({{"snapshots", json::array()}}, {.per_cpu = true}, Colours(false)),
            "no snapshots\n");
}

TEST(SnapshotListView, ShowsWhichSnapshotIsBeforeEachIfAnyHasOne) {
  json second = snapshot("two", json::array()), third = snapshot("three", json::array());
  second["previous"] = "one";
  third["previous"] = "one";
  const json answer = {{"snapshots", {snapshot("one", json::array()), second, third}}};
  EXPECT_EQ(
      snapshot_list_view(answer, {}, Colours(false)),
      "NAME   TAKEN (UTC)          FROM (s)    TO (s)  RECORDS       SIZE  STATE     PREVIOUS\n"
      "one    2026-11-21 09:23:38  1.000000  3.500000  165,592  8.241 MiB  complete  -\n"
      "two    2026-11-21 09:23:38  1.000000  3.500000  165,592  8.241 MiB  complete  above\n"
      "three  2026-11-21 09:23:38  1.000000  3.500000  165,592  8.241 MiB  complete  one\n");
}

TEST(SnapshotListView, FitsIntoATerminalOf120ColumnsWithAllColumns) {
  json list = json::array();
  for (const char letter : {'a', 'b', 'c'}) {
    const std::string name(60, letter);
    json each = snapshot(name.c_str(), {"the kernel skipped 3 hits of kfree"});
    each["kept"] = true;
    each["window"] = {{"begin_ns", 2'063'161'712'000U},
                      {"end_ns", 2'064'151'712'000U},
                      {"furthest_ns", 2'059'210'000'000U}};
    each["previous"] = std::string(60, 'p');
    list.push_back(each);
  }
  const auto lines = test::lines_of(snapshot_list_view({{"snapshots", list}}, {}, Colours(false)));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines, testing::Each(testing::SizeIs(testing::Le(120U))));
  EXPECT_TRUE(lines.front().ends_with("PREVIOUS"));
  EXPECT_THAT(lines.back(),
              testing::ContainsRegex("^c+\\.\\.\\. .*incomplete, kept +p+\\.\\.\\.$"));
}

TEST(SnapshotListView, OnlyThePreviousSnapshotIsBeyondATerminalOf80Columns) {
  json first = snapshot("one", json::array()), second = snapshot("two", {"lost"});
  const auto without =
      test::lines_of(snapshot_list_view({{"snapshots", {first, second}}}, {}, Colours(false)));
  EXPECT_THAT(without, testing::Each(testing::SizeIs(testing::Le(80U))));
  second["previous"] = "a-long-name";
  const auto with =
      test::lines_of(snapshot_list_view({{"snapshots", {first, second}}}, {}, Colours(false)));
  ASSERT_EQ(with.size(), without.size());
  for (size_t i = 0; i < with.size(); ++i) EXPECT_TRUE(with[i].starts_with(without[i])) << with[i];
  EXPECT_TRUE(with.back().ends_with("a-long-name"));
}

TEST(SnapshotListView, ShowsWhichSnapshotsAreKept) {
  json kept = snapshot("one", json::array()), other = snapshot("two", json::array());
  kept["kept"] = true;
  other["kept"] = false;
  EXPECT_EQ(snapshot_list_view({{"snapshots", {kept, other}}}, {}, Colours(false)),
            "NAME  TAKEN (UTC)          FROM (s)    TO (s)  RECORDS       SIZE  STATE\n"
            "one   2026-11-21 09:23:38  1.000000  3.500000  165,592  8.241 MiB  complete, kept\n"
            "two   2026-11-21 09:23:38  1.000000  3.500000  165,592  8.241 MiB  complete\n");
}

TEST(SnapshotListView, ShowsHowFarBackTheFurthestCpuReaches) {
  json uneven = snapshot("one", json::array()), even = snapshot("two", json::array());
  uneven["window"]["furthest_ns"] = 500'000'000U;
  EXPECT_EQ(
      snapshot_list_view({{"snapshots", {uneven, even, unreadable("bad")}}}, {}, Colours(false)),
      "NAME  TAKEN (UTC)          FROM (s)    TO (s)  FURTHEST  RECORDS       SIZE  STATE\n"
      "one   2026-11-21 09:23:38  1.000000  3.500000       3 s  165,592  8.241 MiB  complete\n"
      "two   2026-11-21 09:23:38  1.000000  3.500000         -  165,592  8.241 MiB  complete\n"
      "bad   -                           -         -         -        0    5 bytes  "
      "unreadable\n"
      "unreadable: /a/manifest.json is a FIFO, not a regular file\n");
}

TEST(SnapshotListView, ShowsDetailsWhenVerbose) {
  const std::string text =
      snapshot_list_view({{"snapshots", {snapshot("two", {"the kernel skipped 3 hits of kfree"})}}},
                         {.verbose = true}, Colours(false));
  EXPECT_EQ(text.substr(text.find('\n', text.find('\n') + 1) + 1),
            "\n"
            "two:\n"
            "  reason: latency above 200 ms in the front end (requested by pid 1 (uid 0))\n"
            "  overwritten 63,009, lost 7, missed 1,234\n"
            "  incomplete: the kernel skipped 3 hits of kfree\n");
}

TEST(SnapshotListView, HasWholeNamesIfItIsVerbose) {
  const std::string name(40, 'n');
  const json answer = {{"snapshots", {snapshot(name.c_str(), json::array())}}};
  EXPECT_TRUE(
      snapshot_list_view(answer, {.verbose = true}, Colours(false)).contains(name + "  20"));
  EXPECT_FALSE(snapshot_list_view(answer, {}, Colours(false)).contains(name));
}

TEST(SnapshotListView, ReportsWhyASnapshotCannotBeRead) {
  const json answer = {{"snapshots", {unreadable("bad")}}};
  EXPECT_EQ(snapshot_list_view(answer, {}, Colours(false)),
            "NAME  TAKEN (UTC)  FROM (s)  TO (s)  RECORDS     SIZE  STATE\n"
            "bad   -                   -       -        0  5 bytes  unreadable\n"
            "unreadable: /a/manifest.json is a FIFO, not a regular file\n");
}

TEST(SnapshotListView, FitsALineOf120Columns) {
  json wide = snapshot(std::string(200, 'n').c_str(), json::array());
  wide["window"] = {{"begin_ns", 9'999'999'000'000'001U},
                    {"end_ns", 9'999'999'999'999'999U},
                    {"furthest_ns", 1U}};
  wide["records"] = 999'999'999;
  json kept = wide;
  kept["complete"] = false;
  kept["kept"] = true;
  json bad = unreadable(std::string(100, '\xff'));
  bad["incomplete_because"] = {std::string(500, 'x')};
  const std::string text =
      snapshot_list_view({{"snapshots", {wide, kept, bad}}}, {}, Colours(false)) +
      snapshot_list_view({{"snapshots", {wide, bad}}}, {}, Colours(false));
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 120U) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(SnapshotListView, ShowsTheWindowAndCountsOfEachCpu) {
  std::string text = snapshot_list_view({{"snapshots", {snapshot("one", json::array())}}},
                                        {.per_cpu = true}, Colours(false));
  EXPECT_EQ(text.substr(text.find('\n', text.find('\n') + 1) + 1),
            "\n"
            "one:\n"
            "  CPU        FIRST         LAST  RECORDS  OVERWRITTEN  LOST  MISSED\n"
            "    0  1.000000001  3.000000000  165,000       63,009     7\n"
            "   12            -            -      592            0     0\n"
            "  all  1.000000000  3.500000000  165,592       63,009     7   1,234\n");
}

TEST(SnapshotListView, EscapesTerminalControlCharacters) {
  json entry = snapshot("n", {"\x1b[2J"});
  entry["reason"] = "\x1b]0;x";
  entry["name"] = "n\u202e";
  std::string text = snapshot_list_view({{"snapshots", {entry}}},
                                        {.per_cpu = true, .verbose = true}, Colours(false));
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("\\x1b[2J"));
}

}  // namespace
}  // namespace ktraced

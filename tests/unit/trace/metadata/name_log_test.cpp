// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/name_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kMs = 1'000'000;

std::vector<std::string> names_of(const NameLog& log, uint32_t tid) {
  std::vector<std::string> names;
  const nlohmann::json written = nlohmann::json::parse(log.tasks_json());
  for (const auto& task : written["tasks"])
    if (task["tid"] == tid) names.push_back(task["comm"]);
  return names;
}

TEST(NameLog, KeepsFirstAndLastNamesBeyondItsLimitAndSaysSo) {
  NameLog log({.tasks = 10});
  log.add(test::task_name(8, 1 * kMs, 8, "quiet"));
  for (uint64_t i = 0; i < 100; ++i)
    log.add(test::task_name(7, (100 + i) * kMs, 7, "r" + std::to_string(i)));
  log.add(test::task_name(9, 300 * kMs, 9, "late"));
  log.add(test::task_name(8, 400 * kMs, 8, "renamed"));
  EXPECT_THAT(names_of(log, 7),
              ElementsAre("r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r99"));
  EXPECT_THAT(names_of(log, 8), ElementsAre("quiet", "renamed"));
  EXPECT_THAT(names_of(log, 9), ElementsAre("late"));
  EXPECT_THAT(log.problems(), ElementsAre(HasSubstr("names from 0.109 to 0.199 s")));
}

TEST(NameLog, KeepsTheLastNameIfAnOlderOneComesBeyondItsLimit) {
  NameLog log({.tasks = 1});
  log.add(test::task_name(7, 50 * kMs, 7, "last"));
  log.add(test::task_name(7, 20 * kMs, 7, "older"));
  EXPECT_THAT(names_of(log, 7), ElementsAre("last"));
  EXPECT_THAT(log.problems(), ElementsAre(HasSubstr("names from 0.020 to 0.050 s")));
  log.add(test::task_name(7, 60 * kMs, 7, "next"));
  EXPECT_THAT(names_of(log, 7), ElementsAre("last", "next"));
}

std::vector<std::byte> cgroup_path(uint64_t id, std::string_view path) {
  rec_metadata_cgroup record{};
  record.h = {.ts = 0, .id = METADATA_cgroup, .size = sizeof(record), .tid = 0};
  record.cgroup = id;
  path.copy(record.path, sizeof(record.path) - 1);
  const auto bytes = std::as_bytes(std::span(&record, 1));
  return {bytes.begin(), bytes.end()};
}

TEST(NameLog, KeepsTheFirstControlGroupsAndCommandLinesUpToALimitAndSaysSo) {
  NameLog log({.other_bytes = size_t{1} << 20});
  for (uint64_t id = 1; id <= 1500; ++id) log.add(cgroup_path(id, "/first"));
  EXPECT_THAT(log.problems(), testing::IsEmpty());
  for (uint64_t id = 1; id <= 1500; ++id) log.add(cgroup_path(id, "/renamed"));
  EXPECT_THAT(log.problems(), testing::IsEmpty()) << "they take no more room";
  for (uint64_t id = 1501; id <= 10'000; ++id) log.add(cgroup_path(id, "/more"));
  std::vector<std::byte> command;
  append_command_record({.pid = 7, .read_ns = 2, .start_ns = 1, .text = "late"}, command);
  log.add(command);
  EXPECT_THAT(log.problems(), ElementsAre(HasSubstr("there were more than 1 MiB")));
  EXPECT_LT(log.cgroups_json().size(), size_t{1} << 20);
  EXPECT_THAT(log.cgroups_json(), HasSubstr("{\"id\":1500,\"path\":\"/renamed\"}"));
  EXPECT_THAT(log.commands_json(), testing::Not(HasSubstr("late")));
}

TEST(NameLog, KnowsTheUserOfAProcess) {
  NameLog log;
  const auto add = [&](uint64_t ts, uint32_t tgid, uint32_t uid, uint64_t start) {
    log.add(test::make_record(METADATA_task, ts, 7,
                              rec_metadata_task{.tgid = tgid, .uid = uid, .start_time = start}));
  };
  add(1 * kMs, 7, 1000, 100 * kMs);
  add(2 * kMs, 7, 1001, 100 * kMs);
  add(3 * kMs, 0, 0, 0);  // it has ended
  add(4 * kMs, 7, 1002, 300 * kMs);
  add(5 * kMs, 8, 1003, 300 * kMs);  // a thread of another process
  EXPECT_EQ(log.user_of({.tgid = 7, .start_ns = 100 * kMs + 5}), 1001U);
  EXPECT_EQ(log.user_of({.tgid = 7, .start_ns = 300 * kMs}), 1002U);
  EXPECT_EQ(log.user_of({.tgid = 7, .start_ns = 500 * kMs}), std::nullopt);
  EXPECT_EQ(log.user_of({.tgid = 8, .start_ns = 300 * kMs}), std::nullopt);
}

TEST(NameLog, CarriesTheControlGroupsOfItsThreads) {
  NameLog log, next;
  rec_metadata_task task{};
  task.h = {.ts = 1, .id = METADATA_task, .size = sizeof(task), .tid = 7};
  task.cgroup = 2;
  log.add(std::as_bytes(std::span(&task, 1)));
  for (uint64_t id = 1; id <= 3; ++id) log.add(cgroup_path(id, "/g" + std::to_string(id)));
  next.add(log.last());
  EXPECT_EQ(next.cgroups_json(), "{\"cgroups\":[\n{\"id\":2,\"path\":\"/g2\"}\n]}\n");
}

TEST(NameLog, SaysWhichNamesAreMissing) {
  NameLog log;
  log.add(test::task_name(7, 1, 7, "a"));
  EXPECT_THAT(log.problems(), testing::IsEmpty());
  log.add(lost_names_record({.from = 5 * kMs, .until = 6 * kMs}));
  EXPECT_THAT(log.problems(), ElementsAre(HasSubstr("names from 0.005 to 0.006 s")));
}

}  // namespace
}  // namespace ktraced

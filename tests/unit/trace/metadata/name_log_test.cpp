// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/name_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using testing::ElementsAre;

std::vector<std::string> names_of(const NameLog& log, uint32_t tid) {
  std::vector<std::string> names;
  const nlohmann::json written = nlohmann::json::parse(log.tasks_json());
  for (const auto& task : written["tasks"])
    if (task["tid"] == tid) names.push_back(task["comm"]);
  return names;
}

TEST(NameLog, KeepsFirstAndLastNamesBeyondItsLimitAndSaysSo) {
  NameLog log(10);
  log.add(test::task_name(8, 1, 8, "quiet"));
  for (uint64_t i = 0; i < 100; ++i)
    log.add(test::task_name(7, 100 + i, 7, "r" + std::to_string(i)));
  log.add(test::task_name(9, 300, 9, "late"));
  log.add(test::task_name(8, 400, 8, "renamed"));
  EXPECT_THAT(names_of(log, 7),
              ElementsAre("r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r99"));
  EXPECT_THAT(names_of(log, 8), ElementsAre("quiet", "renamed"));
  EXPECT_THAT(names_of(log, 9), ElementsAre("late"));
  EXPECT_THAT(log.lost().windows(), ElementsAre(LostNamesWindow{.from = 109, .until = 199}));
}

TEST(NameLog, SaysWhichNamesAreMissing) {
  NameLog log;
  log.add(test::task_name(7, 1, 7, "a"));
  EXPECT_EQ(log.lost().text(), "");
  log.add(lost_names_record({.from = 5, .until = 6}));
  EXPECT_THAT(log.lost().windows(), ElementsAre(LostNamesWindow{.from = 5, .until = 6}));
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/trace_config_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json config_of(json events, json filter, const char* state = "running") {
  return {{"events", std::move(events)}, {"filter", std::move(filter)}, {"state", state}};
}

TEST(DroppedSettings, AreEmptyWhenNothingDiffers) {
  const json config = config_of({"kfree"}, {{"comm", {"nginx"}}}, "paused");
  EXPECT_THAT(dropped_settings(config, config), IsEmpty());
}

TEST(DroppedSettings, NameTheFilterTheEventsAndThePause) {
  const json before = config_of({"kfree", "kmalloc"},
                                {{"comm", {"nginx"}},
                                 {"syscall", {"openat"}},
                                 {"pid", json::array()},
                                 {"exclude", {{"uid", json::array()}}}},
                                "paused");
  const json now =
      config_of({"kfree", "sched_switch"}, {{"comm", json::array()}, {"syscall", {"openat"}}});
  EXPECT_THAT(dropped_settings(before, now),
              ElementsAre(R"(its filter {"comm":["nginx"]})", "events it had enabled: kmalloc",
                          "events it had disabled: sched_switch", "its pause"));
}

TEST(DroppedSettings, AreFewLinesForManyEvents) {
  json events = json::array();
  for (int n = 100; n < 200; ++n) events.push_back("irq:event_" + std::to_string(n));
  const auto lines =
      dropped_settings(config_of(events, json::object()), config_of(json::array(), json::object()));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), 500U);
  EXPECT_TRUE(lines[0].ends_with("irq:event_119 and 80 more")) << lines[0];
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_states.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "unit/decoders/perfetto/perfetto_writer_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;

class PerfettoStatesTest : public PerfettoFixture {
 protected:
  void change(uint64_t ts, int32_t prev, task_state_t state, int32_t next, uint32_t cpu = 0) {
    add(EVENT_sched_switch, ts, static_cast<uint32_t>(prev),
        rec_sched_switch{.prev_pid = prev, .prev_state = state, .next_pid = next}, cpu);
  }
  // "2000 CPU 0: eight S > swapper/0", in order of time.
  static std::vector<std::string> switches(const ReadTrace& trace) {
    std::vector<ReadEvent> events = trace.events;
    std::ranges::stable_sort(events, {}, &ReadEvent::ts);
    std::vector<std::string> texts;
    for (ReadEvent& event : events)
      if (event.name == "sched_switch")
        texts.push_back(fmt::format("{} CPU {}: {} {} > {}", event.ts, event.cpu,
                                    event.args["prev_comm"], event.args["prev_state"],
                                    event.args["next_comm"]));
    return texts;
  }
};

TEST_F(PerfettoStatesTest, MakesNewThreadsRunnable) {
  add(EVENT_sched_wakeup_new, 2000, 9,
      rec_sched_wakeup_new{.pid = 8, .prio = 120, .target_cpu = 1});
  ReadTrace trace = read();
  ASSERT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events[0].name, "sched_wakeup_new");
  EXPECT_EQ(trace.events[1].name, "sched_waking");
  EXPECT_EQ(trace.events[1].args, trace.events[0].args);
  EXPECT_EQ(std::tuple(trace.events[1].ts, trace.events[1].tid), std::tuple(2000U, 9U));
}

TEST_F(PerfettoStatesTest, EndsStatesAtALossOfSwitches) {
  change(1500, 8, 1, 9);
  change(1600, 0, 0, 7, 1);
  lose(2000, EVENT_sched_waking);
  lose(3000, EVENT_sched_switch, 5);
  lose(3000, EVENT_sched_waking, 5);
  add(EVENT_sched_waking, 4000, 7, rec_sched_waking{.pid = 8}, 1);
  change(5000, 9, 1, 8);
  add(EVENT_sched_waking, 6000, 8, rec_sched_waking{.pid = 9});
  const std::vector<std::string> written = switches(read());
  EXPECT_THAT(written,
              ElementsAre("1500 CPU 0: eight 1 > nine", "1600 CPU 1: swapper/1 0 > seven",
                          "3000 CPU 0: nine 65535 > swapper/0", "3000 CPU 0: swapper/0 0 > eight",
                          "3000 CPU 0: eight 65535 > swapper/0", "5000 CPU 0: nine 1 > eight"))
      << "neither the thread of the other CPU, nor the one that slept after the loss";
}

TEST_F(PerfettoStatesTest, EndsStatesOfThreadsThatAreNotSeenAgain) {
  change(2000, 8, 1, 0);
  lose(3000, EVENT_sched_switch);
  EXPECT_THAT(switches(read()),
              ElementsAre("2000 CPU 0: eight 1 > swapper/0", "3000 CPU 0: swapper/0 0 > eight",
                          "3000 CPU 0: eight 65535 > swapper/0"));
}

TEST_F(PerfettoStatesTest, EndsStatesOfAllCpusAtAConfigChange) {
  changes_ = {3000};
  change(2000, 0, 0, 8);
  change(2500, 7, 2, 9, 1);
  change(4000, 8, 1, 0);
  EXPECT_THAT(
      switches(read()),
      ElementsAre("2000 CPU 0: swapper/0 0 > eight", "2500 CPU 1: seven 2 > nine",
                  "3000 CPU 0: eight 65535 > swapper/0", "3000 CPU 1: nine 65535 > swapper/1",
                  "3000 CPU 0: swapper/0 0 > seven", "3000 CPU 0: seven 65535 > swapper/0",
                  "4000 CPU 0: eight 1 > swapper/0"));
}

}  // namespace
}  // namespace ktraced::test

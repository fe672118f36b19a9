// SPDX-License-Identifier: BSD-2-Clause
// The daemon reloads again and again, good and bad files.
#include <gtest/gtest.h>

#include <csignal>

#include "harness/client/daemon.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

TEST(ReloadStorm, LosesNoEventAndNoDescriptor) {
  WaitingTruth truth({"numbered", "0", "500"});
  const json good = flight_config_for({truth.pid()}, {{"buffer_kb", 4096}});
  json other = good;
  other["filter"]["exclude"] = {{"comm", {"nobody"}}};
  other["events"]["sched"] = {"sched_switch"};
  other["stream"]["max_latency_ms"] = 50;
  Daemon daemon(good);
  truth.go();
  daemon.call("reload");
  const size_t descriptors = open_descriptors(daemon.pid());
  for (int i = 0; i < 100; ++i) {
    if (i % 3 == 2)
      daemon.write_config_text("{ \"events\": ");
    else
      daemon.write_config(i % 3 == 0 ? other : good);
    daemon.send(SIGHUP);
    if (i % 10 == 0) static_cast<void>(daemon.call("status"));
  }
  daemon.write_config(good);
  daemon.call("reload");
  const uint64_t count = truth.finish()["count"];
  EXPECT_TRUE(eventually([&] { return open_descriptors(daemon.pid()) <= descriptors; }))
      << open_descriptors(daemon.pid()) << " of " << descriptors;
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  expect_all_but_missed(numbers_in(taken["path"].get<std::string>(), truth.pid()), count, daemon,
                        "sys_enter");
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

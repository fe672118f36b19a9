// SPDX-License-Identifier: BSD-2-Clause
#include "harness/traces/flight.h"

#include <gtest/gtest.h>

#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"

namespace ktraced::live {

json flight_config(json flight) {
  flight["enabled"] = flight.value("enabled", true);
  return {{"events", numbered_calls()}, {"flight", std::move(flight)}};
}

json flight_config_for(const std::vector<pid_t>& pids, json flight) {
  return for_processes(pids, flight_config(std::move(flight)));
}

std::vector<uint64_t> take_numbers(Daemon& daemon, pid_t pid) {
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  return numbers_in(taken["path"].get<std::string>(), pid);
}

}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
#include "harness/traces/resize.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/traces/trace_files.h"

namespace ktraced::live {

json reload(Daemon& daemon, const json& config) {
  daemon.write_config(config);
  return daemon.call("reload");
}

json refused_reload(Daemon& daemon, const json& config) {
  daemon.write_config(config);
  return daemon.call_error("reload");
}

json flight_of(Daemon& daemon) { return daemon.call("status")["flight"]; }

void wait_until_written(Daemon& daemon) {
  EXPECT_TRUE(eventually([&] { return flight_of(daemon)["frozen"] == 0; })) << daemon.log();
}

std::vector<json> finished_snapshots(Daemon& daemon, size_t count) {
  json list;
  EXPECT_TRUE(eventually([&] {
    list = daemon.call("snapshot.list");
    return list["snapshots"].size() == count && list["writing"].empty() &&
           flight_of(daemon)["frozen"] == 0;
  })) << list
      << daemon.log();
  std::vector<json> snapshots = list["snapshots"];
  std::ranges::sort(snapshots, {}, [](const json& each) { return each["end_ns"].get<uint64_t>(); });
  return snapshots;
}

std::vector<uint64_t> snapshot_numbers(const json& snapshot, pid_t pid) {
  return numbers_in(snapshot["path"].get<std::string>(), pid);
}

std::vector<std::string> states_in(const json& manifest) {
  std::vector<std::string> states{manifest["config"]["state"]};
  for (const json& change : manifest["config"].value("changes", json::array()))
    if (change["config"]["state"] != states.back()) states.push_back(change["config"]["state"]);
  return states;
}

}  // namespace ktraced::live

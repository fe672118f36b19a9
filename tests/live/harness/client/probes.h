// SPDX-License-Identifier: BSD-2-Clause
// Kernel probes of a daemon under test.
#pragma once

#include <string>

#include "harness/client/daemon.h"

namespace ktraced::live {

// The number in the calls of truth's action "numbered". It is in the registers saved at the system
// call; the function's argument points to them.
inline const std::string kNumbered = "p:number __x64_sys_getpriority n=+104($arg1):u64";
inline const std::string kReturn = "r:result __x64_sys_getpriority ret=$retval:s64";
inline const std::string kOpen = "p:open do_sys_openat2 dfd=$arg1:s32 path=+0($arg2):ustring";

// The answer of probe.add.
inline json add(Daemon& daemon, const std::string& text) {
  return daemon.call("probe.add", {{"text", text}});
}
// The error of probe.add.
inline std::string why_not(Daemon& daemon, const std::string& text) {
  return daemon.call_error("probe.add", {{"text", text}})["message"];
}
// A probe in the list, by its event; null if it is not there.
inline json probe(Daemon& daemon, const std::string& event) {
  const json list = daemon.call("probe.list");
  for (const json& each : list["probes"])
    if (each["event"] == event) return each;
  return nullptr;
}

}  // namespace ktraced::live

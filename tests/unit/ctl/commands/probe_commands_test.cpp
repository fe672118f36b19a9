// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;

TEST(ProbeList, HasDefinitionsWithCountsAsComments) {
  const json answer = {{"probes",
                        {{{"definition", "p:kprobes/open do_sys_openat2"},
                          {"available", true},
                          {"enabled", true},
                          {"hits", 1234},
                          {"missed", 2},
                          {"misses_known", true}},
                         {{"definition", "r:kprobes/any vfs_*"},
                          {"available", true},
                          {"enabled", false},
                          {"hits", 0},
                          {"misses_known", false},
                          {"note", "maxactive 20 has no effect"},
                          {"skipped", {{"vfs_x", "it is blacklisted"}}}},
                         {{"definition", "p:kprobes/x nothing"},
                          {"available", false},
                          {"reason", "no such function"}}}}};
  EXPECT_EQ(probe_list_view(answer),
            "p:kprobes/open do_sys_openat2 # 1,234 hits, 2 missed\n"
            "r:kprobes/any vfs_* # 0 hits, misses unknown (this kernel does not report them), "
            "disabled\n"
            "#   maxactive 20 has no effect\n"
            "#   without vfs_x: it is blacklisted\n"
            "p:kprobes/x nothing # not available: no such function\n");
}

TEST(ProbeList, ReportsThatThereAreNone) {
  EXPECT_EQ(probe_list_view({{"probes", json::array()}}), "no probes\n");
  EXPECT_EQ(probe_list_view({{"probes", json::array()}, {"reason", "no kprobes"}}),
            "no probes: no kprobes\n");
}

}  // namespace
}  // namespace ktraced

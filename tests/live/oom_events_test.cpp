// SPDX-License-Identifier: BSD-2-Clause
// mark_victim.
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/cgroups.h"
#include "harness/stream.h"
#include "harness/truth.h"

namespace ktraced::live {
namespace {

TEST(MarkVictim, TellsTheProcessTheOutOfMemoryKillerChose) {
  Daemon daemon(json{{"events", {{"oom", true}}}});
  MemoryCgroup small(8U << 20);
  Stream stream(daemon);
  json told = run_truth({"oom", small.path()});
  Trace trace = stream.finish();
  auto victims = trace.events("mark_victim");
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(number_of(victims[0], "pid"), told["victim"]);
  EXPECT_EQ(number_of(victims[0], "uid"), told["uid"]);
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// mark_victim.
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/client/stream.h"
#include "harness/machine/cgroups.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

TEST(MarkVictim, RecordsTheProcessTheOutOfMemoryKillerChose) {
  Daemon daemon(json{{"events", {{"oom", true}}}});
  MemoryCgroup small(8U << 20);
  Stream stream(daemon);
  json expected = run_truth({"oom", small.path()});
  Trace trace = stream.finish();
  auto victims = trace.events("mark_victim");
  std::erase_if(victims,
                [&](const json& event) { return number_of(event, "pid") != expected["victim"]; });
  ASSERT_EQ(victims.size(), 1U);
  EXPECT_EQ(number_of(victims[0], "uid"), expected["uid"]);
}

}  // namespace
}  // namespace ktraced::live

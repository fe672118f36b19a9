// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/configured_tracepoints.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

using TracepointNames = std::set<std::string>;

TEST(ConfiguredTracepoints, ReturnsThoseThatModulesHaveAdded) {
  ConfiguredTracepoints configured;
  EXPECT_TRUE(configured.empty());
  configured.set_patterns({"kvm:*", "irq:irq_handler_entry"}, {"irq:irq_handler_entry", "sched:x"});
  EXPECT_FALSE(configured.empty());
  const TracepointNames with_kvm = {"irq:irq_handler_entry", "kvm:kvm_entry", "kvm:kvm_exit",
                                    "xfs:a"};
  EXPECT_EQ(configured.added(with_kvm), (TracepointNames{"kvm:kvm_entry", "kvm:kvm_exit"}));
  EXPECT_EQ(configured.added(with_kvm), TracepointNames());
}

TEST(ConfiguredTracepoints, ReturnsThoseOfAModuleThatIsLoadedAgain) {
  ConfiguredTracepoints configured;
  configured.set_patterns({"kvm:*"}, {"kvm:kvm_entry"});
  EXPECT_EQ(configured.added({"irq:x"}), TracepointNames());
  EXPECT_EQ(configured.added({"irq:x", "kvm:kvm_entry"}), (TracepointNames{"kvm:kvm_entry"}));
}

TEST(ConfiguredTracepoints, IgnoresPatternsThatWereReplaced) {
  ConfiguredTracepoints configured;
  configured.set_patterns({"kvm:*"}, {});
  configured.set_patterns({}, {"kvm:kvm_entry"});
  EXPECT_TRUE(configured.empty());
  EXPECT_EQ(configured.added({"kvm:kvm_entry", "kvm:kvm_exit"}), TracepointNames());
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/persistence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Identity, DependsOnBuildAndSizes) {
  KernelFeatures features, others;
  others.flags.rdonly_cast = 1;
  const BpfSizes small{.flight_bytes = 1 << 20, .flight_banks = 2};
  const BpfSizes large{.flight_bytes = 8 << 20, .flight_banks = 3};
  const std::string programs = BpfObject::identity(features), id = object_id(programs, small);
  EXPECT_EQ(programs, BpfObject::identity(features));
  EXPECT_EQ(id, programs + "-2x1024k");
  EXPECT_EQ(describe_difference(id, object_id(programs, large)),
            "an earlier daemon ended while it made it");
  EXPECT_THAT(describe_difference(id, object_id(BpfObject::identity(others), small)),
              HasSubstr("of another build"));
  EXPECT_THAT(describe_difference("object-1", id), HasSubstr("of another build"));
}

TEST(ReplacedObject, IsDescribedWithTheTimeThatIsLost) {
  const std::vector<ReplacedObject> replaced = {
      {.id = "object-1-2x1024k",
       .reason = "its programs are of another build, or for other kernel features",
       .since_ns = 1'500'000'000,
       .until_ns = 92'000'000'000},
      {.id = "object-empty", .reason = "it has no programs"}};
  EXPECT_THAT(describe_losses(replaced),
              ElementsAre("what object-1-2x1024k recorded from 1.500 s to 92.000 s after boot is "
                          "lost, except for what is on disk: its programs are of another build, or "
                          "for other kernel features"));
  EXPECT_EQ(lost_ns(replaced), 90'500'000'000U);
  EXPECT_EQ(lost_ns({}), 0U);
}

}  // namespace
}  // namespace ktraced

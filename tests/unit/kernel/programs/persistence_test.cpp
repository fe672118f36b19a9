// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/persistence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using testing::HasSubstr;

TEST(Identity, DependsOnBuildAndSizes) {
  KernelFeatures features, others;
  others.flags.rdonly_cast = 1;
  const BpfSizes small{.flight_bytes = 1 << 20, .flight_banks = 2};
  const BpfSizes large{.flight_bytes = 8 << 20, .flight_banks = 3};
  const std::string id = BpfObject::identity(features, small);
  EXPECT_EQ(id, BpfObject::identity(features, small));
  EXPECT_EQ(describe_difference(id, BpfObject::identity(features, large)),
            "flight.banks x flight.buffer_kb was 2x1024k, now it is 3x8192k");
  EXPECT_THAT(describe_difference(id, BpfObject::identity(others, small)),
              HasSubstr("of another build"));
  EXPECT_THAT(describe_difference("object-1", id), HasSubstr("of another build"));
}

}  // namespace
}  // namespace ktraced

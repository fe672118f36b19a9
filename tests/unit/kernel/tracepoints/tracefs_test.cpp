// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/tracefs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/no_descriptors.h"

namespace ktraced {
namespace {

using testing::HasSubstr;

TEST(Tracefs, ReportsTheErrorWhenNoDescriptorIsLeft) {
  const char* places[] = {"/proc", "/proc/self"};
  EXPECT_TRUE(Tracefs::open_at(places));
  const NoDescriptors none;
  expect_no_descriptors(Tracefs::open_at(places));
  expect_no_descriptors(Tracefs("/proc").tracepoints());
}

TEST(Tracefs, IsNotMountedWhenNoPlaceIsThere) {
  const char* places[] = {"/proc/self/no-such-directory"};
  const auto opened = Tracefs::open_at(places);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("is not mounted"));
}

}  // namespace
}  // namespace ktraced

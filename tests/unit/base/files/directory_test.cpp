// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/no_descriptors.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Result<> look_at(const fs::path& directory) {
  return for_each_entry(directory, [](const auto&) {});
}

TEST(Directory, FailsWithDataWhenItIsMissing) {
  const auto read = look_at("/proc/self/no-such-directory");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ExitCode::data);
  EXPECT_THAT(read.error().message, HasSubstr("/proc/self/no-such-directory"));
}

TEST(Directory, FailsWhenNoDescriptorIsLeft) {
  EXPECT_TRUE(look_at("/proc"));
  const NoDescriptors none;
  expect_no_descriptors(look_at("/proc"));
}

}  // namespace
}  // namespace ktraced

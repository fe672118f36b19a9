// SPDX-License-Identifier: BSD-2-Clause
// A process that has used up its file descriptors.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "unit/support/soft_limit.h"

namespace ktraced {

// This process can open no more files.
class NoDescriptors {
 public:
  NoDescriptors() : none_(RLIMIT_NOFILE, 0) {}

 private:
  SoftLimit none_;
};

template <class T>
void expect_no_descriptors(const Result<T>& result) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ExitCode::io);
  EXPECT_THAT(result.error().message, testing::HasSubstr("Too many open files"));
}

}  // namespace ktraced

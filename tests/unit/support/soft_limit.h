// SPDX-License-Identifier: BSD-2-Clause
// Resource limits of a test.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace ktraced {

// Another soft limit of this process, until it is destroyed.
class SoftLimit {
 public:
  SoftLimit(__rlimit_resource resource, rlim_t limit) : resource_(resource) {
    ::getrlimit(resource, &before_);
    const rlimit changed{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(resource, &changed), 0);
  }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;
  ~SoftLimit() { ::setrlimit(resource_, &before_); }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace ktraced

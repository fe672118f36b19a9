// SPDX-License-Identifier: BSD-2-Clause
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace ktraced {
namespace {

TEST(TransientError, IsAShortageOrAnInterruption) {
  for (const int error : {ENOMEM, EMFILE, ENFILE, EAGAIN, EINTR})
    EXPECT_TRUE(is_transient(error)) << errno_text(error);
  for (const int error : {0, EPERM, EACCES, EINVAL, ENOENT, E2BIG})
    EXPECT_FALSE(is_transient(error)) << errno_text(error);
}

}  // namespace
}  // namespace ktraced

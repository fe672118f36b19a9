// SPDX-License-Identifier: BSD-2-Clause
#include "base/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <future>
#include <new>
#include <stdexcept>
#include <system_error>

#include "unit/support/soft_limit.h"

namespace ktraced {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(StackLimit, IsRefusedBelowWhatAProgramNeeds) {
  {
    const SoftLimit small(RLIMIT_STACK, rlim_t{511} << 10);
    const auto refused = check_stack_limit("ktraced");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_EQ(refused.error().message,
              "the stack limit of 511 KiB is below the 512 KiB that ktraced needs: raise it with "
              "'ulimit -s' or LimitSTACK=");
  }
  const SoftLimit enough(RLIMIT_STACK, rlim_t{512} << 10);
  EXPECT_TRUE(check_stack_limit("ktraced"));
}

TEST(ManyDescriptors, AreAllowedUpToTheHardLimit) {
  const SoftLimit few(RLIMIT_NOFILE, 64);
  allow_many_descriptors();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
}

TEST(OutOfMemory, NamesTheLimitsThatCanBeTheReason) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer maps more than any limit that is named";
#endif
  // Above what the test has, also with AddressSanitizer.
  const SoftLimit data(RLIMIT_DATA, rlim_t{1} << 45);
  const Error limited = out_of_memory();
  EXPECT_EQ(limited.code, ExitCode::unavailable);
  EXPECT_THAT(limited.message,
              HasSubstr("out of memory; the limit RLIMIT_DATA is 34359738368 KiB: raise it "
                        "('ulimit -d' or LimitDATA=)"));
  const SoftLimit space(RLIMIT_AS, rlim_t{1} << 45);
  EXPECT_THAT(out_of_memory().message, HasSubstr("RLIMIT_AS is 34359738368 KiB"));
}

TEST(OutOfMemory, MayPassWithoutALimit) {
  rlimit data{}, space{};
  ::getrlimit(RLIMIT_DATA, &data);
  ::getrlimit(RLIMIT_AS, &space);
  if (data.rlim_cur != RLIM_INFINITY || space.rlim_cur != RLIM_INFINITY)
    GTEST_SKIP() << "this process has limits";
  EXPECT_EQ(out_of_memory().code, ExitCode::os);
  EXPECT_EQ(out_of_memory().message, "out of memory");
}

template <class Exception>
Error error_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return unexpected_error();
  }
}

TEST(UnexpectedError, NamesWhatIsScarce) {
  EXPECT_THAT(error_of(std::bad_alloc()).message, StartsWith("out of memory"));
  for (const auto scarce :
       {std::errc::resource_unavailable_try_again, std::errc::not_enough_memory}) {
    const Error no_thread = error_of(std::system_error(std::make_error_code(scarce)));
    EXPECT_THAT(no_thread.message, StartsWith("cannot start a thread: "));
    EXPECT_THAT(no_thread.message, HasSubstr("TasksMax="));
    EXPECT_NE(no_thread.code, ExitCode::software);
  }
}

TEST(UnexpectedError, NamesTheLimitsThatCanBeTheReasonOfNoThread) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer maps more than any limit that is named";
#endif
  const SoftLimit data(RLIMIT_DATA, rlim_t{1} << 45);
  const Error limited = error_of(std::system_error(EAGAIN, std::generic_category()));
  EXPECT_EQ(limited.code, ExitCode::unavailable);
  EXPECT_THAT(limited.message, HasSubstr("the limit RLIMIT_DATA is 34359738368 KiB"));
}

TEST(UnexpectedError, IsAnInternalErrorOtherwise) {
  const Error denied = error_of(std::system_error(std::make_error_code(std::errc::io_error)));
  EXPECT_EQ(denied.code, ExitCode::software);
  const Error of_another_kind = error_of(std::system_error(EAGAIN, std::future_category()));
  EXPECT_EQ(of_another_kind.code, ExitCode::software);
  EXPECT_THAT(denied.message, StartsWith("internal error: "));
  EXPECT_EQ(error_of(std::runtime_error("x")).message, "internal error: x");
  EXPECT_EQ(error_of(7).message, "internal error: an exception of an unknown type");
}

}  // namespace
}  // namespace ktraced

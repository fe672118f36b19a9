// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/call_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A kernel with 32-bit programs and seccomp.
std::set<std::string> kernel_with_ia32() {
  return {"__x64_sys_read",    "__ia32_sys_read",          "__x64_sys_openat",
          "__ia32_sys_openat", "__ia32_compat_sys_openat", "__x64_sys_accept",
          "__x64_sys_newstat", "__x64_sys_seccomp",        "__secure_computing"};
}

std::string reason(const CallFunctions& functions, const std::vector<std::string>& calls) {
  const auto found = functions.of(calls);
  return found ? "" : found.error().message;
}

TEST(CallFunctions, FindsTheFunctionsOfAllPrograms) {
  const CallFunctions functions(kernel_with_ia32());
  const auto found = functions.of({"openat"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, ElementsAre("__ia32_compat_sys_openat", "__ia32_sys_openat",
                                  "__secure_computing", "__x64_sys_openat"));
}

TEST(CallFunctions, NeedsNoFunctionOf32BitProgramsWhereTheyHaveNoSuchCall) {
  const CallFunctions functions(kernel_with_ia32());
  const auto found = functions.of({"accept"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, ElementsAre("__secure_computing", "__x64_sys_accept"));
}

TEST(CallFunctions, RefusesCallsThatReturnElsewhere) {
  const CallFunctions functions(kernel_with_ia32());
  for (const char* call : {"clone", "exit_group", "rt_sigreturn", "stat", "gettimeofday"})
    EXPECT_THAT(reason(functions, {"read", call}), HasSubstr(call));
}

TEST(CallFunctions, RefusesAllCallsAndTooMany) {
  const CallFunctions functions(kernel_with_ia32());
  EXPECT_THAT(reason(functions, {}), HasSubstr("all calls"));
  EXPECT_THAT(reason(functions, std::vector<std::string>(kCallsAtFunctionsMax + 1, "read")),
              HasSubstr("more than"));
  EXPECT_EQ(reason(functions, std::vector<std::string>(kCallsAtFunctionsMax, "read")), "");
}

TEST(CallFunctions, RefusesKernelsWhoseFunctionsAreNotKnown) {
  auto without_one = kernel_with_ia32();
  without_one.erase("__ia32_sys_read");
  EXPECT_EQ(reason(CallFunctions(without_one), {"read"}), "") << "no 32-bit programs";
  auto without_native = kernel_with_ia32();
  without_native.erase("__x64_sys_openat");
  EXPECT_THAT(reason(CallFunctions(without_native), {"openat"}), HasSubstr("openat"));
  auto without_seccomp = kernel_with_ia32();
  without_seccomp.erase("__secure_computing");
  EXPECT_THAT(reason(CallFunctions(without_seccomp), {"read"}), HasSubstr("seccomp"));
  auto with_x32 = kernel_with_ia32();
  with_x32.insert("__x64_compat_sys_ioctl");
  EXPECT_THAT(reason(CallFunctions(with_x32), {"read"}), HasSubstr("x32"));
}

TEST(CallFunctions, KnowsEveryFunctionThatAnEarlierDaemonMayHaveUsed) {
  const CallFunctions functions(kernel_with_ia32());
  const auto found = functions.of({"openat", "read", "accept"});
  ASSERT_TRUE(found) << found.error().message;
  const std::vector<std::string> possible = CallFunctions::possible();
  for (const std::string& function : *found) EXPECT_THAT(possible, testing::Contains(function));
}

}  // namespace
}  // namespace ktraced

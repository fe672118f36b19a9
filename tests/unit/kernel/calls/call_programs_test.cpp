// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/call_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/shared_state.h"
#include "kernel/calls/call_functions.h"

namespace ktraced {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

TEST(CallPins, AreFoundForEveryFunctionThatCanHaveSome) {
  std::vector<std::string> names;
  for (const std::string& function : CallFunctions::possible()) {
    names.push_back(call_pin_name(function, CALL_ENTERED));
    names.push_back(call_pin_name(function, CALL_RETURNED));
  }
  EXPECT_THAT(functions_of_pins(names), UnorderedElementsAreArray(CallFunctions::possible()));
}

TEST(CallPins, OfOnePlaceAreEnough) {
  EXPECT_THAT(functions_of_pins({call_pin_name("__x64_sys_read", CALL_ENTERED),
                                 call_pin_name("__secure_computing", CALL_RETURNED)}),
              UnorderedElementsAre("__x64_sys_read", "__secure_computing"));
}

TEST(CallPins, AreNotThoseOfEventsAndStrangers) {
  EXPECT_THAT(functions_of_pins({}), IsEmpty());
  EXPECT_THAT(functions_of_pins({"sys_enter", "event_512_0", "__x64_sys_read", "enter_", "return_",
                                 "enter_ __x64_sys_read", "enter___x64_sys_read_",
                                 "return_vfs_read", "enter_../maps/tasks",
                                 "return_enter___x64_sys_read", std::string(4096, 'e'),
                                 std::string("enter___x64_sys_read\0", 21), "\xff\xfe"}),
              IsEmpty());
}

}  // namespace
}  // namespace ktraced

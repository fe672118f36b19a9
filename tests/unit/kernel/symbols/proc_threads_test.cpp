// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "unit/support/no_descriptors.h"

namespace ktraced {
namespace {

TEST(CommOfProc, EqualsTheNameInTracepoints) {
  EXPECT_EQ(comm_of_proc("bash\n"), "bash");
  EXPECT_EQ(comm_of_proc("a\nb\n"), "a\nb");
  EXPECT_EQ(comm_of_proc("kworker/0:0H-kblockd\n"), "kworker/0:0H");
  EXPECT_EQ(comm_of_proc("kworker/u8:1+ext4-rsv-conversion\n"), "kworker/u8:1");
  EXPECT_EQ(comm_of_proc("kworker/R-kblockd\n"), "kworker/R-kblockd");
  EXPECT_EQ(comm_of_proc("my-own+name\n"), "my-own+name");
  EXPECT_EQ(comm_of_proc(""), "");
}

TEST(NumbersOfAStatusFile, AreThoseOfTheLineWithTheLabel) {
  const std::string status = "Name:\tNSpid: 1\nNgid:\t0\nNSpid:\t812\t7\t1\nNSpgid:\t9\n";
  EXPECT_EQ(numbers_behind("\nNSpid:", status), (std::vector<uint32_t>{812, 7, 1}));
  EXPECT_EQ(numbers_behind("\nNgid:", status), std::vector<uint32_t>{0});
  EXPECT_EQ(numbers_behind("\nUid:", "\nUid:\t0\t4294967295 5"),
            (std::vector<uint32_t>{0, 4294967295, 5}));
  EXPECT_TRUE(numbers_behind("\nUid:", status).empty());
  EXPECT_TRUE(numbers_behind("\nName:", status).empty());
  EXPECT_TRUE(numbers_behind("\nUid:", "x\nUid:").empty());
}

TEST(ProcThreads, HaveTheParentsOfTheirProcesses) {
  uint32_t parent = 0;
  ASSERT_TRUE(for_each_proc_thread([&](uint32_t tid, const task_info& info) {
    if (tid == static_cast<uint32_t>(::getpid())) parent = info.parent;
  }));
  EXPECT_EQ(parent, static_cast<uint32_t>(::getppid()));
}

TEST(ProcThreads, FailWhenNoDescriptorIsLeft) {
  const NoDescriptors none;
  expect_no_descriptors(for_each_proc_thread([](uint32_t, const task_info&) {}));
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

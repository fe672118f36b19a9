// SPDX-License-Identifier: BSD-2-Clause
// A kernel without BTF.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/client/daemon.h"
#include "harness/disks/private_mounts.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

TEST(NoBtf, IsReportedInOneSentence) {
  TempDir directory;
  const json config = {{"control", {{"socket", directory.path() / "control.sock"}}},
                       {"bpffs", "/sys/fs/bpf" / directory.path().filename()}};
  const std::string file = directory.file("config.json", config.dump());
  // Hides the kernel's BTF from one process.
  Command command =
      with_private_sys("mount -t tmpfs tmpfs /sys/kernel/btf && exec \"$0\" --config \"$1\"");
  command.insert(command.end(), {kDaemonProgram, file});
  const Finished finished = run(command);
  EXPECT_EQ(finished.exit_code, 69) << finished.err;
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("this kernel has no BTF (/sys/kernel/btf/vmlinux)"));
  EXPECT_THAT(finished.err, HasSubstr("CONFIG_DEBUG_INFO_BTF"));
  EXPECT_EQ(finished.out, "");
}

}  // namespace
}  // namespace ktraced::live

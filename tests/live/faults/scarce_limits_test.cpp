// SPDX-License-Identifier: BSD-2-Clause
// Limits of the process and of its control group that are too low.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "harness/client/daemon.h"
#include "harness/machine/cgroups.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Finished with_small_stack(const std::string& program) {
  return run({"/bin/sh", "-c", "ulimit -s 256 && exec \"$@\"", "sh", program, "--version"});
}

TEST(ScarceLimits, OfTheStackAreRefusedByBothPrograms) {
  const Finished daemon = with_small_stack(kDaemonProgram);
  EXPECT_EQ(daemon.exit_code, 69) << daemon.signal;
  EXPECT_THAT(daemon.err, HasSubstr("ktraced: the stack limit of 256 KiB is below the"));
  EXPECT_THAT(daemon.err, HasSubstr("LimitSTACK="));
  const Finished client = with_small_stack(kClientProgram);
  EXPECT_EQ(client.exit_code, 69) << client.signal;
  EXPECT_THAT(client.err, HasSubstr("ktracectl: the stack limit of 256 KiB is below the"));
}

// Drop-ins that change nothing, but need more memory than the daemon has free.
void write_large_drop_ins(const std::filesystem::path& directory) {
  constexpr int kFiles = 100;
  const std::string text = "{" + std::string(1000 << 10, ' ') + "}";
  std::filesystem::create_directory(directory);
  for (int i = 0; i < kFiles; ++i) std::ofstream(directory / fmt::format("{:03}.json", i)) << text;
}

TEST(ScarceLimits, OfDataRefuseAReloadAndAreNamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator ends the program without memory";
#endif
  Daemon daemon;
  RpcConnection client(daemon.socket());
  ASSERT_TRUE(client.call("status").contains("result"));
  const auto drop_ins = std::filesystem::path(daemon.config_file()).replace_extension(".conf.d");
  write_large_drop_ins(drop_ins);
  rlimit before{};
  ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_DATA, nullptr, &before), 0);
  const rlimit none{.rlim_cur = 4096, .rlim_max = before.rlim_max};  // what it has, it keeps
  ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_DATA, &none, nullptr), 0);
  const json answer = client.call("reload");
  ASSERT_EQ(::prlimit(daemon.pid(), RLIMIT_DATA, &before, nullptr), 0);
  ASSERT_TRUE(answer.contains("error")) << answer;
  EXPECT_THAT(answer["error"]["message"].get<std::string>(),
              AllOf(HasSubstr("out of memory"), HasSubstr("RLIMIT_DATA is 4 KiB")));
  std::filesystem::remove_all(drop_ins);
  EXPECT_TRUE(client.call("reload").contains("result"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// The exit code is one after which the service manager tries no further start.
TEST(ScarceLimits, OfTheControlGroupRefuseAStartWithRingsThatDoNotFit) {
  const MemoryCgroup group(uint64_t{128} << 20);
  try {
    Daemon daemon(
        flight_config({{"buffer_kb", 131072}, {"banks", 2}}),
        {"/bin/sh", "-c", "echo $$ > " + (group.path() / "cgroup.procs").string() + "; exec \"$@\"",
         "sh"});
    ADD_FAILURE() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("exit code 69"));
    EXPECT_THAT(error.what(), HasSubstr("the memory limit of 128 MiB of the control group"));
  }
}

}  // namespace
}  // namespace ktraced::live

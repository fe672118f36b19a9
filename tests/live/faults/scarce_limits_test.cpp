// SPDX-License-Identifier: BSD-2-Clause
// Limits of the process and of its control group that are too low.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "harness/client/daemon.h"
#include "harness/machine/bpffs.h"
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
void expect_rings_refused(uint64_t limit_mb, int buffer_kb, int banks) {
  const MemoryCgroup group(limit_mb << 20);
  const Bpffs bpffs;
  json config = flight_config({{"buffer_kb", buffer_kb}, {"banks", banks}});
  config["bpffs"] = bpffs.path() / "pins";
  try {
    Daemon daemon(config, group.wrapper());
    ADD_FAILURE() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(
        error.what(),
        AllOf(HasSubstr("exit code 69"), HasSubstr("the new flight rings take "),
              HasSubstr(fmt::format("flight.banks {} x flight.buffer_kb {})", banks, buffer_kb)),
              HasSubstr(fmt::format("the memory limit of {} MiB of the control group", limit_mb)),
              HasSubstr(group.path().filename()), HasSubstr("is too low for them (MemoryMax="),
              HasSubstr("choose smaller ones")));
  }
  EXPECT_TRUE(bpffs.is_unused()) << "pins are left";
}

TEST(ScarceLimits, OfTheControlGroupRefuseAStartWithRingsThatDoNotFit) {
  expect_rings_refused(128, 131072, 2);
}

// At least four rings of 32 MiB: each fits.
TEST(ScarceLimits, OfTheControlGroupRefuseAStartWithRingsThatDoNotFitTogether) {
  expect_rings_refused(100, 32768, 4);
}

// Without what the daemon itself takes they would fit: 8 MiB are free for it.
TEST(ScarceLimits, OfTheControlGroupRefuseAStartWithRingsThatDoNotFitBesideItsPrograms) {
  const auto cpus = static_cast<uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  expect_rings_refused(2 * 16 * cpus + 20, 16384, 2);
}

// The kernel would end the daemon.
TEST(ScarceLimits, OfTheControlGroupRefuseAStartWhoseProgramsCannotBeLoaded) {
  const MemoryCgroup group(uint64_t{40} << 20);
  try {
    Daemon daemon(flight_config({{"buffer_kb", 64}}), group.wrapper());
    ADD_FAILURE() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("exit code 69"), HasSubstr("programs and maps"),
                                    HasSubstr("the memory limit of 40 MiB of the control group")));
  }
}

// The kernel would end a daemon that goes on until the limit is reached.
TEST(ScarceLimits, OfAControlGroupThatIsHiddenRefuseTheRingThatDoesNotFit) {
  const MemoryCgroup group(uint64_t{200} << 20);
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  const long banks = std::max(2L, (7 + cpus) / cpus);  // 256 MiB or more in all
  try {
    Daemon daemon(flight_config({{"buffer_kb", 32768}, {"banks", banks}}), group.hidden_wrapper());
    ADD_FAILURE() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("exit code 71"),
                                    HasSubstr("cannot make a flight ring of 32768 KiB")));
  }
}

TEST(ScarceLimits, OfTheControlGroupRefuseAStartThatKeepsTheHistoryOfOtherSizes) {
  const MemoryCgroup group(uint64_t{100} << 20);
  const json small = flight_config({{"buffer_kb", 64}});
  Daemon daemon(small, group.wrapper());
  daemon.end(SIGKILL);
  daemon.write_config(flight_config({{"buffer_kb", 32768}, {"banks", 4}}));
  EXPECT_THROW(daemon.start(), std::runtime_error);
  daemon.write_config(small);
  daemon.start();
  EXPECT_TRUE(daemon.logged("adopted what an earlier daemon left running"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(ScarceLimits, OfTheControlGroupRefuseRingsThatARequestNeeds) {
  const MemoryCgroup group(uint64_t{100} << 20);
  json config = flight_config({{"enabled", false}, {"buffer_kb", 16384}, {"banks", 8}});
  config["stream"] = {{"total_mb", 1 << 20}};
  Daemon daemon(config, group.wrapper());
  const auto expect_refused = [&](const char* method, const json& parameters, const char* rings) {
    const json refused = daemon.call_error(method, parameters);
    EXPECT_EQ(refused["data"]["exit_code"], 69) << refused;
    EXPECT_THAT(refused["message"].get<std::string>(),
                AllOf(HasSubstr(rings), HasSubstr("the memory limit of 100 MiB")));
  };
  expect_refused("snapshot.enable", json::object(), "the new flight rings take ");
  expect_refused("stream.subscribe", {{"buffer_kb", 131072}}, "the new stream rings take ");
  EXPECT_EQ(daemon.call("status")["flight"]["enabled"], false);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// They are not made again.
TEST(ScarceLimits, OfTheControlGroupDoNotConcernTheRingsOfAnEarlierDaemon) {
  const MemoryCgroup group(uint64_t{100} << 20);
  const TempDir directory;
  const std::filesystem::path limited = directory.path() / "limited";
  Command wrapper = group.wrapper();
  wrapper[2] = fmt::format("if test -e {}; then {}; fi; exec \"$@\"", limited.string(), wrapper[2]);
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  const long banks = std::max(2L, 6 / cpus);  // 96 MiB or more in all
  Daemon daemon(flight_config({{"buffer_kb", 16384}, {"banks", banks}}), wrapper);
  daemon.end(SIGKILL);
  std::ofstream(limited) << "now";
  daemon.start();
  EXPECT_TRUE(daemon.logged("adopted what an earlier daemon left running"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live

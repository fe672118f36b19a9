// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/run_statistics.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "base/files/read_file.h"

namespace ktraced {
namespace {

constexpr const char* kSetting = "/proc/sys/kernel/bpf_stats_enabled";
constexpr size_t kSettingBytes = 64;

bool are_on() {
  const auto setting = read_file(kSetting, kSettingBytes);
  return setting && setting->starts_with('1');
}

}  // namespace

Result<RunStatistics> RunStatistics::turn_on() {
  RunStatistics statistics;
  if (are_on()) return statistics;
  statistics.fd_.reset(bpf_enable_stats(BPF_STATS_RUN_TIME));
  if (statistics.fd_) return statistics;
  if (errno == EPERM)
    return fail(ExitCode::no_permission,
                "cannot turn on the kernel's BPF statistics: it demands CAP_SYS_ADMIN, which the "
                "daemon does not have; run 'sysctl kernel.bpf_stats_enabled=1' as root, try again, "
                "and set it to 0 afterwards");
  return fail(ExitCode::unavailable, "cannot turn on the kernel's BPF statistics: {}",
              errno_text(errno));
}

}  // namespace ktraced

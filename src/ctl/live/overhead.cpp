// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/overhead.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

namespace ktraced {
namespace {

// On as long as the descriptor is open; none without CAP_SYS_ADMIN.
Fd turn_on_statistics() {
  bpf_attr attributes{};
  attributes.enable_stats.type = BPF_STATS_RUN_TIME;
  return Fd(static_cast<int>(
      ::syscall(SYS_bpf, BPF_ENABLE_STATS, &attributes, sizeof(attributes.enable_stats))));
}

}  // namespace

Result<nlohmann::json> measure_overhead(RpcClient& client, uint64_t duration_ms) {
  const Fd statistics = turn_on_statistics();
  nlohmann::json params = {{"duration_ms", duration_ms}};
  if (statistics) params["statistics_on"] = true;
  return client.call("status.overhead", params);
}

}  // namespace ktraced

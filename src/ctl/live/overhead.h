// SPDX-License-Identifier: BSD-2-Clause
// What the daemon's programs cost.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// The answer to status.overhead. As root, this process turns on the kernel's BPF statistics during
// the call, because the daemon may not: the service lacks the capability. Fails as
// RpcClient::call().
[[nodiscard]] Result<nlohmann::json> measure_overhead(RpcClient& client, uint64_t duration_ms);

}  // namespace ktraced

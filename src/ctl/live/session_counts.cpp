// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/session_counts.h"

#include "ctl/input/json_access.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

void SessionCounts::ask() {
  auto client = RpcClient::connect(socket_);
  if (!client) return;
  const auto answer = client->call("session.show", {{"session", session_}});
  if (!answer) return;
  const nlohmann::json& counts = member(*answer, "counts");
  if (!counts.is_object()) return;
  known_ = true;
  missed_.clear();
  for (const auto& [event, count] : counts.items())
    if (const uint64_t missed = number_at(count, "missed"); missed != 0) missed_[event] = missed;
}

}  // namespace ktraced

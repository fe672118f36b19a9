// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/temporary_filter.h"

#include <utility>

namespace ktraced {

using nlohmann::json;

Result<TemporaryFilter> TemporaryFilter::follow(const std::string& socket, int pid) {
  auto client = RpcClient::connect(socket);
  if (!client) return propagate(client);
  const json filter = {{"pid", json::array()},
                       {"uid", json::array()},
                       {"comm", json::array()},
                       {"cgroup", json::array()},
                       {"follow", {pid}}};
  auto now = client->call("filter.set", {{"filter", filter}, {"while_connected", true}});
  if (!now) return propagate(now);
  return TemporaryFilter(std::move(*client));
}

TemporaryFilter::TemporaryFilter(TemporaryFilter&& other) noexcept
    : client_(std::exchange(other.client_, std::nullopt)) {}

TemporaryFilter::~TemporaryFilter() {
  if (client_) std::move(*client_).close();
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/filter_loan.h"

#include <utility>

namespace ktraced {

using nlohmann::json;

Result<FilterLoan> FilterLoan::follow(const std::string& socket, int pid) {
  auto client = RpcClient::connect(socket);
  if (!client) return pass_on(client);
  const json wanted = {{"pid", json::array()},
                       {"uid", json::array()},
                       {"comm", json::array()},
                       {"cgroup", json::array()},
                       {"follow", {pid}}};
  auto now = client->call("filter.set", {{"filter", wanted}, {"while_connected", true}});
  if (!now) return pass_on(now);
  return FilterLoan(std::move(*client));
}

FilterLoan::FilterLoan(FilterLoan&& other) noexcept
    : client_(std::exchange(other.client_, std::nullopt)) {}

FilterLoan::~FilterLoan() {
  if (client_) std::move(*client_).close();
}

}  // namespace ktraced

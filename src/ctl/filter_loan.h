// SPDX-License-Identifier: BSD-2-Clause
// A filter for a while.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "ctl/rpc_client.h"

namespace ktraced {

// Borrows the daemon's filter, as long as this object lives: if this program is killed the daemon
// puts back what was there before all the same. Move-only.
class FilterLoan {
 public:
  // Records only process `pid` and its descendants; what is excluded stays excluded. Fails as
  // filter.set does.
  static Result<FilterLoan> follow(const std::string& socket, int pid);
  FilterLoan(FilterLoan&& other) noexcept;
  FilterLoan& operator=(FilterLoan&&) = delete;
  // Returns when the filter is as it was.
  ~FilterLoan();

 private:
  explicit FilterLoan(RpcClient client) : client_(std::move(client)) {}

  std::optional<RpcClient> client_;  // none: moved from
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// A temporary filter of the daemon.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// Owns the daemon's temporary filter as long as this object exists. If this program is killed, the
// daemon still restores the lasting filter. Move-only.
class TemporaryFilter {
 public:
  // Records only process `pid` and its descendants; excluded tasks stay excluded. Fails as
  // filter.set does.
  static Result<TemporaryFilter> follow(const std::string& socket, int pid);
  TemporaryFilter(TemporaryFilter&& other) noexcept;
  TemporaryFilter& operator=(TemporaryFilter&&) = delete;
  // Returns when the lasting filter has been restored.
  ~TemporaryFilter();

 private:
  explicit TemporaryFilter(RpcClient client) : client_(std::move(client)) {}

  std::optional<RpcClient> client_;  // none: moved from
};

}  // namespace ktraced

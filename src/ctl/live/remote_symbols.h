// SPDX-License-Identifier: BSD-2-Clause
// Kernel symbols, requested from the daemon.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ctl/live/rpc_client.h"
#include "decoders/text/decoder.h"

namespace ktraced {

// Requests each address once, many at a time: call request() for all addresses of a batch, then
// fetch(), then resolve(). Addresses that the daemon cannot resolve have no symbol. The byte before
// a requested one has its symbol if that is another one. Bounded: starts over after kMaxSymbols
// symbols.
class RemoteSymbols : public SymbolResolver {
 public:
  static constexpr size_t kMaxSymbols = 65536;
  static constexpr size_t kMaxPerCall = 4096;

  // Calls symbols.resolve; see RpcClient::call.
  using Call = std::function<Result<nlohmann::json>(const nlohmann::json& params)>;
  // `call` is used until it fails for the first time.
  explicit RemoteSymbols(Call call) : call_(std::move(call)) {}

  // Adds `address` to the next request. Cheap if it is known or cannot be a symbol.
  void request(uint64_t address) {
    if (is_kernel_text(address) && !symbols_.contains(address)) requested_.insert(address);
  }
  void fetch();
  std::string_view resolve(uint64_t address) override;

 private:
  void fetch_some(std::vector<uint64_t> addresses);

  Call call_;
  std::unordered_map<uint64_t, std::string> symbols_;  // empty: unknown
  std::unordered_set<uint64_t> requested_;
};

// Requests symbols from the daemon at `socket`, over a separate connection. It is opened at the
// first request, and again after the daemon has closed it as idle.
[[nodiscard]] RemoteSymbols::Call ask_daemon(std::string socket);

}  // namespace ktraced

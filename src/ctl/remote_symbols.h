// SPDX-License-Identifier: BSD-2-Clause
// Kernel symbols, asked for at the daemon.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ctl/rpc_client.h"
#include "decoders/decoder.h"

namespace ktraced {

// Asks once for each address, many at a time: want() all that a pass of packets
// holds, fetch(), then resolve(). What the daemon does not know, or cannot be asked,
// stays without a symbol. Bounded: starts over when it knows kMaxSymbols.
class RemoteSymbols : public SymbolResolver {
 public:
  static constexpr size_t kMaxSymbols = 65536;
  static constexpr size_t kMaxPerCall = 4096;

  // Answers symbols.resolve; see RpcClient::call.
  using Call = std::function<Result<nlohmann::json>(const nlohmann::json& params)>;
  // `call` is used until it fails for the first time.
  explicit RemoteSymbols(Call call) : call_(std::move(call)) {}

  // `address` will be resolved; cheap if it is known or cannot be a symbol.
  void want(uint64_t address) {
    if (address >= kKernelTextStart && !symbols_.contains(address)) wanted_.insert(address);
  }
  void fetch();
  std::string_view resolve(uint64_t address) override;

 private:
  void fetch_some(std::vector<uint64_t> addresses);

  Call call_;
  std::unordered_map<uint64_t, std::string> symbols_;  // empty: unknown
  std::unordered_set<uint64_t> wanted_;
};

// Asks the daemon at `socket`, on a connection of its own: made when it is first needed, and
// anew when the daemon has closed one that was silent for long.
[[nodiscard]] RemoteSymbols::Call ask_daemon(std::string socket);

}  // namespace ktraced

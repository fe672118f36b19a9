// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/remote_symbols.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/json_access.h"

namespace ktraced {

using nlohmann::json;

void RemoteSymbols::fetch() {
  if (requested_.empty()) return;
  if (symbols_.size() + requested_.size() > kMaxSymbols) symbols_.clear();
  std::vector<uint64_t> batch;
  for (uint64_t address : requested_) {
    batch.push_back(address);
    if (batch.size() == kMaxPerCall) fetch_some(std::exchange(batch, {}));
  }
  if (!batch.empty()) fetch_some(std::move(batch));
  requested_.clear();
}

void RemoteSymbols::fetch_some(std::vector<uint64_t> addresses) {
  json texts = json::array();
  for (uint64_t address : addresses) {
    symbols_[address];  // each address is requested once, whatever the answer is
    texts.push_back(fmt::format("0x{:x}", address));
  }
  if (!call_) return;
  auto answer = call_({{"addresses", texts}});
  if (!answer) {
    call_ = nullptr;
    return;
  }
  const json& found = member(*answer, "symbols");
  const auto learn = [&](uint64_t address) {
    std::string symbol = text_at(found, fmt::format("0x{:x}", address));
    if (!symbol.empty()) symbols_[address] = std::move(symbol);
  };
  for (const uint64_t address : addresses) {
    learn(address);
    learn(address - 1);
  }
}

std::string_view RemoteSymbols::resolve(uint64_t address) {
  auto known = symbols_.find(address);
  return known == symbols_.end() ? std::string_view{} : known->second;
}

RemoteSymbols::Call ask_daemon(std::string socket) {
  auto client = std::make_shared<std::optional<RpcClient>>();
  return [client, socket = std::move(socket)](const json& params) -> Result<json> {
    if (client->has_value())
      if (auto answer = (*client)->call("symbols.resolve", params)) return answer;
    auto connected = RpcClient::connect(socket);
    if (!connected) return propagate(connected);
    client->emplace(std::move(*connected));
    return (*client)->call("symbols.resolve", params);
  };
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Asks the daemon for what `top` shows of it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "ctl/live/rpc_client.h"
#include "ctl/rates/background_call.h"
#include "ctl/rates/reading.h"

namespace ktraced {

// Readings of its counters, its overhead, and snapshots. Nothing waits for the daemon.
class DaemonFeed {
 public:
  // `notified`: as of BackgroundCall. Fails if the daemon cannot be reached.
  static Result<std::unique_ptr<DaemonFeed>> connect(const std::string& socket, double interval_s,
                                                     int notified);

  // Asks for a reading, unless one is on its way.
  void ask();
  // The reading that has arrived since the last call, if any. Fails if the daemon has ended, or
  // with its error.
  Result<std::optional<Reading>> reading();
  // "0.42 % of a CPU", or why it is not known. Measures on: call it now and then.
  [[nodiscard]] const std::string& overhead();

  // Begins a snapshot; false if the last one is not finished.
  bool take_snapshot();
  // The answer to it, once.
  std::optional<Result<nlohmann::json>> snapshot() { return snapshot_.take(); }

 private:
  DaemonFeed(std::string socket, RpcClient status, RpcClient overhead, double interval_s,
             int notified);
  void measure();

  std::string socket_;
  RpcClient status_client_, overhead_client_;  // used by the threads of the calls
  uint64_t measure_ms_;
  std::string overhead_text_ = "measuring";
  BackgroundCall<nlohmann::json> status_, overhead_, snapshot_;
};

}  // namespace ktraced

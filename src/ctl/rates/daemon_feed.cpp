// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/daemon_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/text/json_access.h"
#include "ctl/live/overhead.h"

namespace ktraced {
namespace {

using nlohmann::json;

// The daemon measures for a minute at most.
constexpr double kMeasureMin = 50, kMeasureMax = 60'000;  // ms
// The first measurement is shorter than an interval, so that the first frame has its result. The
// daemon logs each one, so the others are longer.
constexpr double kFirstPart = 0.8, kOthers = 10'000;  // of an interval; ms
constexpr std::chrono::seconds kOverheadTimeout{120}, kTakeTimeout{3600};

Result<json> call(RpcClient& client, CallHandle& handle, std::string_view method,
                  const json& params = json::object()) {
  handle.watch(client);
  return client.call(method, params);
}

}  // namespace

Result<std::unique_ptr<DaemonFeed>> DaemonFeed::connect(const std::string& socket,
                                                        double interval_s, int notified) {
  auto status = RpcClient::connect(socket);
  if (!status) return propagate(status);
  auto overhead = RpcClient::connect(socket);
  if (!overhead) return propagate(overhead);
  overhead->set_answer_timeout(kOverheadTimeout);
  return std::unique_ptr<DaemonFeed>(
      new DaemonFeed(socket, std::move(*status), std::move(*overhead), interval_s, notified));
}

DaemonFeed::DaemonFeed(std::string socket, RpcClient status, RpcClient overhead, double interval_s,
                       int notified)
    : socket_(std::move(socket)),
      status_client_(std::move(status)),
      overhead_client_(std::move(overhead)),
      measure_ms_(static_cast<uint64_t>(
          std::clamp(interval_s * 1000 * kFirstPart, kMeasureMin, kMeasureMax))),
      status_(notified),
      overhead_(notified),
      snapshot_(notified) {
  measure();
}

void DaemonFeed::ask() {
  if (status_.running()) return;
  status_.start([this](CallHandle& handle) { return call(status_client_, handle, "status"); });
}

Result<std::optional<Reading>> DaemonFeed::reading() {
  auto answer = status_.take();
  if (!answer) return std::nullopt;
  if (!*answer) return propagate(*answer);
  return reading_of(**answer, boottime_ns());
}

void DaemonFeed::measure() {
  overhead_.start([this, duration = measure_ms_](CallHandle& handle) {
    handle.watch(overhead_client_);
    return measure_overhead(overhead_client_, duration);
  });
}

// An error stays: it is a missing permission, or a kernel that does not measure.
const std::string& DaemonFeed::overhead() {
  auto answer = overhead_.take();
  if (!answer) return overhead_text_;
  if (!*answer) {
    const Error& error = answer->error();
    overhead_text_ =
        error.code == ExitCode::no_permission ? "for administrators" : "unknown: " + error.message;
    return overhead_text_;
  }
  const json& percent = member(member(**answer, "total"), "cpu_percent");
  overhead_text_ =
      fmt::format("{:.3f} % of a CPU", percent.is_number() ? percent.get<double>() : 0.0);
  measure_ms_ = std::max(measure_ms_, static_cast<uint64_t>(kOthers));
  measure();
  return overhead_text_;
}

bool DaemonFeed::take_snapshot() {
  if (snapshot_.running()) return false;
  snapshot_.start([socket = socket_](CallHandle& handle) -> Result<json> {
    auto client = RpcClient::connect(socket, kConnectTimeout);
    if (!client) return propagate(client);
    client->set_answer_timeout(kTakeTimeout);
    return call(*client, handle, "snapshot.take", {{"reason", "ktracectl top"}});
  });
  return true;
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Serves the daemon's metrics: at metrics.listen, and on a port that the service manager has
// passed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/tracer.h"
#include "daemon/metrics/http_server.h"
#include "daemon/metrics/metrics_reading.h"
#include "daemon/metrics/steady_counters.h"

namespace ktraced {

// What the metrics are read from; all outlive the server.
struct MetricsSources {
  const TracerParts& tracer;
  const Subscribers& subscribers;
  Snapshots& snapshots;
  const StreamRecorder& recorder;
  const ReloadCounts& reloads;
  std::function<uint64_t()> log_lines_lost;
};

// Answers GET /metrics with a reading that is at most kReadingAge old: clients that ask all the
// time, who need no permission on a TCP port, cost the daemon little. Belongs to the main thread.
class MetricsServer {
 public:
  static constexpr std::chrono::milliseconds kReadingAge{100};

  // Serves nothing before apply(). `loop` must outlive this.
  MetricsServer(EventLoop& loop, MetricsSources sources);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer() = default;

  // Serves a passed port as long as this exists, also if metrics.listen names the same address.
  // Fails with ExitCode::os. Call it before prepare().
  Result<> serve_passed(MetricsListener listener);

  // A configuration that can be applied without failing.
  struct Prepared {
    std::optional<MetricsAddress> address;  // nothing: none, or that of the passed port
    std::unique_ptr<HttpServer> server;     // null: none, or the current one
  };
  // Listens at the address of another configuration, if it is another one; the current one is
  // served as before. Fails as MetricsListener::listen().
  [[nodiscard]] Result<Prepared> prepare(const std::string& listen, const AccessRules& rules);
  void apply(Prepared prepared);

  [[nodiscard]] std::vector<MetricsPlace> places() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    MetricsFormat format;
    HttpReply reply;
  };

  Result<std::unique_ptr<HttpServer>> serve(MetricsListener listener);
  void answer(const HttpRequest& request, const HttpReply& reply);
  void read();
  void finish(const SnapshotsStatus& snapshots);
  [[nodiscard]] MetricsReading reading(const SnapshotsStatus& snapshots);
  void send(MetricsFormat format, const HttpReply& reply);

  EventLoop& loop_;
  MetricsSources sources_;
  const double start_seconds_;
  std::optional<SteadyCounters> steady_;
  std::optional<MetricsReading> last_;
  Clock::time_point last_time_;
  std::vector<Waiting> waiting_;  // for the reading that is being made
  std::unique_ptr<HttpServer> passed_;
  std::unique_ptr<HttpServer> server_;  // of metrics.listen
  // Points to this object while it exists, for readings that come later.
  std::shared_ptr<MetricsServer*> self_ = std::make_shared<MetricsServer*>(this);
};

}  // namespace ktraced

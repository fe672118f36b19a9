// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/metrics_server.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/clock.h"

namespace ktraced {
namespace {

// Hits of an event that may be between their two counters, on one CPU: interrupts nest, and since
// Linux 7.0 programs are preempted.
constexpr uint64_t kInFlightPerCpu = 16;

constexpr std::string_view kPath = "/metrics";

}  // namespace

MetricsServer::MetricsServer(EventLoop& loop, MetricsSources sources)
    : loop_(loop),
      sources_(std::move(sources)),
      start_seconds_(static_cast<double>(clock_ns(CLOCK_REALTIME)) / 1e9) {}

Result<std::unique_ptr<HttpServer>> MetricsServer::serve(MetricsListener listener) {
  return HttpServer::serve(
      loop_, std::move(listener),
      [this](const HttpRequest& request, const HttpReply& reply) { answer(request, reply); });
}

Result<> MetricsServer::serve_passed(MetricsListener listener) {
  auto server = serve(std::move(listener));
  if (!server) return propagate(server);
  passed_ = std::move(*server);
  spdlog::info("serves metrics at {}, on the socket of the service manager",
               passed_->listener().address().text());
  return {};
}

Result<MetricsServer::Prepared> MetricsServer::prepare(const std::string& listen,
                                                       const AccessRules& rules) {
  Prepared prepared{.address = metrics_address(listen), .server = nullptr};
  if (passed_ && passed_->listener().address() == prepared.address) prepared.address.reset();
  if (!prepared.address) return prepared;
  if (server_ && server_->listener().address() == *prepared.address) {
    if (auto set = server_->set_access(rules); !set) return propagate(set);
    return prepared;
  }
  auto listener = MetricsListener::listen(*prepared.address, rules);
  if (!listener) return propagate(listener);
  auto server = serve(std::move(*listener));
  if (!server) return propagate(server);
  prepared.server = std::move(*server);
  return prepared;
}

void MetricsServer::apply(Prepared prepared) {
  if (prepared.server || !prepared.address) last_.reset();
  if (prepared.server) {
    server_ = std::move(prepared.server);
    spdlog::info("serves metrics at {}", prepared.address->text());
  } else if (!prepared.address && server_) {
    spdlog::info("serves no metrics at {} any more", server_->listener().address().text());
    server_.reset();
  }
}

std::vector<MetricsPlace> MetricsServer::places() const {
  std::vector<MetricsPlace> places;
  if (passed_) places.push_back({.address = passed_->listener().address(), .passed = true});
  if (server_) places.push_back({.address = server_->listener().address()});
  return places;
}

void MetricsServer::answer(const HttpRequest& request, const HttpReply& reply) {
  if (request.path != kPath)
    return reply({.status = 404, .body = "not found; the metrics are at /metrics\n"});
  if (last_ && Clock::now() - last_time_ < kReadingAge) return send(request.format, reply);
  waiting_.push_back({.format = request.format, .reply = reply});
  if (waiting_.size() == 1) read();
}

// The number of snapshots may have to be read from disk.
void MetricsServer::read() {
  sources_.snapshots.status([weak = std::weak_ptr(self_)](const SnapshotsStatus& snapshots) {
    if (const auto self = weak.lock()) (*self)->finish(snapshots);
  });
}

void MetricsServer::finish(const SnapshotsStatus& snapshots) {
  const auto waiting = std::exchange(waiting_, {});
  last_ = reading(snapshots);
  last_time_ = Clock::now();
  for (const auto& [format, reply] : waiting) send(format, reply);
}

MetricsReading MetricsServer::reading(const SnapshotsStatus& snapshots) {
  const TracerParts& tracer = sources_.tracer;
  if (!steady_) steady_.emplace(kInFlightPerCpu * tracer.rings.counters().cpus());
  MetricsReading reading{.kernel = tracer.metadata.kernel_release(),
                         .start_seconds = start_seconds_,
                         .paused = tracer.sessions.recorder().paused,
                         .process = process_usage(),
                         .reloads = sources_.reloads,
                         .log_lines_lost = sources_.log_lines_lost(),
                         .events = tracer.status.totals(),
                         .trace = tracer.status.read(),
                         .now_ns = boottime_ns(),
                         .follow_lost = tracer.filters.follow_lost(),
                         .history_lost_ns = lost_ns(tracer.replaced),
                         .programs = tracer.status.runs(),
                         .snapshots = snapshots,
                         .output = sources_.recorder.status(),
                         .subscribers = sources_.subscribers.status(),
                         .subscriber_totals = sources_.subscribers.totals()};
  steady_->apply(reading.events);
  return reading;
}

void MetricsServer::send(MetricsFormat format, const HttpReply& reply) {
  const std::string text = metrics_text(*last_, format);
  reply({.status = 200, .content_type = content_type_of(format), .body = text});
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/methods.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/control/parameters.h"
#include "kernel/programs/run_statistics.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr uint64_t kDurationMs = 1000, kDurationMsMax = 60'000;
constexpr size_t kMeasurementsMax = 16;
// How often to check whether the client still waits.
constexpr uint64_t kCheckMs = 100;

struct Measurement {
  // On as long as this exists; nothing: the client has turned them on.
  std::optional<RunStatistics> statistics;
  RunsByProgram before;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;  // planned
  EventSource timer;
};

json program_json(const std::string& program, uint64_t runs, uint64_t run_ns, uint64_t time_ns) {
  return {{"program", program},
          {"runs", runs},
          {"run_ns", run_ns},
          {"ns_per_run", runs == 0 ? 0.0 : static_cast<double>(run_ns) / static_cast<double>(runs)},
          {"cpu_percent", 100 * static_cast<double>(run_ns) / static_cast<double>(time_ns)}};
}

// Programs that ran, those that took most time first.
json overhead_json(const RunsByProgram& before, const RunsByProgram& after, uint64_t time_ns) {
  std::vector<std::pair<std::string, ProgramRuns>> programs;
  ProgramRuns total;
  for (const auto& [name, runs] : after) {
    const auto found = before.find(name);
    ProgramRuns change = runs;
    // A program that was loaded again counts from zero.
    if (found != before.end() && found->second.runs <= runs.runs)
      change = {.runs = runs.runs - found->second.runs,
                .run_ns = runs.run_ns - std::min(runs.run_ns, found->second.run_ns)};
    if (change.runs == 0) continue;
    total += change;
    programs.emplace_back(name, change);
  }
  std::ranges::stable_sort(programs, std::ranges::greater(),
                           [](const auto& program) { return program.second.run_ns; });
  json list = json::array();
  for (const auto& [name, runs] : programs)
    list.push_back(program_json(name, runs.runs, runs.run_ns, time_ns));
  return {{"duration_ns", time_ns},
          {"programs", std::move(list)},
          {"total", program_json("total", total.runs, total.run_ns, time_ns)}};
}

// The measurements that run now. Belongs to the main thread.
class Measurements : public std::enable_shared_from_this<Measurements> {
 public:
  Measurements(EventLoop& loop, const StatusReader& status) : loop_(loop), status_(status) {}

  Result<> begin(uint64_t duration_ms, bool statistics_on, const Reply& reply) {
    if (running_.size() >= kMeasurementsMax)
      return fail(ExitCode::unavailable, "{} measurements are running: try again", running_.size());
    std::optional<RunStatistics> statistics;
    if (!statistics_on) {
      auto turned_on = RunStatistics::turn_on();
      if (!turned_on) return propagate(turned_on);
      statistics = std::move(*turned_on);
    }
    const uint64_t id = ++last_id_;
    auto timer =
        loop_.add_repeating_timer(std::chrono::milliseconds(std::min(duration_ms, kCheckMs)),
                                  [weak = weak_from_this(), id, reply] {
                                    if (const auto self = weak.lock()) self->check(id, reply);
                                  });
    if (!timer) return propagate(timer);
    const uint64_t now = boottime_ns();
    running_.emplace(id, Measurement{.statistics = std::move(statistics),
                                     .before = status_.runs(),
                                     .begin_ns = now,
                                     .end_ns = now + duration_ms * 1'000'000,
                                     .timer = std::move(*timer)});
    return {};
  }

 private:
  void check(uint64_t id, const Reply& reply) {
    const uint64_t now = boottime_ns();
    const Measurement& measurement = running_.at(id);
    if (reply.connected() && now < measurement.end_ns) return;
    if (reply.connected())
      reply(overhead_json(measurement.before, status_.runs(), now - measurement.begin_ns));
    running_.erase(id);
  }

  EventLoop& loop_;
  const StatusReader& status_;
  std::map<uint64_t, Measurement> running_;
  uint64_t last_id_ = 0;
};

}  // namespace

void add_overhead_method(ControlServer& server, const MethodTargets& targets) {
  auto measurements = std::make_shared<Measurements>(targets.loop, targets.tracer.status);
  server.add({"status.overhead", {"duration_ms", "statistics_on"}}, Role::admin,
             [measurements](const json& params, const Peer&, const Reply& reply) {
               auto duration =
                   number_parameter(params, "duration_ms", kDurationMs, 1, kDurationMsMax);
               if (!duration) return reply(propagate(duration));
               auto statistics_on = flag_parameter(params, "statistics_on");
               if (!statistics_on) return reply(propagate(statistics_on));
               if (auto begun = measurements->begin(*duration, *statistics_on, reply); !begun)
                 reply(propagate(begun));
             });
}

}  // namespace ktraced

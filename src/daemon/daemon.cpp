// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/daemon.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "base/text/error_lines.h"
#include "daemon/config/config_files.h"
#include "daemon/config_check.h"
#include "daemon/control/methods.h"
#include "daemon/log/audit.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/service/notifications.h"

namespace ktraced {
namespace {

// How long a stopping daemon waits until its readers have read the rest.
constexpr std::chrono::milliseconds kReaderTimeout{3000};

// How often a start that takes long says so.
constexpr std::chrono::seconds kSignOfStart{2};

template <class T>
void add_if_changed(std::vector<std::string>& sections, const char* name, const T& before,
                    const T& now) {
  if (before != now) sections.emplace_back(name);
}

// Bad usage in a command is a bad configuration in a file. This concerns the filters, the only part
// that is checked against the running system.
Error in_file(const std::filesystem::path& file, const Error& error) {
  if (error.code != ExitCode::usage) return error;
  return {ExitCode::config, with_place(file, error.message)};
}

// Patterns of tracepoints, of all sessions.
std::vector<std::string> tracepoints_in(const Config& config) {
  std::vector<std::string> patterns = config.events.tracepoints;
  if (const auto& output = config.stream.output; output && output->events)
    patterns.insert(patterns.end(), output->events->tracepoints.begin(),
                    output->events->tracepoints.end());
  return patterns;
}

}  // namespace

Daemon::Daemon(EventLoop& loop, std::filesystem::path config_file, Config config)
    : loop_(loop), config_file_(std::move(config_file)), config_(std::move(config)) {}

Result<std::unique_ptr<Daemon>> Daemon::create(EventLoop& loop, std::filesystem::path config_file,
                                               const Config& config, PassedSockets passed,
                                               std::function<uint64_t()> log_lines_lost) {
  std::unique_ptr<Daemon> daemon(new Daemon(loop, std::move(config_file), config));
  if (auto started = daemon->start(std::move(passed), std::move(log_lines_lost)); !started)
    return propagate(started);
  return daemon;
}

Daemon::~Daemon() {
  server_.reset();                     // no more commands
  metrics_.reset();                    // no more readings
  snapshots_.reset();                  // joins the writer thread, which reads the tracer's rings
  if (recorder_) recorder_->finish();  // joins its thread, which uses the tracer
  tracer_.reset();                     // joins the drain thread, which publishes to the subscribers
}

Result<> Daemon::listen(std::optional<Fd> passed_socket) {
  auto rules = make_access_rules(config_.control.group, config_.control.admin_uids);
  if (!rules)
    return fail(rules.error().code, "{}", with_place(config_file_, rules.error().message));
  auto server =
      ControlServer::listen(loop_, config_.control.socket, *rules, {}, std::move(passed_socket));
  if (!server) return propagate(server);
  server_ = std::move(*server);
  apply_access(config_, rules->read_group);
  server_->on_closed([this] { heap_.note_use(); });
  return {};
}

Result<> Daemon::serve_metrics(std::optional<MetricsListener> passed,
                               std::function<uint64_t()> log_lines_lost) {
  auto rules = make_access_rules(config_.control.group, config_.control.admin_uids);
  if (!rules) return propagate(rules);
  metrics_ = std::make_unique<MetricsServer>(
      loop_, MetricsSources{.tracer = tracer_->parts(),
                            .subscribers = *subscribers_,
                            .snapshots = *snapshots_,
                            .recorder = *recorder_,
                            .reloads = reloads_,
                            .log_lines_lost = std::move(log_lines_lost)});
  if (passed)
    if (auto served = metrics_->serve_passed(std::move(*passed)); !served) return served;
  auto prepared = metrics_->prepare(config_.metrics.listen, *rules);
  if (!prepared) return propagate(prepared);
  metrics_->apply(std::move(*prepared));
  return {};
}

Result<> Daemon::start(PassedSockets passed, std::function<uint64_t()> log_lines_lost) {
  std::optional<MetricsListener> passed_port;
  if (passed.metrics) {
    auto adopted = MetricsListener::adopt(std::move(*passed.metrics));
    if (!adopted) return propagate(adopted);
    passed_port.emplace(std::move(*adopted));
  }
  if (auto listening = listen(std::move(passed.control)); !listening) return listening;

  auto subscribers = Subscribers::create(
      loop_,
      {.finish = [this](uint32_t session) { tracer_->parts().session_control.finish(session); },
       .on_gone = [this] { heap_.note_use(); },
       .on_dropped =
           [this](uint32_t session) {
             if (tracer_) tracer_->parts().rings.counters().restart_stacks(session);
           }});
  if (!subscribers) return propagate(subscribers);
  subscribers_ = std::move(*subscribers);

  if (auto begun = begin_tracing(); !begun) return begun;
  bool streams = false;
  if (tracer_->sizes() != sizes_of(config_)) {
    auto replaced = replace_other_sizes();
    if (!replaced) return propagate(replaced);
    streams = !*replaced;
  }
  snapshots_ =
      std::make_unique<Snapshots>(loop_, tracer_->parts(), symbols_, access_, config_.flight);
  if (auto begun = snapshots_->begin(); !begun) return begun;
  if (!streams)
    if (auto set = apply_stream(config_.stream); !set) return set;

  add_methods(*server_, {.loop = loop_,
                         .tracer = tracer_->parts(),
                         .set_flight = [this](bool on) { return tracer_->set_flight(on); },
                         .subscribers = *subscribers_,
                         .snapshots = *snapshots_,
                         .recorder = *recorder_,
                         .symbols = symbols_,
                         .resolver = resolver_,
                         .access = access_,
                         .metrics_places = [this] { return metrics_places(); },
                         .commands = commands_,
                         .lists = lists_,
                         .reader_lists = reader_lists_,
                         .reload = [this](OnReloaded then) { reload(std::move(then)); }});
  if (auto served = serve_metrics(std::move(passed_port), std::move(log_lines_lost)); !served)
    return served;
  tracer_->work_in(loop_);
  heap_.note_use();
  watch_kernel();
  watch_clock();
  if (auto watched = watch_signals(); !watched) return watched;
  if (auto watched = watch_over(); !watched) return watched;
  notify_ready(status());
  return {};
}

Result<> Daemon::begin_tracing() {
  make_recorder();
  auto tracer = Tracer::create(config_, symbols_, [this](std::span<const PacketBytes> batch, bool) {
    return recorder_->publish(batch);
  });
  if (!tracer) return std::unexpected(in_file(config_file_, tracer.error()));
  tracer_ = std::move(*tracer);
  tracer_->on_output_change(
      [this](const auto& current_config) { recorder_->note_change(current_config); });
  return {};
}

// The rings of an earlier daemon have other sizes than the configuration says, which are constants
// of the programs. Its history is saved first, while the output records. True: there is a new
// tracer, without an output. False: the history cannot be saved, and all stays as it is.
Result<bool> Daemon::replace_other_sizes() {
  if (auto set = apply_stream(config_.stream); !set) return propagate(set);
  if (auto saved = save_history(); !saved) {
    spdlog::warn(
        "flight.buffer_kb and flight.banks stay as an earlier daemon had them until the next "
        "start, because its history cannot be saved: {}",
        saved.error().message);
    set_sizes(config_.flight, tracer_->sizes());
    return false;
  }
  tracer_->shut_down(false);
  recorder_->finish();
  tracer_.reset();
  if (auto begun = begin_tracing(); !begun) return propagate(begun);
  return true;
}

// Ends the recording of the flight recorder, and freezes what it has: a bank that cannot be written
// stays frozen. Fails if history would be lost without the rings; the recorder then goes on.
Result<> Daemon::save_history() {
  const TracerParts& tracer = tracer_->parts();
  FlightRecorder& flight = tracer.rings.flight();
  if (auto written = write_frozen(); !written || flight.history_bytes() == 0) return written;
  const auto record = [&tracer](bool on) {
    tracer.sessions.recorder().has_sink = on;
    tracer.reconciler.reconcile();
  };
  record(false);
  Rollback goes_on([&] { record(true); });
  if (auto frozen = flight.swap(); !frozen) return propagate(frozen);
  if (auto written = write_frozen(); !written) return written;
  goes_on.dismiss();
  return {};
}

// Writes the frozen banks, and serves nobody meanwhile. Fails if one of them is still frozen, or at
// a signal to stop, which stays pending.
Result<> Daemon::write_frozen() {
  const FlightRecorder& flight = tracer_->parts().rings.flight();
  if (!flight.any_frozen()) return {};
  auto loop = EventLoop::create();
  if (!loop) return propagate(loop);
  auto starting = (*loop)->add_repeating_timer(kSignOfStart, [] {
    notify_starting("Saves the history of an earlier daemon", 10 * kSignOfStart);
  });
  if (!starting) return propagate(starting);
  std::vector<EventSource> signals;
  for (const int signal : {SIGTERM, SIGINT}) {
    auto source = (*loop)->add_signal(signal, [&loop, signal](const SignalSender&) {
      ::kill(::getpid(), signal);
      (*loop)->exit(0);
    });
    if (!source) return propagate(source);
    signals.push_back(std::move(*source));
  }
  Snapshots snapshots(**loop, tracer_->parts(), symbols_, access_, config_.flight);
  if (auto begun = snapshots.begin(); !begun) return begun;
  snapshots.finish(true, [&] { (*loop)->exit(0); });
  if (auto ended = (*loop)->run(); !ended) return propagate(ended);
  if (flight.any_frozen())
    return fail(ExitCode::unavailable, "what is frozen could not be written");
  return {};
}

Result<> Daemon::watch_over() {
  const auto interval = watchdog_interval();
  if (!interval) return {};
  auto watchdog = start_watchdog(loop_, *interval, [this](const std::function<void()>& notify) {
    tracer_->parts().session_control.drain().call(notify);
  });
  if (!watchdog) return propagate(watchdog);
  watchdog_ = std::move(*watchdog);
  return {};
}

std::vector<MetricsPlace> Daemon::metrics_places() const {
  return metrics_ ? metrics_->places() : std::vector<MetricsPlace>{};
}

std::string Daemon::status() const {
  const size_t drop_ins = config_.drop_ins.size();
  std::string served = config_.control.socket.string();
  for (const MetricsPlace& place : metrics_places())
    served += fmt::format(", metrics at {}", place.address.text());
  return fmt::format("Serves {}; configuration: {}{}", served, config_file_.string(),
                     drop_ins == 0   ? ""
                     : drop_ins == 1 ? " and 1 drop-in"
                                     : fmt::format(" and {} drop-ins", drop_ins));
}

Result<> Daemon::watch_signals() {
  for (int signal : {SIGTERM, SIGINT})
    if (auto added = add_signal(signal, "stop", [this] { stop(); }); !added) return added;
  if (auto added = add_signal(SIGUSR1, "snapshot.take", [this] { take_snapshot_on_signal(); });
      !added)
    return added;
  return add_signal(SIGHUP, "reload", [this] {
    reload([](const Result<Reloaded>&) {});  // the log has what came of it
  });
}

// A signal is a request too: that of the process that sends it is logged before it is carried out.
Result<> Daemon::add_signal(int signal, const char* method, std::function<void()> callback) {
  auto source = loop_.add_signal(
      signal, [signal, method, call = std::move(callback)](const SignalSender& by) {
        log_request({.pid = by.pid, .uid = by.uid}, method,
                    {{"signal", fmt::format("SIG{}", ::sigabbrev_np(signal))}});
        call();
      });
  if (!source) return propagate(source);
  signals_.push_back(std::move(*source));
  return {};
}

void Daemon::take_snapshot_on_signal() {
  auto taken =
      snapshots_->take({.name = "", .reason = "SIGUSR1", .requested_by = "signal"}, nullptr);
  if (!taken) spdlog::error("no snapshot on SIGUSR1: {}", taken.error().message);
}

namespace {

void log_reload(const Result<Reloaded>& reloaded) {
  if (!reloaded) {
    for (const std::string& line : message_lines(reloaded.error()))
      spdlog::error("reload failed: {}", line);
    return;
  }
  const auto& [changed, at_next_start] = *reloaded;
  spdlog::info("configuration reloaded, changed: {}",
               changed.empty() ? "nothing" : fmt::format("{}", fmt::join(changed, ", ")));
  for (const std::string& key : at_next_start)
    spdlog::warn("{} takes effect at the next start", key);
}

}  // namespace

void Daemon::reload(OnReloaded on_reloaded) {
  auto then = [this, on_reloaded = std::move(on_reloaded)](const Result<Reloaded>& reloaded) {
    notify_ready(status());
    ++(reloaded ? reloads_.succeeded : reloads_.failed);
    reloads_.last_failed = !reloaded;
    log_reload(reloaded);
    on_reloaded(reloaded);
  };
  commands_.run([this, then = std::move(then)](const CommandQueue::Token& token) {
    notify_reloading();
    auto config = as_result([this] { return read_config(); });  // there may be no memory for it
    if (!config) return then(propagate(config));
    const auto tracepoints = tracepoints_in(*config);
    tracer_->parts().resolver.prepare_tracepoints(
        tracepoints,
        [this, then, token, config = std::move(*config)](const Tracepoints::Kept& kept) {
          tracer_->parts().probe_lookup.prepare(
              config.probes, [this, then, token, config, kept](const Result<Probes::Kept>& probes) {
                if (!probes) return then(std::unexpected(probes.error()));
                finish_reload(
                    config, [then, token, kept, probes](const auto& reloaded) { then(reloaded); });
              });
        });
  });
}

// The old filters stay until everything that the new ones need is attached.
void Daemon::finish_reload(const Config& config, OnReloaded then) {
  if (auto room = check_rings(config); !room) return then(propagate(room));
  tracer_->prepare_filters(config, [this, config, then](const Result<>& prepared) {
    if (!prepared) return then(std::unexpected(prepared.error()));
    const auto reloaded = as_result([&] { return apply_config(config); });
    tracer_->parts().attacher.when_attached([then, reloaded](const Result<>& attached) {
      if (!attached) return then(std::unexpected(attached.error()));
      then(reloaded);
    });
  });
}

// Is there memory for the rings that the reload makes, and for the next start, whose rings are in
// the place of those that there are?
Result<> Daemon::check_rings(const Config& config) const {
  Config now = config;
  if (!set_sizes(now.flight, tracer_->sizes()).empty()) {
    if (auto problem =
            flight_memory_problem(config.flight, tracer_->parts().rings.flight().memory()))
      return fail(ExitCode::unavailable, "{}", *problem);
    if (auto start = check_start_memory(config); !start) return start;
  }
  return tracer_->check_memory(now);
}

Result<Config> Daemon::read_config() {
  auto config = load_config(config_file_, event_groups(tracer_->parts().schema));
  if (!config) return config;
  if (config->control.socket != config_.control.socket)
    return fail(ExitCode::config,
                "{}: control.socket cannot be changed while the daemon runs: restart it",
                config_file_.string());
  return config;
}

Result<Reloaded> Daemon::apply_config(Config config) {
  const std::vector<std::string> at_next_start = set_sizes(config.flight, tracer_->sizes());
  if (config.stream.output)
    if (auto room = tracer_->parts().session_control.check_output(ring_budget(config)); !room)
      return std::unexpected(in_file(config_file_, room.error()));
  auto rules = make_access_rules(config.control.group, config.control.admin_uids);
  if (!rules)
    return fail(rules.error().code, "{}", with_place(config_file_, rules.error().message));

  // Nobody keeps a role that a refused configuration has given, also if something here throws.
  const AccessRules rules_before = server_->access();
  const ReaderRules access_before = access_.rules();
  Rollback roles([&] { restore_access(rules_before, access_before); });
  auto metrics = metrics_->prepare(config.metrics.listen, *rules);
  if (!metrics) return propagate(metrics);
  if (auto set = server_->set_access(*rules); !set) return propagate(set);
  auto changed = tracer_->apply(config);
  if (!changed) return std::unexpected(in_file(config_file_, changed.error()));
  apply_access(config, rules->read_group);
  end_readers(access_.rules());
  end_streams_beyond(*rules);
  if (config.control.group != config_.control.group ||
      config.control.admin_uids != config_.control.admin_uids || access_.rules() != access_before)
    changed->emplace_back("control");
  if (access_.rules() != access_before) recorder_->end_trace();
  add_if_changed(*changed, "metrics", config_.metrics.listen, config.metrics.listen);
  snapshots_->apply(config.flight);
  const auto stream = apply_stream(config.stream);
  add_if_changed(*changed, "log", config_.log.level, config.log.level);
  spdlog::set_level(spdlog::level::from_str(config.log.level));
  metrics_->apply(std::move(*metrics));
  config_ = std::move(config);
  roles.dismiss();
  if (!stream)
    return fail(stream.error().code,
                "stream.output is not applied, but everything else of the configuration is in use; "
                "the next reload tries again: {}",
                stream.error().message);
  return Reloaded{.changed = std::move(*changed), .at_next_start = at_next_start};
}

void Daemon::stop() {
  spdlog::info(config_.persist ? "stopping; tracing continues" : "stopping");
  notify_stopping();
  commands_.close();
  tracer_->drop_work();
  // The banks must exist as long as they are read.
  snapshots_->finish(config_.persist, [this] { shut_down(); });
}

void Daemon::shut_down() {
  metrics_.reset();
  tracer_->shut_down(config_.persist);
  subscribers_->finish_all(kReaderTimeout);
  recorder_->finish();
  loop_.exit(0);
}

}  // namespace ktraced

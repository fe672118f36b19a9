// SPDX-License-Identifier: BSD-2-Clause
// When which programs are attached: for whom, and until when.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

#include "daemon/tracer.h"

namespace ktraced {
namespace {

// Programs that keep task names and followed trees, and so run whether or not their
// event is enabled.
constexpr std::array kHousekeeping = {"sched_process_fork", "sched_process_exec", "task_rename"};

// Keeps names and followed trees, and has no event.
constexpr const char* kBirth = "child_born";

bool is_housekeeping(const std::string& event) {
  return std::ranges::find(kHousekeeping, event) != kHousekeeping.end();
}

}  // namespace

void Tracer::set_paused(bool paused) {
  paused_ = paused;
  reconcile();
}

void Tracer::prepare_reader(bool backlog) {
  if (streaming_) {
    // What is older goes to the others.
    drain_->flush();
  } else if (!backlog && drain_->has_backlog()) {
    drain_->discard_backlog();
    spdlog::info("discarded what an earlier daemon's readers had not read yet");
  }
}

void Tracer::set_streaming(bool streaming) {
  subscribed_ = streaming;
  stream_to_readers();
}

void Tracer::set_recording(bool recording) {
  if (!recording && recording_) drain_->flush();
  recording_ = recording;
  stream_to_readers();
}

void Tracer::begin_recording() {
  recording_ = streaming_ = true;
  drain_->set_streaming(true);
}

void Tracer::stream_to_readers() {
  const bool streaming = subscribed_ || recording_;
  if (shut_down_ || streaming == streaming_) return;
  streaming_ = streaming;
  if (!streaming) reconcile();
  drain_->set_streaming(streaming);
  if (streaming) reconcile();
}

Result<> Tracer::set_flight(bool enabled) {
  if (auto switched = switch_flight(enabled); !switched) return switched;
  reconcile();
  return {};
}

// Leaves the programs as they are.
Result<> Tracer::switch_flight(bool enabled) {
  // An earlier daemon may have left it on.
  if (!enabled && !flight_.enabled() && object_.control().flight != 0) {
    spdlog::warn("the history of an earlier daemon is given up: \"flight.enabled\" is false");
    if (auto adopted = flight_.enable(traced_cpus()); !adopted) return adopted;
    flight_.disable();
  }
  if (enabled == flight_.enabled()) return {};
  if (enabled) {
    if (auto done = flight_.enable(traced_cpus()); !done) return done;
  } else {
    if (flight_.any_frozen())
      return fail(ExitCode::unavailable,
                  "the flight recorder cannot be turned off while a snapshot is being written or "
                  "waits to be");
    flight_.disable();
  }
  return {};
}

void Tracer::shut_down(bool persist) {
  if (loan_) give_filter_back(loan_->borrower.key);
  shut_down_ = true;
  // The next daemon goes on recording where this one ends.
  drain_->set_streaming(false, persist && recording_);
  drain_.reset();
  if (persist) {
    // The number may soon be another process's; 0 is the idle task's.
    object_.control().self_tgid = UINT32_MAX;
    return;
  }
  subscribed_ = recording_ = streaming_ = false;
  paused_ = true;
  static_cast<void>(filters_.apply({}));
  reconcile();
  flight_.disable();
  if (object_.pins() != nullptr) object_.pins()->remove();
}

// Attaches exactly the programs that are needed now.
void Tracer::reconcile() {
  const TraceConfigHistory::Change change(trace_configs_);
  const bool tracing = (streaming_ || flight_.enabled()) && !paused_;
  const bool keeping_house = tracing || filters_.following();
  const bool names_begin = keeping_house && !names_kept();
  if (names_begin) names_.begin();
  for (const Event& event : schema_.events()) {
    const bool on = tracing && enabled_.contains(event.name);
    if (event.id < std::size(object_.control().event_on))
      std::atomic_ref(object_.control().event_on[event.id]).store(on ? 1 : 0);
    set_attached(event, on || (keeping_house && is_housekeeping(event.name)));
  }
  // Two that have no event.
  set_attached(kBirth, keeping_house);
  set_attached("forget_followed", filters_.following());
  if (names_begin) check_names();
  if (!shut_down_) note_in_force();
}

// Without one of them names may have changed unseen.
bool Tracer::names_kept() const {
  auto kept = [this](const std::string& program) {
    return object_.attached(program) || object_.unavailable().contains(program);
  };
  return kept(kBirth) && std::ranges::all_of(kHousekeeping, kept);
}

void Tracer::set_attached(const Event& event, bool attached) {
  if (!is_dynamic(event)) return set_attached(event.name, attached);
  // Of several definitions of one name the newest is in force.
  if (attached && schema_.find(event.name) == &event)
    note_attach(event.name, dynamic_.attach(event.id));
  else
    dynamic_.detach(event.id);
}

void Tracer::set_attached(const std::string& program, bool attached) {
  if (!attached)
    object_.detach(program);
  else if (!object_.unavailable().contains(program))
    note_attach(program, object_.attach(program));
}

void Tracer::note_attach(const std::string& event, const Result<>& attached) {
  if (attached)
    attach_failures_.erase(event);
  else if (attach_failures_.emplace(event, attached.error().message).second)
    spdlog::error("{}", attached.error().message);
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Decides when programs are attached, and for which consumer.
#include <spdlog/spdlog.h>

#include "daemon/capture/tracer.h"

namespace ktraced {

void Tracer::set_paused(bool paused) {
  paused_ = paused;
  reconcile();
}

void Tracer::prepare_reader() {
  if (streaming_) {
    // Older records go to the other readers.
    drain_->flush();
  } else if (drain_->has_backlog()) {
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
  const bool streaming = subscribed_ || expected_readers_ > 0 || recording_;
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
    spdlog::warn("discarded the history of an earlier daemon: \"flight.enabled\" is false");
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
                  "pending");
    flight_.disable();
  }
  return {};
}

void Tracer::shut_down(bool persist) {
  drop_work();
  if (temporary_) end_temporary_filter(temporary_->owner.key);
  shut_down_ = true;
  drop_work();
  // The next daemon continues recording where this one ends.
  drain_->set_streaming(false, persist && recording_);
  drain_.reset();
  if (persist) {
    // The kernel may soon reuse the number for another process. 0 is the number of the idle task.
    object_.control().self_tgid = UINT32_MAX;
    return;
  }
  subscribed_ = recording_ = streaming_ = false;
  paused_ = true;
  static_cast<void>(filters_.apply({}));
  detach_all();
  flight_.disable();
  if (object_.pins() != nullptr) object_.pins()->remove();
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/stream_control.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace ktraced {

void StreamControl::start(std::unique_ptr<Drain> drain, bool recording) {
  drain_ = std::move(drain);
  if (!recording) return;
  recording_ = on_ = true;
  drain_->set_streaming(true);
}

void StreamControl::prepare_reader() {
  if (on_) {
    // Older records go to the other readers.
    drain_->flush();
  } else if (drain_->has_backlog()) {
    drain_->discard_backlog();
    spdlog::info("discarded what an earlier daemon's readers had not read yet");
  }
}

void StreamControl::set_subscribed(bool subscribed) {
  subscribed_ = subscribed;
  update();
}

std::shared_ptr<void> StreamControl::expect_reader() {
  ++expected_readers_;
  update();
  return {nullptr, [this](void*) {
            --expected_readers_;
            update();
          }};
}

void StreamControl::set_recording(bool recording) {
  if (!recording && recording_) drain_->flush();
  recording_ = recording;
  update();
}

void StreamControl::announce(std::span<const std::byte> records) {
  if (drain_) drain_->announce(records);
}

void StreamControl::update() {
  const bool on = subscribed_ || expected_readers_ > 0 || recording_;
  if (closed_ || on == on_) return;
  on_ = on;
  if (!on) applier_.reconcile();
  drain_->set_streaming(on);
  if (on) applier_.reconcile();
}

void StreamControl::finish(bool leave_on) {
  drain_->set_streaming(false, leave_on && recording_);
  drain_.reset();
}

}  // namespace ktraced

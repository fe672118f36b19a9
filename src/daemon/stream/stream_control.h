// SPDX-License-Identifier: BSD-2-Clause
// Turns the stream on while somebody reads it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "daemon/programs/config_applier.h"
#include "daemon/stream/drain.h"

namespace ktraced {

// Owns the drain thread. The stream is on while there is a subscriber, an expected one, or the
// daemon's own recording. Belongs to the main thread.
class StreamControl {
 public:
  // `applier` must outlive this.
  explicit StreamControl(ConfigApplier& applier) : applier_(applier) {}

  // Called once. `recording`: the daemon's own recording continues from the first record on.
  void start(std::unique_ptr<Drain> drain, bool recording);

  // True if the programs must write to the stream rings.
  [[nodiscard]] bool on() const { return on_; }
  // True if a subscriber or the recording reads it, not only an expected one.
  [[nodiscard]] bool has_reader() const { return recording_ || subscribed_; }
  // True if unread records of an earlier daemon wait for the first reader that requests them.
  [[nodiscard]] bool has_backlog() const { return !on_ && drain_->has_backlog(); }
  // Prepares for another reader, which gets only what happens from now on.
  void prepare_reader();
  // Turns the stream on for the first subscriber, or off after the last one.
  void set_subscribed(bool subscribed);
  // Keeps the stream on, as if there were a subscriber, as long as a copy lives.
  [[nodiscard]] std::shared_ptr<void> expect_reader();
  // Turns the stream on or off for the daemon's own recording. When turned off, returns after
  // everything up to now has been published. When turned on, the stream starts with the next
  // request_batch().
  void set_recording(bool recording);

  // From start() to finish().
  [[nodiscard]] Drain& drain() const { return *drain_; }
  // Publishes metadata records, if the drain thread runs.
  void announce(std::span<const std::byte> records);

  // The daemon ends: from now on readers change nothing.
  void close() { closed_ = true; }
  // Publishes the rest and ends the drain thread. `leave_on`: if the daemon's own recording is on,
  // the programs go on writing for the next daemon.
  void finish(bool leave_on);

 private:
  void update();

  ConfigApplier& applier_;
  std::unique_ptr<Drain> drain_;
  bool subscribed_ = false;
  bool recording_ = false;
  size_t expected_readers_ = 0;
  bool on_ = false;
  bool closed_ = false;
};

}  // namespace ktraced

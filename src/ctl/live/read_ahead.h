// SPDX-License-Identifier: BSD-2-Clause
// Reads a stream faster than it can be shown.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "ctl/live/live_source.h"

namespace ktraced {

// Reads packets from a LiveSource in a separate thread and queues them. Decoding takes several
// times as long as reading, and the daemon drops what is not read in time. With the queue, bursts
// are shown late instead of being lost.
class ReadAhead {
 public:
  // Beyond this the reader stops; the daemon then drops packets and reports the losses.
  static constexpr size_t kMaxBytes = 256U << 20;

  // `source` must outlive this. Only its schema may be used by others. Fails with ExitCode::os.
  static Result<std::unique_ptr<ReadAhead>> start(LiveSource& source, size_t max_bytes = kMaxBytes);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  // Ends the connection.
  ~ReadAhead();

  // Readable when take() has something to return.
  [[nodiscard]] int fd() const { return ready_.get(); }
  // Visits the queued packets; does not wait. False at the end of the stream. Fails as
  // LiveSource::read() did, or as `visit` does.
  Result<bool> take(const PacketVisitor& visit);
  // Ends the stream, see LiveSource::finish().
  void finish() { source_.finish(); }

 private:
  struct Packet {
    PacketView view;
    std::shared_ptr<const void> owner;
  };
  ReadAhead(LiveSource& source, size_t max_bytes, Fd ready)
      : source_(source), max_bytes_(max_bytes), ready_(std::move(ready)) {}
  void read_all();
  bool wait_for_room();
  void release_room(size_t bytes);
  void hand_over(std::vector<Packet> packets, size_t bytes, Result<bool> more);

  LiveSource& source_;
  const size_t max_bytes_;
  Fd ready_;  // eventfd
  std::mutex mutex_;
  std::condition_variable room_;
  // guarded by mutex_
  std::vector<Packet> packets_;
  size_t bytes_ = 0;                 // read and not visited yet
  std::optional<Result<bool>> end_;  // how reading ended
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The readers of the packet stream.
//
// The drain thread publishes batches; the main thread writes them to the sockets. Each subscriber
// has a bounded queue. A slow subscriber loses whole event packets, and gets the exact number of
// lost events per CPU and event. The daemon never waits for a subscriber.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/runtime/event_loop.h"
#include "daemon/runtime/peer.h"
#include "trace/packet/packet.h"

namespace ktraced {

struct SubscriberLimits {
  size_t event_bytes = 16U << 20;  // queued event packets of one subscriber
  size_t name_bytes = 8U << 20;    // queued metadata and loss packets
};

// A subscriber, as listed.
struct SubscriberStatus {
  std::string session;  // its name
  pid_t pid = 0;
  uid_t uid = 0;
  size_t queued_bytes = 0;
  uint64_t sent_packets = 0;
  uint64_t lost_events = 0;  // lost here, because the reader was too slow
  std::chrono::seconds age{};
};

// Sums over all subscribers since the daemon started, also over those that have gone.
struct SubscriberTotals {
  uint64_t sent_packets = 0;
  uint64_t lost_events = 0;
  uint64_t closed = 0;  // by the daemon, because metadata other than names did not fit
};

// One subscriber for each session of a client.
class Subscribers {
 public:
  // Called in the main thread, unless stated otherwise, without locks held.
  struct Hooks {
    // The subscriber of this session requests the end: publish the last batch, with everything up
    // to now.
    std::function<void(uint32_t session)> finish;
    // A subscriber has gone.
    std::function<void()> on_gone = nullptr;
    // Events of this session were dropped here, and perhaps the stacks of later ones. Called in the
    // thread that publishes.
    std::function<void(uint32_t session)> on_dropped = nullptr;
  };

  // `loop` must outlive the subscribers. Fails with ExitCode::os.
  static Result<std::unique_ptr<Subscribers>> create(EventLoop& loop, Hooks hooks,
                                                     SubscriberLimits limits = {});
  Subscribers(const Subscribers&) = delete;
  Subscribers& operator=(const Subscribers&) = delete;
  ~Subscribers();

  // Who reads, and what.
  struct Reader {
    uint32_t session = 0;
    std::string name;  // of the session
    Peer peer;
    std::shared_ptr<const void> keep;  // destroyed when the reader has gone
  };
  // Takes ownership of a connection; it gets the batches of its session published from now on.
  // `first_packets` returns metadata packets with all known names, which are sent before. Batches
  // may be published while it runs. Fails with ExitCode::os, and closes the connection. Main
  // thread.
  Result<> add(Fd connection, Reader reader,
               const std::function<std::vector<PacketBytes>()>& first_packets);

  // Queues one whole batch of a session: event packets, then one metadata packet. Must be called
  // regularly, with a metadata packet alone if there were no events. A batch also carries losses
  // that no later packet of their CPU could report. The `last` batch ends the stream. False: the
  // reader is too slow for its names, as SessionStream::Publish. Thread-safe.
  bool publish(uint32_t session, std::span<const PacketBytes> batch, bool last = false);

  // The sessions whose readers had a role that these rules do not give them. Main thread.
  [[nodiscard]] std::vector<uint32_t> beyond(const AccessRules& rules) const;
  // Main thread.
  [[nodiscard]] std::vector<SubscriberStatus> status() const;
  [[nodiscard]] SubscriberTotals totals() const;

  // Writes the queued packets, waits for the readers until `timeout`, and closes all. No batch may
  // be published afterwards, and no hook is called. Main thread.
  void finish_all(std::chrono::milliseconds timeout);

 private:
  class Subscriber;

  Subscribers(EventLoop& loop, Hooks hooks, SubscriberLimits limits);
  void on_io(Subscriber& subscriber, uint32_t events);
  void write_all();
  void end_overflown();
  void remove_finished();
  bool write_the_rest();

  EventLoop& loop_;
  Hooks hooks_;
  SubscriberLimits limits_;
  Notifier published_;
  mutable std::mutex mutex_;           // guards the list for the drain thread, and all queues
  std::list<Subscriber> subscribers_;  // changed by the main thread alone
  SubscriberTotals gone_;              // main thread
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Those who read the packet stream.
//
// The drain thread publishes passes; the main thread writes them to the sockets.
// Each subscriber has a bounded queue: one that reads too slowly loses whole
// event packets and is told exactly how many events, per CPU and event. Nobody
// waits for a subscriber, ever.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/event_loop.h"
#include "daemon/peer.h"
#include "trace/packet.h"

namespace ktraced {

struct SubscriberLimits {
  size_t count = 64;
  size_t per_user = 16;            // of one uid other than root's and the daemon's
  size_t event_bytes = 16U << 20;  // event packets waiting for one subscriber
  size_t name_bytes = 8U << 20;    // names and loss packets waiting; more: it is closed
};

class Subscribers {
 public:
  // Called in the main thread, without locks held.
  struct Hooks {
    // true: the first subscriber comes, called before it is sent anything, so that whoever
    // has its first packet knows that the trace is on; false: the last one has gone.
    std::function<void(bool any)> on_any;
    // A subscriber wants everything up to now: publish a pass soon.
    std::function<void()> request_pass;
    // One has gone.
    std::function<void()> on_gone = nullptr;
  };

  // `loop` must outlive the subscribers. Fails with ExitCode::os.
  static Result<std::unique_ptr<Subscribers>> create(EventLoop& loop, Hooks hooks,
                                                     SubscriberLimits limits = {});
  Subscribers(const Subscribers&) = delete;
  Subscribers& operator=(const Subscribers&) = delete;
  ~Subscribers();

  // Takes a connection over; passes published from now on go to it. `first_packets` gives what
  // precedes them: names packets with all names known. Passes may be published while it runs.
  // Fails, and closes the connection, when there are too many. Main thread.
  Result<> add(Fd connection, const Peer& peer,
               const std::function<std::vector<PacketBytes>()>& first_packets);

  // Fails with ExitCode::unavailable if this client would be one too many, beside `expected` others
  // that are to be added. Ask before answering a
  // subscribe request. Main thread.
  [[nodiscard]] Result<> check_room(const Peer& peer, size_t expected = 0) const;
  [[nodiscard]] size_t count() const;

  // Queues one whole pass: event packets, then one names packet. To be called regularly,
  // with a names packet alone if nothing happened: a pass also carries losses that no later
  // packet of their CPU could, and ends the streams of those who asked to end. Thread-safe.
  void publish(std::span<const PacketBytes> pass);

  // [{"pid","uid","queued_bytes","sent_packets","lost_events","since_s"}]; lost_events are
  // those lost here, because it read too slowly. Main thread.
  [[nodiscard]] nlohmann::json status() const;

  // Writes what is queued, waiting for the readers until `timeout`, and closes all. No pass may
  // be published afterwards, and no hook is called. Main thread.
  void finish_all(std::chrono::milliseconds timeout);

 private:
  class Subscriber;

  Subscribers(EventLoop& loop, Hooks hooks, SubscriberLimits limits);
  void on_io(Subscriber& subscriber, uint32_t events);
  void write_all();
  void remove_finished();
  bool write_the_rest();

  EventLoop& loop_;
  Hooks hooks_;
  SubscriberLimits limits_;
  Notifier published_;
  mutable std::mutex mutex_;           // guards the list for the drain thread, and all queues
  std::list<Subscriber> subscribers_;  // changed by the main thread alone
};

}  // namespace ktraced

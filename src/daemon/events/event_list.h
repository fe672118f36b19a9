// SPDX-License-Identifier: BSD-2-Clause
// Lists events, and tracepoints that match patterns, in slices: there are thousands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/events/event_resolver.h"

namespace ktraced {

// One event as listed.
struct ListedEvent {
  std::string name;
  std::string group;
  const Event* event = nullptr;  // null: its format cannot be read. Valid during the call
  bool enabled = false;
  std::optional<std::string> reason;  // why it is not available; none: it is
};

// Belongs to the loop's thread.
class EventList {
 public:
  using Visit = std::function<void(const ListedEvent& event)>;
  using OnListed = std::function<void(const Result<>& listed)>;

  // All must outlive this.
  EventList(EventCatalog& catalog, const Availability& availability, const EventSet& enabled,
            EventResolver& resolver)
      : catalog_(catalog), availability_(availability), enabled_(enabled), resolver_(resolver) {}

  void work_in(EventLoop& loop);
  // Calls `visit` for each known event, then for each other tracepoint that matches one of the
  // patterns, enabled or not; then calls `then`. Fails if a pattern matches nothing. One list
  // without patterns and one with patterns can be made at a time, with each priority.
  void list(const std::vector<std::string>& patterns, Priority priority, Visit visit,
            OnListed then);

 private:
  [[nodiscard]] ListedEvent listed(const Event& event) const;
  void visit_tracepoint(const std::string& name, const Visit& visit) const;

  EventCatalog& catalog_;
  const Availability& availability_;
  const EventSet& enabled_;
  EventResolver& resolver_;
  struct Works {
    SlicedWork listing, searching;
  };
  Works works_, low_works_;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/event_list.h"

#include <deque>
#include <memory>
#include <utility>

namespace ktraced {

void EventList::work_in(EventLoop& loop) {
  for (SlicedWork* work : {&works_.listing, &works_.searching}) work->work_in(loop);
  for (SlicedWork* work : {&low_works_.listing, &low_works_.searching})
    work->work_in(loop, Priority::low);
}

ListedEvent EventList::listed(const Event& event) const {
  const std::string* reason = availability_.why_not(event.name);
  return {.name = event.name,
          .group = event.group,
          .event = &event,
          .enabled = reason == nullptr && enabled_.contains(event.name),
          .reason = reason == nullptr ? std::nullopt : std::optional(*reason)};
}

void EventList::visit_tracepoint(const std::string& name, const Visit& visit) const {
  const auto format = catalog_.tracepoints().format(name);
  if (format) return visit(listed(format->event));
  visit({.name = name,
         .group = name.substr(0, name.find(':')),
         .event = nullptr,
         .enabled = false,
         .reason = format.error().message});
}

// Known events first, then the tracepoints that are not among them.
void EventList::list(const std::vector<std::string>& patterns, Priority priority, Visit visit,
                     OnListed then) {
  struct Listing {
    Visit visit;
    std::deque<uint16_t> ids;
    std::set<std::string> listed;
  };
  auto list = std::make_shared<Listing>(Listing{std::move(visit), {}, {}});
  const Schema& schema = catalog_.schema();
  for (const Event& event : schema.events())
    if (!is_dynamic(event) || (enabled_.contains(event.name) && schema.find(event.name) == &event))
      list->ids.push_back(event.id);
  Works& works = priority == Priority::low ? low_works_ : works_;
  SlicedWork& work = patterns.empty() ? works.listing : works.searching;
  work.start(
      [this, list] {
        if (list->ids.empty()) return SlicedWork::Step::done;
        const Event& event = *catalog_.schema().find(list->ids.front());
        list->ids.pop_front();
        list->listed.insert(event.name);
        list->visit(listed(event));
        return SlicedWork::Step::more;
      },
      [this, &work, list, patterns, then = std::move(then)] {
        resolver_.visit_tracepoints(
            work, patterns,
            [this, list](const std::string& name) {
              if (!list->listed.contains(name)) visit_tracepoint(name, list->visit);
            },
            [then](const Tracepoints::Kept&, const Result<>& result) { then(result); });
      });
}

}  // namespace ktraced

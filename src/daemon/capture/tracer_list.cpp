// SPDX-License-Identifier: BSD-2-Clause
// Lists events, and tracepoints that match patterns, in slices: there are thousands.
#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/capture/tracer.h"
#include "daemon/runtime/json_text.h"
#include "schema/schema_json.h"

namespace ktraced {

using nlohmann::json;

void Tracer::prepare_tracepoints(const std::vector<std::string>& names, OnPrepared then) {
  const EventGroups groups = event_groups(schema_);
  std::vector<std::string> dynamic;
  std::ranges::copy_if(names, std::back_inserter(dynamic), [&](const std::string& name) {
    return name.contains(':') || (!groups.contains(name) && schema_.find(name) == nullptr);
  });
  visit_tracepoints(
      preparing_, dynamic,
      [this](const std::string& name) {
        ChosenEvents ignored;  // failures are reported when an event is enabled
        static_cast<void>(define_tracepoints(name, ignored));
      },
      [then = std::move(then)](const Tracepoints::Kept& kept, const Result<>&) { then(kept); });
}

void Tracer::visit_tracepoints(SlicedWork& work, const std::vector<std::string>& names,
                               std::function<void(const std::string& name)> visit, OnVisited then) {
  struct Visit {
    Tracepoints::Kept kept;
    std::deque<std::string> patterns;
    std::set<std::string> found;
    Result<> meant;
  };
  auto state = std::make_shared<Visit>(
      Visit{tracepoints_.keep_formats(), {names.begin(), names.end()}, {}, {}});
  work.start(
      [this, state, visit = std::move(visit)] {
        if (!state->patterns.empty()) {
          const auto meant = tracepoints_meant(state->patterns.front());
          state->patterns.pop_front();
          if (meant)
            state->found.insert(meant->begin(), meant->end());
          else if (state->meant)
            state->meant = std::unexpected(meant.error());
          return SlicedWork::Step::more;
        }
        if (state->found.empty()) return SlicedWork::Step::done;
        visit(state->found.extract(state->found.begin()).value());
        return SlicedWork::Step::more;
      },
      [state, then = std::move(then)] { then(state->kept, state->meant); });
}

json Tracer::list_entry(const Event& event) const {
  const std::string* reason = why_unavailable(event.name);
  json entry = event_to_json(event);
  entry["available"] = reason == nullptr;
  entry["enabled"] = reason == nullptr && enabled_.contains(event.name);
  if (reason != nullptr) entry["reason"] = *reason;
  return entry;
}

json Tracer::list_entry(const std::string& tracepoint) const {
  const auto format = tracepoints_.format(tracepoint);
  if (format) return list_entry(format->event);
  return {{"name", tracepoint},
          {"group", tracepoint.substr(0, tracepoint.find(':'))},
          {"enabled", false},
          {"available", false},
          {"reason", format.error().message}};
}

// Known events first, then the tracepoints that are not among them.
void Tracer::list_events(const std::vector<std::string>& patterns, OnListed then) {
  struct Listing {
    std::deque<uint16_t> ids;
    std::set<std::string> listed;
    std::string text = R"({"events":[)";
    void add(const json& entry) {
      if (text.back() != '[') text += ',';
      text += json_text(entry);
    }
  };
  auto list = std::make_shared<Listing>();
  for (const Event& event : schema_.events())
    if (!is_dynamic(event) || (enabled_.contains(event.name) && schema_.find(event.name) == &event))
      list->ids.push_back(event.id);
  auto add_tracepoint = [this, list](const std::string& name) {
    if (!list->listed.contains(name)) list->add(list_entry(name));
  };
  auto finish = [list, then = std::move(then)](const Tracepoints::Kept&, const Result<>& meant) {
    if (!meant) return then(std::unexpected(meant.error()));
    list->text += "]}";
    then(std::move(list->text));
  };
  SlicedWork& work = patterns.empty() ? listing_ : searching_;
  work.start(
      [this, list] {
        if (list->ids.empty()) return SlicedWork::Step::done;
        const Event& event = *schema_.find(list->ids.front());
        list->ids.pop_front();
        list->listed.insert(event.name);
        list->add(list_entry(event));
        return SlicedWork::Step::more;
      },
      [this, &work, patterns, add_tracepoint, finish] {
        visit_tracepoints(work, patterns, add_tracepoint, finish);
      });
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/dynamic_events.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json_dump.h"
#include "schema/schema_json.h"

namespace ktraced {
namespace {

using nlohmann::json;

std::string pin_name(uint16_t id) { return fmt::format("dynamic_{}", id); }
std::string pin_name(uint16_t id, size_t index) { return fmt::format("dynamic_{}_{}", id, index); }

// Do both record the same? Ignores the id.
bool same_definition(const DynamicEvent& a, const Event& event, const std::string& source) {
  Event other = event;
  other.id = a.event.id;
  return a.source == source && a.event == other;
}

std::string definition_text(const DynamicEvent& event) {
  return dump_json({{"kind", event.kind->name()},
                    {"source", event.source},
                    {"event", event_to_json(event.event)}});
}

// Definitions of an earlier daemon in the map, by id.
std::map<uint16_t, std::string> stored_definitions(int map) {
  std::map<uint32_t, std::map<uint32_t, definition_piece>> pieces;
  definition_key key{};
  for (bool first = true; bpf_map_get_next_key(map, first ? nullptr : &key, &key) == 0;
       first = false)
    static_cast<void>(bpf_map_lookup_elem(map, &key, &pieces[key.id][key.piece]));
  std::map<uint16_t, std::string> texts;
  for (const auto& [id, parts] : pieces) {
    std::string text;
    for (const auto& [index, part] : parts) text.append(part.text, sizeof(part.text));
    text.resize(std::min<size_t>(text.size(), parts.begin()->second.bytes));
    if (id < EVENT_ID_MAX) texts.emplace(static_cast<uint16_t>(id), std::move(text));
  }
  return texts;
}

}  // namespace

const DynamicEvent* DynamicEvents::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : find(found->second);
}

const DynamicEvent* DynamicEvents::find(uint16_t id) const {
  const auto found = events_.find(id);
  return found == events_.end() ? nullptr : found->second.get();
}

const DynamicEvent* DynamicEvents::enter(uint16_t id, DynamicEvent event) {
  by_name_[event.event.name] = id;
  std::lock_guard lock(counts_mutex_);
  next_id_ = std::max(next_id_, id + 1U);
  return (events_[id] = std::make_unique<DynamicEvent>(std::move(event))).get();
}

Result<const DynamicEvent*> DynamicEvents::define(DynamicKind& kind, Event event,
                                                  std::string source) {
  const DynamicEvent* known = find(event.name);
  if (known != nullptr && known->kind == &kind && same_definition(*known, event, source)) {
    if (auto ready = kind.prepare(*known); !ready) return propagate(ready);
    return known;
  }
  if (next_id_ >= EVENT_ID_MAX)
    return fail(ExitCode::unavailable,
                "{} cannot be defined: all {} ids of dynamic events have been given out; stop and "
                "start the daemon to get new ones",
                event.name, EVENT_ID_MAX - DYNAMIC_ID_FIRST);
  event.id = static_cast<uint16_t>(next_id_);
  DynamicEvent made{.event = std::move(event), .source = std::move(source), .kind = &kind};
  if (auto ready = kind.prepare(made); !ready) return propagate(ready);
  const uint16_t id = made.event.id;
  const DynamicEvent* entered = enter(id, std::move(made));
  store(*entered);
  return entered;
}

void DynamicEvents::store(const DynamicEvent& event) const {
  if (object_.pins() == nullptr) return;
  const std::string text = definition_text(event);
  const int map = object_.map_fd("definitions");
  for (uint32_t piece = 0; size_t{piece} * DEFINITION_PIECE < text.size(); ++piece) {
    const definition_key key{.id = event.event.id, .piece = piece};
    definition_piece value{};
    value.bytes = static_cast<uint32_t>(text.size());
    text.copy(value.text, sizeof(value.text), size_t{piece} * DEFINITION_PIECE);
    if (bpf_map_update_elem(map, &key, &value, BPF_ANY) != 0)
      spdlog::warn("the next daemon will not know {}: {}", event.event.name, errno_text(errno));
  }
}

void DynamicEvents::adopt() {
  for (const auto& [id, text] : stored_definitions(object_.map_fd("definitions"))) {
    next_id_ = std::max(next_id_, id + 1U);
    adopt_definition(id, text);
    adopt_links(id);
  }
}

void DynamicEvents::adopt_definition(uint16_t id, const std::string& text) {
  const json stored = json::parse(text, nullptr, false);
  auto event = stored.is_object() && stored.contains("event")
                   ? event_from_json(stored["event"])
                   : fail(ExitCode::data, "it is not readable");
  const auto kind = event ? kinds_.find(stored.value("kind", std::string())) : kinds_.end();
  if (!event || event->id != id || kind == kinds_.end()) {
    spdlog::error("records of the dynamic event {} that an earlier daemon left cannot be read: {}",
                  id, event ? "its kind is not known" : event.error().message);
    return;
  }
  enter(id, {.event = std::move(*event),
             .source = stored.value("source", std::string()),
             .kind = kind->second});
}

void DynamicEvents::adopt_links(uint16_t id) {
  if (object_.pins() == nullptr) return;
  std::vector<Fd> links;
  for (size_t index = 0;; ++index) {
    Fd link = object_.pins()->get(Pins::Kind::link, pin_name(id, index));
    if (!link) break;
    links.push_back(std::move(link));
  }
  {
    std::lock_guard lock(counts_mutex_);
    if (Fd program = object_.pins()->get(Pins::Kind::program, pin_name(id)))
      programs_[id] = std::move(program);
    if (!links.empty()) {
      links_[id] = std::move(links);
      adopted_.insert(id);
    }
  }
  if (find(id) == nullptr) detach(id);  // its records could not be decoded
}

Result<> DynamicEvents::attach(uint16_t id) {
  if (links_.contains(id)) return {};
  const DynamicEvent* event = find(id);
  if (event == nullptr) return fail(ExitCode::software, "there is no dynamic event {}", id);
  auto program = program_of(*event);
  if (!program) return propagate(program);
  detaching_.wait(pin_name(id));
  auto links = event->kind->attach(*event, *program);
  if (!links) return propagate(links);
  if (const Pins* pins = object_.pins())
    for (size_t index = 0; index < links->size(); ++index)
      if (auto pinned = pins->pin(Pins::Kind::link, pin_name(id, index), (*links)[index].get());
          !pinned) {
        while (index-- > 0) pins->unpin(Pins::Kind::link, pin_name(id, index));
        return pinned;
      }
  std::lock_guard lock(counts_mutex_);
  links_[id] = std::move(*links);
  return {};
}

Result<int> DynamicEvents::program_of(const DynamicEvent& event) {
  const uint16_t id = event.event.id;
  std::lock_guard lock(counts_mutex_);
  if (auto known = programs_.find(id); known != programs_.end()) return known->second.get();
  auto program = event.kind->load(event);
  if (!program) return propagate(program);
  if (const Pins* pins = object_.pins())
    if (auto pinned = pins->pin(Pins::Kind::program, pin_name(id), program->get()); !pinned)
      return propagate(pinned);
  return (programs_[id] = std::move(*program)).get();
}

uint64_t DynamicEvents::missed(uint16_t id) const {
  std::lock_guard lock(counts_mutex_);
  const auto program = programs_.find(id);
  uint64_t missed = program == programs_.end() ? 0 : recursion_misses(program->second.get());
  return missed + missed_at_links(id) + retired_misses_[id];
}

void DynamicEvents::add_runs(RunsByProgram& runs) const {
  std::lock_guard lock(counts_mutex_);
  for (const auto& [id, program] : programs_)
    if (const DynamicEvent* event = find(id)) runs[event->event.name] += runs_of(program.get());
}

// With counts_mutex_ held.
uint64_t DynamicEvents::missed_at_links(uint16_t id) const {
  const auto links = links_.find(id);
  const DynamicEvent* event = find(id);
  uint64_t missed = 0;
  if (event == nullptr || links == links_.end()) return 0;
  for (const Fd& link : links->second) missed += event->kind->missed(link);
  return missed;
}

void DynamicEvents::detach(uint16_t id) {
  const auto links = links_.find(id);
  if (links == links_.end()) return;
  const size_t count = links->second.size();
  for (const Fd& link : links->second) detaching_.note(pin_name(id), link);
  // Remove the pins last: releasing a tracepoint takes the kernel tens of milliseconds, and then it
  // does so without blocking us.
  {
    std::lock_guard lock(counts_mutex_);
    retired_misses_[id] += missed_at_links(id);
    links_.erase(links);
    adopted_.erase(id);
  }
  if (object_.pins() == nullptr) return;
  for (size_t index = 0; index < count; ++index)
    object_.pins()->unpin(Pins::Kind::link, pin_name(id, index));
}

bool DynamicEvents::detaching(uint16_t id) { return !detaching_.gone(pin_name(id)); }

void DynamicEvents::leave_to_pins() {
  if (object_.pins() == nullptr) return;
  std::lock_guard lock(counts_mutex_);
  links_.clear();
}

void DynamicEvents::retire(uint16_t id) {
  detach(id);
  std::lock_guard lock(counts_mutex_);
  const auto program = programs_.find(id);
  if (program == programs_.end()) return;
  retired_misses_[id] += recursion_misses(program->second.get());
  programs_.erase(program);
  if (object_.pins() != nullptr) object_.pins()->unpin(Pins::Kind::program, pin_name(id));
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Events whose ids and fields come at run time: the core that all kinds of them share.
//
// A kind (tracepoints, probes) is a DynamicKind and, in bpf/, one program or a few that serve
// all its events, attached with the event's id as cookie (bpf/dynamic.h). To add a kind:
//  1. write its program with dynamic_record() and emit_dynamic(), and a map that tells the
//     program by event id what to put into the record;
//  2. derive from DynamicKind: prepare() fills that map, load() gives the event a copy of the
//     program, attach() makes the links;
//  3. hand the kind to DynamicEvents::add_kind() before DynamicEvents::adopt(), in Tracer;
//  4. define() an event when it is wanted; Tracer::take_definition() then tells everybody what it
//     is (schema, readers of the stream, traces being written). From there on its name is enabled
//     and disabled as that of a built-in event.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/bpf_object.h"
#include "kernel/going_links.h"
#include "kernel/kept_misses.h"
#include "schema/schema.h"

namespace ktraced {

class DynamicKind;

// One dynamic event. It lives as long as the daemon: its records may be in rings, in traces
// being written and on their way to readers.
struct DynamicEvent {
  Event event;         // as everybody sees it; event.name is "GROUP:NAME"
  std::string source;  // what its kind knows it by: a tracepoint's name, a probe's line
  DynamicKind* kind = nullptr;
};

class DynamicKind {
 public:
  virtual ~DynamicKind() = default;
  // Pinned with the definitions: "tracepoint", "probe".
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Tells the programs what to record; called before attach(), and again by a daemon that takes
  // over. Fails with ExitCode::unavailable if the source is not there (any more), or is not what
  // it was when the event was defined.
  virtual Result<> prepare(const DynamicEvent& event) = 0;
  // A program of the event's own, loaded once in its life, so that the kernel counts for it alone
  // the hits that it skips. Fails with ExitCode::unavailable.
  virtual Result<Fd> load(const DynamicEvent& event) = 0;
  // Attaches that program, with event.event.id as cookie. Fails with ExitCode::unavailable.
  virtual Result<std::vector<Fd>> attach(const DynamicEvent& event, int program) = 0;
  // Hits that the kernel skipped at a link before its program could be asked for. Thread-safe.
  [[nodiscard]] virtual uint64_t missed(const Fd& /*link*/) const { return 0; }
};

// Gives out ids, and attaches and detaches. With a pinned BPF object, definitions and
// attachments outlive the daemon. Belongs to the main thread.
class DynamicEvents {
 public:
  // `object` must outlive this.
  explicit DynamicEvents(const BpfObject& object)
      : object_(object), kept_misses_(KeptMisses::open(object.pins())) {}

  // `kind` must outlive this.
  void add_kind(DynamicKind& kind) { kinds_[kind.name()] = &kind; }
  // Takes over what an earlier daemon has pinned: its definitions, for its records may still be
  // in the rings, and its attachments. Call it once, before anything is defined.
  void adopt();

  // Gives `event` an id, or that of the same definition (name, fields and source) made before;
  // another definition of a name that was defined before takes its place, under an id of its own.
  // Fails with ExitCode::unavailable when all ids have been given out: they are not used again
  // while the daemon runs.
  Result<const DynamicEvent*> define(DynamicKind& kind, Event event, std::string source);

  // The newest definition of a name; null if there is none.
  [[nodiscard]] const DynamicEvent* find(std::string_view name) const;
  [[nodiscard]] const DynamicEvent* find(uint16_t id) const;
  // All of them, by id.
  [[nodiscard]] const std::map<uint16_t, std::unique_ptr<DynamicEvent>>& all() const {
    return events_;
  }

  // Attaching twice is no error. Fails with ExitCode::unavailable.
  Result<> attach(uint16_t id);
  void detach(uint16_t id);
  // Was it detached a moment ago, and may still run? attach() waits until it does not.
  [[nodiscard]] bool detaching(uint16_t id);
  // Closes all links at the end of the daemon: where they are pinned, removing the pins detaches
  // without our waiting for it.
  void leave_to_pins();
  // What it is about is not what it was: detaches, and loads the program anew when it is attached
  // again.
  void retire(uint16_t id);
  [[nodiscard]] bool attached(uint16_t id) const { return links_.contains(id); }
  // Was it ever attached, so that it may have counts?
  [[nodiscard]] bool loaded(uint16_t id) const { return programs_.contains(id); }
  // Is it attached since an earlier daemon?
  [[nodiscard]] bool adopted(uint16_t id) const { return adopted_.contains(id); }
  // Hits that the kernel skipped, since the event was defined, over all CPUs. Thread-safe.
  [[nodiscard]] uint64_t missed(uint16_t id) const;
  // missed() counts also what an earlier daemon detached; else only what it left attached.
  [[nodiscard]] bool misses_kept() const { return kept_misses_.adopted(); }

 private:
  const DynamicEvent* enter(uint16_t id, DynamicEvent event);
  void store(const DynamicEvent& event) const;
  void adopt_definition(uint16_t id, const std::string& text);
  void adopt_links(uint16_t id);
  [[nodiscard]] uint64_t missed_at_links(uint16_t id) const;
  Result<int> program_of(const DynamicEvent& event);

  const BpfObject& object_;
  std::map<std::string_view, DynamicKind*> kinds_;
  std::map<uint16_t, std::unique_ptr<DynamicEvent>> events_;  // changed with counts_mutex_ held
  std::map<std::string, uint16_t, std::less<>> by_name_;
  mutable std::mutex counts_mutex_;
  std::map<uint16_t, Fd> programs_;            // guarded by counts_mutex_
  std::map<uint16_t, std::vector<Fd>> links_;  // changed with counts_mutex_ held
  KeptMisses kept_misses_;                     // guarded likewise
  std::set<uint16_t> adopted_;                 // those of links_ that were pinned
  GoingLinks going_;
  uint32_t next_id_ = DYNAMIC_ID_FIRST;
};

}  // namespace ktraced

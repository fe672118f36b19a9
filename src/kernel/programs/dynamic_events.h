// SPDX-License-Identifier: BSD-2-Clause
// Events whose ids and fields are known only at run time: the core that all kinds share.
//
// A kind (tracepoints, probes) is a DynamicKind and, in bpf/, one program or a few that serve all
// its events, attached with the event's id as cookie (bpf/dynamic.h). To add a kind:
//  1. write its program with dynamic_record() and emit_dynamic(), and a map from event id to what
//     the program puts into the record;
//  2. derive from DynamicKind: prepare() fills that map, load() gives the event a copy of the
//     program, attach() makes the links;
//  3. hand the kind to DynamicEvents::add_kind() before DynamicEvents::adopt(), in the daemon;
//  4. define() an event on demand; the daemon then announces it (schema, readers of
//     the stream, traces being written). From then on it is enabled and disabled like a built-in
//     event.
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
#include "kernel/pins/ledger.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/detaching_links.h"
#include "schema/schema.h"

namespace ktraced {

class DynamicKind;

// One dynamic event. It lives as long as the daemon, because rings, unfinished traces and queues to
// readers may contain its records.
struct DynamicEvent {
  Event event;         // public definition; event.name is "GROUP:NAME"
  std::string source;  // identifies it within its kind: a tracepoint's name, a probe's definition
  DynamicKind* kind = nullptr;
};

class DynamicKind {
 public:
  virtual ~DynamicKind() = default;
  // Pinned with the definitions: "tracepoint", "probe".
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Configures the programs; called before attach(), and again by a daemon that adopts the event.
  // Fails with ExitCode::unavailable if the source does not exist (any more), or has changed since
  // the event was defined.
  virtual Result<> prepare(const DynamicEvent& event) = 0;
  // A separate program for the event, loaded once, so that the kernel counts its missed hits
  // separately. Fails with ExitCode::unavailable.
  virtual Result<Fd> load(const DynamicEvent& event) = 0;
  // Attaches that program, with event.event.id as cookie. Fails with ExitCode::unavailable.
  virtual Result<std::vector<Fd>> attach(const DynamicEvent& event, int program) = 0;
  // Hits that the kernel missed at a link, which the program's counter does not include.
  // Thread-safe.
  [[nodiscard]] virtual uint64_t missed(const Fd& /*link*/) const { return 0; }
};

// Assigns ids, attaches and detaches. With a pinned BPF object, definitions and attachments outlive
// the daemon. Belongs to the main thread.
class DynamicEvents {
 public:
  // `object` and `retired_misses`, that of the Ledger, must outlive this.
  DynamicEvents(const BpfObject& object, LedgerCounts& retired_misses)
      : object_(object), retired_misses_(retired_misses) {}

  // `kind` must outlive this.
  void add_kind(DynamicKind& kind) { kinds_[kind.name()] = &kind; }
  // Adopts what an earlier daemon has pinned: its definitions, because its records may still be in
  // the rings, and its attachments. Call it once, before define().
  void adopt();

  // Assigns an id to `event`. The same definition (name, fields and source) keeps its id; another
  // definition of the same name replaces the old one, under a new id. Fails with
  // ExitCode::unavailable when all ids are used: they are not reused while the daemon runs.
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
  // Is it detached but may still run? attach() waits until it does not.
  [[nodiscard]] bool detaching(uint16_t id);
  // Closes all links at the end of the daemon. If they are pinned, removing the pins detaches them
  // without blocking.
  void leave_to_pins();
  // The source of the event has changed: detaches, and reloads the program at the next attach().
  void retire(uint16_t id);
  [[nodiscard]] bool attached(uint16_t id) const { return links_.contains(id); }
  // Was it ever attached? Only then it may have counts.
  [[nodiscard]] bool loaded(uint16_t id) const { return programs_.contains(id); }
  // Was it attached by an earlier daemon?
  [[nodiscard]] bool adopted(uint16_t id) const { return adopted_.contains(id); }
  // Hits that the kernel missed since the event was defined, sum of all CPUs. Thread-safe.
  [[nodiscard]] uint64_t missed(uint16_t id) const;
  // Adds what the kernel has measured of each event's program, by name of the event.
  void add_runs(RunsByProgram& runs) const;

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
  LedgerCounts& retired_misses_;               // guarded by counts_mutex_
  std::set<uint16_t> adopted_;                 // those of links_ that were pinned
  DetachingLinks detaching_;
  uint32_t next_id_ = DYNAMIC_ID_FIRST;
};

}  // namespace ktraced

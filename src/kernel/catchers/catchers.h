// SPDX-License-Identifier: BSD-2-Clause
// Catchers: programs that record the hits at which the kernel skips the program of an event.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapping.h"
#include "bpf/shared_state.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/program_barrier.h"
#include "schema/schema.h"

namespace ktraced {

// Attaches and detaches catchers, and counts what they record: see bpf/catcher.h. The catcher of an
// event is on the same hook as its program and runs after it. It acts only while both are attached,
// so that each hit is recorded once, whatever is attached and detached meanwhile.
//
// Belongs to the main thread, except for the functions marked otherwise.
class Catchers {
 public:
  // Maps the notes and counts of the programs. Fails with ExitCode::os.
  static Result<Mapping> map(const BpfObject& object);
  // Continues with the catchers that an earlier daemon has left attached. One that it had not
  // finished attaching or detaching is detached. `object` must outlive this.
  Catchers(BpfObject& object, const Schema& schema, const features& features, Mapping catching);
  Catchers(const Catchers&) = delete;
  Catchers& operator=(const Catchers&) = delete;

  // The name of the catcher of an event, and the event of a catcher.
  [[nodiscard]] static std::string program(const std::string& event) { return "catch_" + event; }
  [[nodiscard]] static std::string event_of(const std::string& program);

  // Can the event have a catcher? Not if the kernel has refused it.
  [[nodiscard]] bool supports(const std::string& event) const {
    return events_.contains(event) && !failed_.contains(event);
  }
  // The events that have a catcher from now on while they are on. attach() and detach() follow.
  void choose(std::set<std::string> events) { chosen_ = std::move(events); }
  [[nodiscard]] bool chosen(const std::string& event) const {
    return supports(event) && chosen_.contains(event);
  }

  // Attaches the catcher of an event whose program is attached, or attaches that first. Waits for
  // running programs, some 20 ms. Fails as BpfObject::attach(); then supports() is false from now
  // on.
  Result<> attach(const std::string& event);
  // To be called before the program of the event is detached. From now on no catcher records it.
  // No error if it has none.
  void detach(const std::string& event);
  void detach_all();
  [[nodiscard]] bool attached(const std::string& event) const;
  // Is the catcher, or the program of the event, detached but may still run?
  [[nodiscard]] bool detaching(const std::string& event);
  // The events whose catchers are attached, or have had a part in the account.
  [[nodiscard]] std::vector<std::string> used() const;

  // Hits of an event that neither program has recorded, of those that the kernel skipped at the
  // first one, which `skipped` returns. A hit that the catcher is about to record may be among
  // them, but no missed hit is ever left out. Thread-safe.
  [[nodiscard]] uint64_t missed(uint16_t event, const std::function<uint64_t()>& skipped) const;
  // Hits that the catcher of an event has recorded or rejected. Thread-safe.
  [[nodiscard]] uint64_t caught(uint16_t event) const;
  // Part of them: those that the first program has left to it. Thread-safe.
  [[nodiscard]] uint64_t left(uint16_t event) const;

 private:
  [[nodiscard]] struct catching& catching() const {
    return *reinterpret_cast<struct catching*>(catching_.data());
  }
  [[nodiscard]] u8 state(const std::string& event) const;
  void set_state(const std::string& event, u8 state);
  void remove_notes(const std::string& event);
  Result<> try_attach(const std::string& event);
  Result<> attach_with_notes(const std::string& event);
  Result<> locate_cpus();
  Result<> locate_running(const std::string& event);
  Result<> run_locate(const std::array<u64, 3>& args);

  BpfObject& object_;
  Mapping catching_;
  ProgramBarrier barrier_;
  const features features_;
  const u8 active_;                         // state of an attached catcher: enum catcher_state
  bool located_ = false;                    // locate_cpus() has succeeded
  std::map<std::string, uint16_t> events_;  // that have a catcher: their ids
  std::set<std::string> chosen_, failed_;
};

}  // namespace ktraced

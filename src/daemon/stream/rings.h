// SPDX-License-Identifier: BSD-2-Clause
// The flight recorder, and the counters of all rings.
#pragma once

#include <optional>
#include <set>

#include "daemon/stream/drain.h"
#include "daemon/stream/ring_memory.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/flight_recorder.h"
#include "kernel/rings/stream_account.h"
#include "kernel/rings/stream_rings.h"

namespace ktraced {

// Owns the flight recorder and the counters, for all CPUs that are or were online. An offline CPU
// keeps its rings and their history. Belongs to the main thread.
class Rings {
 public:
  // `sizes`: those that the object was loaded with. `object` and `ledger` must outlive this.
  Rings(const BpfObject& object, const Ledger& ledger, const BpfSizes& sizes, Counters counters,
        BankLog banks);
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  // All CPUs that need rings: those that are or were online.
  [[nodiscard]] const std::set<uint32_t>& cpus() const { return cpus_; }
  // Continues the account of an earlier daemon, whose stream rings of the output these are. Returns
  // the events that a killed daemon had read and not written, as far as that is known.
  LostByCpu resume_account(const StreamRings& output);
  // How many events a killed daemon had read and not written: the stream begins with this loss.
  // Nothing if it is unknown. Thread-safe.
  [[nodiscard]] std::optional<uint64_t> lost_before() const { return lost_before_; }

  [[nodiscard]] FlightRecorder& flight() { return flight_; }
  [[nodiscard]] const FlightRecorder& flight() const { return flight_; }
  [[nodiscard]] Counters& counters() { return counters_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // Which part of the stream is in the traces of stream.output. Used by the threads named there.
  [[nodiscard]] StreamAccount& account() { return account_; }

  // Turns the flight recorder on or off, and leaves the programs as they are. Fails with
  // ExitCode::os, or with ExitCode::unavailable while a snapshot is being written.
  Result<> switch_flight(bool enabled);
  // Discards the history, and returns the number of its records. Fails with ExitCode::unavailable
  // while the flight recorder has no spare bank.
  Result<uint64_t> empty_flight();
  // Events dropped on new CPUs before the flight recorder had a ring for them, by CPU, until a
  // snapshot has reported them. Kept across restarts of the daemon.
  [[nodiscard]] LostByCpu flight_drops() const;
  void report_flight_drops(const LostByCpu& lost);
  // Creates rings for CPUs that have come online, as far as there is memory: `of_one` are those of
  // one of them. `drain` reads them.
  void add_new_cpus(Drain& drain, const RingMemory& of_one);

 private:
  const BpfObject& object_;
  std::set<uint32_t> cpus_;
  Counters counters_;
  StreamAccount account_;
  std::optional<uint64_t> lost_before_;
  FlightRecorder flight_;
};

}  // namespace ktraced

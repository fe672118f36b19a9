// SPDX-License-Identifier: BSD-2-Clause
// Counts the content of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/actor.h"

namespace ktraced {

// Counts the selected events by kind, CPU and process, and the losses that may be of them. Memory:
// one count for each kind and CPU, and for each process. Processes after the first kMaxProcesses
// are counted together.
class SummaryAnalysis : public Analysis {
 public:
  static constexpr size_t kMaxProcesses = 65536;

  struct Count {
    uint64_t events = 0;
    uint64_t lost = 0;
    uint64_t first_ns = 0;  // of the first of `events`
  };
  struct Cpu {
    Count count;
    uint64_t first_ns = 0, last_ns = 0;  // of its events
  };
  struct Process : ActorRow {
    uint64_t events = 0;
    uint64_t first_ns = 0;  // of the first of them
  };

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;

  [[nodiscard]] const Count& total() const { return total_; }
  [[nodiscard]] std::map<std::string, Count> events() const;  // by name
  [[nodiscard]] const std::map<uint32_t, Cpu>& cpus() const { return cpus_; }
  // The most active first.
  [[nodiscard]] std::vector<Process> processes() const;
  // Events of processes beyond the limit.
  [[nodiscard]] uint64_t other_events() const { return other_events_; }
  [[nodiscard]] uint64_t first_ns() const { return first_ns_; }
  [[nodiscard]] uint64_t last_ns() const { return last_ns_; }

 private:
  struct Source {
    const Schema* schema;
    const NameTable* names;
    std::vector<Count> counts;  // by event id
  };
  Count& count_of(Source& source, uint32_t id);
  void add_process(const NameTable& names, RecordView record);

  std::vector<Source> sources_;
  Count total_;
  std::map<uint32_t, Cpu> cpus_;
  ActorNumbers numbers_{kMaxProcesses};
  std::vector<Process> processes_;  // by number
  uint64_t other_events_ = 0;
  uint64_t first_ns_ = 0, last_ns_ = 0;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Prints activities of processes in the format of the process tracer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "analysis/coverage/event_table.h"
#include "decoders/ftrace/probe_text.h"
#include "decoders/process/string_text.h"
#include "decoders/text/decoder.h"
#include "decoders/text/event_time.h"

namespace ktraced {

// "bash 3352 2 18440.883932  fork 4000 flags 0x1200000", and in the same way exec, exit, delivered
// signals, system calls with their strings, and hits of kernel probes. Other events are not shown.
//
// A fork is recorded by task_newtask, which has its flags, and later by sched_process_fork. Of the
// two events of one child, only the first is shown.
class ProcessDecoder : public Decoder {
 public:
  // `names`: system calls, signals and errors by name, and the file and arguments of exec.
  ProcessDecoder(const DecoderSources& sources, bool names, EventTime time = EventTime());
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;

 private:
  enum class Kind : uint8_t {
    none,
    newtask,
    fork,
    exec,
    exit,
    signal,
    sys_enter,
    sys_exit,
    sys_completed,
    string,
    probe
  };
  // The kind of an event and the fields to show.
  struct Plan {
    Kind kind = Kind::none;
    std::optional<Field> first, second, third;
    std::optional<Field> ret, args_known, duration;  // of sys_completed
    std::optional<StringText> string;
    std::optional<ProbeText> probe;
  };
  static constexpr size_t kMaxBegun = 65536;  // forks; any more belong to threads that have ended

  static Plan plan_of(const Event& event);
  // True if the fork has already been shown.
  bool is_known_fork(const Plan& plan, RecordView record);
  void append_prefix(uint32_t cpu, RecordView record, TextBuffer& out);
  void append_fork(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_exec(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_exit(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_signal(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_completed(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_result(const std::optional<Field>& nr, const std::optional<Field>& ret,
                     RecordView record, TextBuffer& out) const;
  void append_sys_enter(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_sys_exit(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_hit(const ProbeText& probe, RecordView record, TextBuffer& out) const;
  void append_place(uint64_t address, TextBuffer& out) const;

  DecoderSources sources_;
  EventTable<Plan> plans_;
  bool names_;
  EventTime time_;
  std::unordered_map<uint32_t, uint64_t> begun_;  // thread → its child in the last task_newtask
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// What processes do, as the process tracer printed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "decoders/decoder.h"
#include "decoders/event_table.h"
#include "decoders/probe_text.h"

namespace ktraced {

// "bash 3352 2 18440.883932  fork 4000 flags 0x1200000", and in the same way exec, exit, signals
// delivered, system calls and hits of kernel probes. Other events are not shown.
//
// A fork is told by task_newtask, which has its flags, or by sched_process_fork, which comes
// after it: whichever is first is shown, the other one of the same child is not.
class ProcessDecoder : public Decoder {
 public:
  // `names`: system calls, signals and errors by name, and the files of exec.
  ProcessDecoder(const DecoderSources& sources, bool names);
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;

 private:
  enum class Kind : uint8_t { none, newtask, fork, exec, exit, signal, sys_enter, sys_exit, probe };
  // The kind of an event and those of its fields that are shown.
  struct Plan {
    Kind kind = Kind::none;
    std::optional<Field> first, second, third;
    std::optional<ProbeText> probe;
  };
  static constexpr size_t kMaxBegun = 65536;  // forks; more are threads that have ended meanwhile

  static Plan plan_of(const Event& event);
  // Has it been shown already?
  bool is_known_fork(const Plan& plan, RecordView record);
  void append_prefix(uint32_t cpu, RecordView record, TextBuffer& out) const;
  void append_fork(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_exit(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_signal(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_sys_enter(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_sys_exit(const Plan& plan, RecordView record, TextBuffer& out) const;
  void append_hit(const ProbeText& probe, RecordView record, TextBuffer& out) const;
  void append_place(uint64_t address, TextBuffer& out) const;

  DecoderSources sources_;
  EventTable<Plan> plans_;
  bool names_;
  std::unordered_map<uint32_t, uint64_t> begun_;  // thread → its child that task_newtask told
};

}  // namespace ktraced

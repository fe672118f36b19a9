// SPDX-License-Identifier: BSD-2-Clause
// Which threads are in a trace with all they do, when a filter was set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "decoders/trace_scope.h"
#include "schema/schema.h"

namespace ktraced {

// Switches between two threads that a filter leaves out are missing: of those threads it is not
// known when they ran. Learns from events who passes, where the filter itself does not say it
// (it may ask for control groups, or children). Memory: at most kMaxPassing thread ids.
class WholeThreads {
 public:
  static constexpr size_t kMaxPassing = 8192;

  // What is traced from now on. Has it changed for `events`? Then what is known ends.
  bool change(const TraceScope& scope, std::span<const std::string_view> events);
  // Is an event recorded only if the thread passes that it happened in?
  [[nodiscard]] static bool is_of_current(const Event& event);
  // Such an event of thread `tid` is in the trace.
  void note(uint32_t tid);
  // A switch is in the trace: of two threads of which a filter leaves one out, the other one is
  // why.
  void note_switch(uint32_t prev, uint32_t next, uint64_t ts, const NameTable& names);
  // Thread `parent` has made thread `child`.
  void note_fork(uint32_t parent, uint32_t child, uint64_t ts, const NameTable& names);
  // Is every switch from and to that thread in the trace?
  [[nodiscard]] bool has(uint32_t tid, uint64_t ts, const NameTable& names) const;

 private:
  [[nodiscard]] bool filtered() const { return scope_ && scope_->filter.any(); }

  std::optional<TraceScope> scope_;
  std::unordered_set<uint32_t> passing_;
};

}  // namespace ktraced

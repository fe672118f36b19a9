// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/syscall_analysis.h"

#include <algorithm>

#include "analysis/coverage/call_result.h"

namespace ktraced {
namespace {

// A program may use any number.
uint64_t call_key(uint32_t abi, int32_t nr) {
  return uint64_t{abi & 3} << 32 | static_cast<uint32_t>(nr);
}

}  // namespace

// What never returns is counted now. Afterwards its thread is in no call.
void SyscallAnalysis::on_begin(const Call& call, const CallRecord& at, Unknown /*unknown*/) {
  if (call.met != kAllMet) return;
  if (!call.never_returns) {
    ++running_;
    return;
  }
  ++ended_;
  count({.abi = call.abi, .nr = call.nr, .ns = std::nullopt, .ts = at.record.ts()},
        actor_of(at.record, at.names));
}

void SyscallAnalysis::on_end(const CallInterval& interval) {
  const Call* begun = interval.call;
  if (begun != nullptr && begun->never_returns) begun = nullptr;
  const bool counted_as_running = begun != nullptr && begun->met == kAllMet;
  if (counted_as_running && interval.end != CallEnd::trace_ended) --running_;
  if (interval.end == CallEnd::other_returned && interval.returned->met == kAllMet)
    on_return(*interval.returned, nullptr, interval);
  if (!interval.selected()) return;
  switch (interval.end) {
    case CallEnd::child_returned:
      ++child_returns_;
      break;
    case CallEnd::returned:
      return on_return(*interval.returned, begun, interval);
    case CallEnd::other_returned:
    case CallEnd::unseen:
      if (begun != nullptr) ++end_unseen_;
      break;
    case CallEnd::thread_ended:
      if (begun != nullptr) ++killed_;
      break;
    case CallEnd::not_followed:
      if (begun != nullptr) ++not_followed_;
      break;
    case CallEnd::trace_ended:
      break;
  }
}

void SyscallAnalysis::on_return(const CallReturn& returned, const Call* begun,
                                const CallInterval& interval) {
  Counted counted{.abi = returned.abi,
                  .nr = returned.nr,
                  .ret = returned.ret,
                  .ns = std::nullopt,
                  .ts = returned.at.record.ts()};
  if (!returned.is_result) counted.ret = 0;
  if (begun == nullptr) {
    ++begun_before_;
  } else {
    counted.abi = begun->abi;
    counted.nr = begun->nr;
    if (interval.known())
      counted.ns = interval.end_ns - std::min(interval.end_ns, begun->begin_ns);
    else
      ++uncertain_;
  }
  count(counted, actor_of(returned.at.record, returned.at.task, returned.at.names));
  if (counted.ns) note_slow(*begun, returned, counted);
}

void SyscallAnalysis::count(const Counted& call, const Actor& actor) {
  // More processes than this also mean too many rows.
  const uint64_t number = processes_.of(actor).value_or(UINT32_MAX);
  const uint64_t kind = call_key(call.abi, call.nr);
  SyscallRow& row = by_process_[by_process_.place_of(number << 34 | kind).index];
  if (!row.others) row.learn(actor);
  count(row, call);
  count(by_call_[by_call_.place_of(kind).index], call);
}

void SyscallAnalysis::count(SyscallRow& row, const Counted& call) {
  if (!row.others) {
    row.abi = call.abi;
    row.nr = call.nr;
  }
  if (row.calls++ == 0) row.first_ns = call.ts;
  if (const int32_t error = error_of_result(call.ret); error != 0) {
    ++row.failed;
    ++row.errors[error];
  }
  if (call.ns) row.ns.add(*call.ns);
}

void SyscallAnalysis::note_slow(const Call& call, const CallReturn& returned,
                                const Counted& counted) {
  if (!slowest_.keeps(*counted.ns)) return;
  const TaskName* task = returned.at.task;
  slowest_.add({.begin_ns = call.begin_ns,
                .ns = *counted.ns,
                .tid = returned.at.record.tid(),
                .comm = task != nullptr ? std::string(task->comm()) : "",
                .abi = counted.abi,
                .nr = counted.nr,
                .args = call.args,
                .args_known = call.args_known,
                .ret = counted.ret});
}

}  // namespace ktraced

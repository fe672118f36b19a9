// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_states.h"

#include <algorithm>

#include "analysis/coverage/comm.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

namespace pb = perfetto;

namespace {

// Larger than any state of the kernel.
constexpr int64_t kUnknownState = 0xffff;

}  // namespace

void PerfettoStates::on_switch(uint32_t cpu, uint32_t prev, uint32_t next, const NameTable& names) {
  running_[cpu] = next;
  change(prev, false, names);
  change(next, true, names);
}

void PerfettoStates::change(uint32_t tid, bool runs, const NameTable& names) {
  if (tid == 0) return;
  if (const auto found = threads_.find(tid); found != threads_.end())
    end_state(tid, found->second, names);
  if (threads_.size() >= kMaxThreads) threads_.clear();
  threads_[tid] = {.losses = losses_.size(), .runs = runs};
}

// Perfetto ignores that a running thread is woken.
void PerfettoStates::on_waking(uint32_t tid, const NameTable& names) {
  const auto found = threads_.find(tid);
  if (found == threads_.end() || !found->second.runs) change(tid, false, names);
}

void PerfettoStates::lose(uint32_t cpu, uint64_t ts, const NameTable& names) {
  end_run(cpu, ts, names);
  if (losses_.empty() || losses_.back().ts < ts) losses_.push_back({ts, cpu});
}

void PerfettoStates::interrupt(uint64_t ts, const NameTable& names) {
  for (const auto& [cpu, tid] : running_) end_run(cpu, ts, names);
  if (!running_.empty()) losses_.push_back({ts, running_.begin()->first});
}

void PerfettoStates::end_run(uint32_t cpu, uint64_t ts, const NameTable& names) {
  const auto running = running_.find(cpu);
  if (running == running_.end() || running->second == 0) return;
  write({ts, cpu}, running->second, 0, names);
  threads_.erase(running->second);
  running->second = 0;
}

// Ends the state of a thread at the first loss since it began, unless it has been running all the
// time: on another CPU.
void PerfettoStates::end_state(uint32_t tid, const Thread& thread, const NameTable& names) {
  if (thread.runs || thread.losses >= losses_.size()) return;
  const Loss& at = losses_[thread.losses];
  write(at, 0, tid, names);
  write(at, tid, 0, names);
}

void PerfettoStates::finish(const NameTable& names) {
  // In order of ids, so that the output does not depend on that of the table.
  const std::map<uint32_t, Thread> threads(threads_.begin(), threads_.end());
  for (const auto& [tid, thread] : threads) end_state(tid, thread, names);
  threads_.clear();
}

void PerfettoStates::write(const Loss& at, uint32_t prev, uint32_t next, const NameTable& names) {
  bundles_.add_late(at.cpu, at.ts, prev, [&](protozero::pbf_writer& event) {
    protozero::pbf_writer message(event, pb::sched_switch::kEvent);
    const auto add_comm = [&](protozero::pbf_tag_type number, uint32_t tid) {
      CommScratch scratch;
      if (const auto comm = comm_at(names, tid, at.ts, at.cpu, scratch))
        message.add_string(number, printable(*comm));
    };
    add_comm(pb::sched_switch::kPrevComm, prev);
    message.add_int32(pb::sched_switch::kPrevPid, static_cast<int32_t>(prev));
    message.add_int64(pb::sched_switch::kPrevState, prev != 0 ? kUnknownState : 0);
    add_comm(pb::sched_switch::kNextComm, next);
    message.add_int32(pb::sched_switch::kNextPid, static_cast<int32_t>(next));
  });
}

}  // namespace ktraced

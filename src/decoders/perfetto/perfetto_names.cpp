// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_names.h"

#include <fmt/format.h>

#include "decoders/text/safe_text.h"

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

namespace {

bool same_thread(const TaskName& a, const TaskName& b) {
  return a.start_time == b.start_time && a.tgid == b.tgid;
}

// True if another thread has reused the id.
bool is_successor(const TaskName& before, const TaskName& task) {
  return before.tgid != 0 && before.start_time != 0 && task.start_time != 0 &&
         before.start_time != task.start_time;
}

void add_process(pbf_writer& tree, const TaskName& leader) {
  pbf_writer process(tree, pb::process_tree::kProcesses);
  process.add_uint32(pb::process_tree::kPid, leader.tgid);
  process.add_string(pb::process_tree::kCmdline, printable(leader.comm()));
  process.add_uint32(pb::process_tree::kUid, leader.uid);
}

void add_thread(pbf_writer& tree, uint32_t tid, const TaskName& task) {
  pbf_writer thread(tree, pb::process_tree::kThreads);
  thread.add_uint32(pb::process_tree::kTid, tid);
  thread.add_string(pb::process_tree::kName, printable(task.comm()));
  thread.add_uint32(pb::process_tree::kTgid, task.tgid);
}

}  // namespace

void PerfettoNames::see(const NameTable& names, uint32_t tid, uint32_t cpu, uint64_t ts) {
  see(names, tid, cpu, ts, true);
}

void PerfettoNames::see(const NameTable& names, uint32_t tid, uint32_t cpu, uint64_t ts,
                        bool and_leader) {
  if (tid == 0) return;
  const TaskName* task = names.task_at(tid, ts);
  auto [found, is_new] = threads_.try_emplace(tid);
  Thread& thread = found->second;
  if (task == nullptr ||
      (!is_new && same_thread(thread.name, *task) && thread.name.comm_bytes == task->comm_bytes))
    return;
  if (is_successor(thread.name, *task)) end(tid, thread.name, cpu, ts);
  if (!same_thread(thread.name, *task)) thread.track = 0;
  thread.name = *task;
  // A process has the name of its first thread.
  if (and_leader && task->tgid != tid) see(names, task->tgid, cpu, ts, false);
  announce(tid, *task, ts);
}

// Perfetto treats an id as the same thread or process until it is freed.
void PerfettoNames::end(uint32_t tid, const TaskName& task, uint32_t cpu, uint64_t ts) {
  bundles_.add(cpu, ts - 1, 0, [&](pbf_writer& event) {
    pbf_writer free(event, pb::process_free::kEvent);
    free.add_string(pb::process_free::kComm, printable(task.comm()));
    free.add_uint32(pb::process_free::kPid, tid);
  });
}

void PerfettoNames::announce(uint32_t tid, const TaskName& task, uint64_t ts) {
  packets_.add(ts, [&](pbf_writer& packet) {
    pbf_writer tree(packet, pb::packet::kProcessTree);
    if (task.tgid == tid) add_process(tree, task);
    add_thread(tree, tid, task);
  });
}

uint64_t PerfettoNames::track(uint32_t tid, uint32_t cpu) {
  if (tid == 0) {
    uint64_t& track = idle_tracks_[cpu];
    if (track == 0) track = packets_.add_track(fmt::format("swapper/{}", cpu));
    return track;
  }
  Thread& thread = threads_[tid];
  if (thread.track == 0)
    thread.track = thread.name.tgid != 0 ? packets_.add_thread_track(thread.name.tgid, tid)
                                         : packets_.add_track(fmt::format("thread {}", tid));
  return thread.track;
}

}  // namespace ktraced

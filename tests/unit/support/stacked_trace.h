// SPDX-License-Identifier: BSD-2-Clause
// A trace whose events have stacks.
#pragma once

#include "unit/support/samples.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {

// Numbers of its stacks.
inline constexpr uint64_t kSleepStack = 0x8000000000000001, kReadStack = 0x8000000000000002,
                          kAppStack = 0x8000000000000003, kBrokenStack = 0x8000000000000004,
                          kWakerStack = 0x8000000000000005;
inline constexpr uint64_t kMillisecond = 1'000'000;  // ns

// Process nginx (812, with a thread 813) reads and sleeps 101 ms; a kernel thread, 57, reads too.
// There are two samples in the kernel, one in the process, one of the kernel thread and one of an
// idle CPU. The memory of 512 bytes is not given back, the system call takes 1 ms.
inline TraceSpec stacked_trace() {
  TraceSpec spec{
      .schema = built_schema(),
      .packets = {},
      .names = {task_in_cgroup(812, 1, 812, 7, "nginx"), task_in_cgroup(813, 1, 812, 7, "worker"),
                task_in_cgroup(57, 1, 57, 1, "kworker/0:1"), cgroup_path(7, "/nginx")},
      .symbols = {{0xffffffff81000001, "__traceiter_sched_switch+0x1/0x2"},
                  {0xffffffff81000011, "schedule+0x1/0x2"},
                  {0xffffffff81000021, "do_nanosleep+0x1/0x2"},
                  {0xffffffff81000031, "ext4_read+0x1/0x2 [ext4]"},
                  {0xffffffff81000041, "try_to_wake_up+0x1/0x2"},
                  {0xffffffff81000051, "hrtimer_wakeup+0x1/0x2"}},
      .begin_ns = kSecond,
      .end_ns = 2 * kSecond};
  spec.schema.stacks = true;
  const auto at = [](uint64_t ms) { return kSecond + ms * kMillisecond; };
  const Bytes sleep = stack_record_of(
      at(50), {.number = kSleepStack,
               .frames = {0xffffffff81000001, 0xffffffff81000011, 0xffffffff81000021}});
  const auto user = [&](uint64_t ms) {
    return stack_record_of(
        at(ms), {.number = kAppStack, .kind = STACK_USER, .frames = {0x401000, 0x402000}});
  };
  spec.packets.push_back(
      {.cpu = 0,
       .records = {
           user(0),
           with_stacks(sample_of(at(0), 812, SAMPLE_USER), {.kernel = 0, .user = kAppStack}),
           stack_record_of(at(10), {.number = kReadStack, .frames = {0xffffffff81000031}}),
           with_stacks(sample_of(at(10), 812, SAMPLE_KERNEL),
                       {.kernel = kReadStack, .user = kAppStack}),
           stack_record_of(at(20), {.number = kBrokenStack,
                                    .kind = STACK_USER,
                                    .end = STACK_BROKEN,
                                    .frames = {0x401000}}),
           with_stacks(sample_of(at(20), 813, SAMPLE_KERNEL),
                       {.kernel = kReadStack, .user = kBrokenStack}),
           with_stacks(sample_of(at(30), 0, SAMPLE_IDLE), {.kernel = kReadStack, .user = 0}),
           with_stacks(sample_of(at(40), 57, SAMPLE_KERNEL_THREAD),
                       {.kernel = kReadStack, .user = 0})}});
  spec.packets.push_back(
      {.cpu = 0,
       .records = {
           stack_record_of(at(150), {.number = kWakerStack,
                                     .frames = {0xffffffff81000041, 0xffffffff81000051}}),
           with_stacks(make_record(EVENT_sched_waking, at(150), 813, rec_sched_waking{.pid = 812}),
                       {.kernel = kWakerStack, .user = 0}),
           with_stacks(make_record(EVENT_kmalloc, at(160), 812,
                                   rec_kmalloc{.call_site = 0xffffffff81000031,
                                               .ptr = 0xffff888100000000,
                                               .bytes_req = 500,
                                               .bytes_alloc = 512}),
                       {.kernel = kReadStack, .user = kAppStack}),
           with_stacks(make_record(EVENT_sys_enter, at(170), 812, rec_sys_enter{.nr = 0}),
                       {.kernel = 0, .user = kAppStack}),
           make_record(EVENT_sys_exit, at(171), 812, rec_sys_exit{.nr = 0, .ret = 5})}});
  spec.packets.push_back(
      {.cpu = 1,
       .records = {
           sleep, user(50),
           with_stacks(
               make_record(EVENT_sched_switch, at(50), 812,
                           rec_sched_switch{.prev_pid = 812, .prev_state = 1, .next_pid = 0}),
               {.kernel = kSleepStack, .user = kAppStack}),
           make_record(EVENT_sched_switch, at(151), 0, rec_sched_switch{.next_pid = 812})}});
  return spec;
}

// The file that its process has mapped from 0x400000 on, where 0x401000 is this byte of the file.
inline TraceSpec stacked_trace_of_file(const std::string& path, const std::string& build_id,
                                       uint64_t byte) {
  constexpr uint64_t kFile = 0x8000000000000011;
  TraceSpec spec = stacked_trace();
  auto& records = spec.packets.front().records;
  records.insert(records.begin(), {file_record_of(kSecond, kFile, path),
                                   mapping_record_of(kSecond, {.tgid = 812,
                                                               .process_start = 0,
                                                               .start = 0x400000,
                                                               .end = 0x500000,
                                                               .offset = byte - 0x1000,
                                                               .file = kFile})});
  spec.files.push_back({.number = kFile, .path = path, .build_id = build_id});
  return spec;
}

// Its process has made the code that it runs: run() has called sum().
inline TraceSpec stacked_trace_of_jit() {
  TraceSpec spec = stacked_trace();
  auto& records = spec.packets.front().records;
  records.insert(
      records.begin(),
      mapping_record_of(kSecond,
                        {.tgid = 812, .process_start = 0, .start = 0x400000, .end = 0x500000}));
  spec.jit_functions = {
      {.process = {.tgid = 812}, .address = 0x401000, .size = 0x100, .name = "sum /srv/app.js:10"},
      {.process = {.tgid = 812}, .address = 0x401f00, .size = 0x100, .name = "run"}};
  return spec;
}

}  // namespace ktraced::test

// SPDX-License-Identifier: BSD-2-Clause
// Makes a trace to show in a browser: some CPUs, threads that run, call and allocate, losses, and
// names that would be markup.
//
//   make_trace DIR EVENTS
//   make_trace DIR stacks    a small one whose events have stacks
#include <cstdio>
#include <random>
#include <string>

#include "unit/support/schema.h"
#include "unit/support/stacked_trace.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

constexpr uint64_t kBegin = 5'000'000'000;
constexpr uint64_t kSite = 0xffffffff81000000;
constexpr uint32_t kCpus = 4;
constexpr uint64_t kCache = 0xffff888100042a00;

struct Thread {
  uint32_t tid, tgid;
  std::string comm;
};
// The names of two are markup.
const std::vector<Thread> kThreads = {
    {812, 812, "nginx"},     {813, 812, "nginx"},      {4000, 4000, "make"},
    {4001, 4001, "cc1plus"}, {4002, 4002, "cc1plus"},  {4003, 4003, "ld"},
    {77, 77, "<img src=x>"}, {78, 78, "</script><b>"}, {900, 900, "postgres"},
    {901, 901, "postgres"},  {3352, 3350, "bash"},     {15, 15, "ksoftirqd/0"},
};

// What happens on one CPU, one round after the other: a thread is woken, begins to run, calls,
// allocates, and stops.
class Cpu {
 public:
  explicit Cpu(uint32_t number) : number_(number), random_(number), now_(kBegin + 1000 * number) {}

  // A packet of about as many events.
  PacketSpec packet(size_t events) {
    PacketSpec spec{.cpu = number_, .records = {}, .lost = {}};
    while (spec.records.size() < events) round(spec.records);
    return spec;
  }
  // Nothing is recorded for some time.
  void lose() {
    now_ += 400'000;
    running_ = 0;
  }
  [[nodiscard]] uint64_t now() const { return now_; }

 private:
  uint64_t between(uint64_t least, uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(least, most)(random_);
  }
  // Mostly short, sometimes much longer.
  uint64_t tick(uint64_t ns) {
    std::lognormal_distribution<double> spread(0, 1.2);
    return now_ += 1 + static_cast<uint64_t>(static_cast<double>(ns) * spread(random_));
  }
  void round(std::vector<Bytes>& records) {
    // Each CPU has threads of its own: one that is known to run cannot run elsewhere.
    const Thread& thread = kThreads[number_ + kCpus * between(0, kThreads.size() / kCpus - 1)];
    const auto next = static_cast<int32_t>(thread.tid);
    records.push_back(
        make_record(EVENT_sched_wakeup, tick(3000), 0, rec_sched_wakeup{.pid = next}));
    change(records, next);
    for (uint64_t calls = between(1, 6); calls != 0; --calls) call(records, thread.tid);
    if (between(0, 2) == 0) {
      change(records, 0);
      tick(60'000);
    }
  }
  void change(std::vector<Bytes>& records, int32_t next) {
    records.push_back(
        make_record(EVENT_sched_switch, tick(2000), static_cast<uint32_t>(running_),
                    rec_sched_switch{.prev_pid = running_, .prev_state = 1, .next_pid = next}));
    running_ = next;
  }
  void call(std::vector<Bytes>& records, uint32_t tid) {
    constexpr int32_t kCalls[] = {0, 1, 3, 9, 202, 232, 257, 281};
    const int32_t nr = kCalls[between(0, 7)];
    records.push_back(make_record(EVENT_sys_enter, tick(1500), tid, rec_sys_enter{.nr = nr}));
    if (between(0, 1) == 0) allocate(records, tid);
    records.push_back(make_record(EVENT_sys_exit, tick(800 + 300 * static_cast<uint64_t>(nr)), tid,
                                  rec_sys_exit{.nr = nr, .ret = between(0, 9) == 0 ? -2 : 3}));
  }
  void allocate(std::vector<Bytes>& records, uint32_t tid) {
    const uint64_t which = between(0, 59), ptr = 0xffff888000000000 + 4096 * next_pointer_++;
    const u32 given = 32U << which % 8;
    if (which % 3 == 0)
      records.push_back(make_record(EVENT_kmem_cache_alloc, tick(300), tid,
                                    rec_kmem_cache_alloc{.call_site = kSite + 16 * which,
                                                         .ptr = ptr,
                                                         .name = kCache,
                                                         .bytes_req = 192,
                                                         .bytes_alloc = 192}));
    else
      records.push_back(make_record(EVENT_kmalloc, tick(300), tid,
                                    rec_kmalloc{.call_site = kSite + 16 * which,
                                                .ptr = ptr,
                                                .bytes_req = given * 2 / 3,
                                                .bytes_alloc = given}));
    if (between(0, 9) == 0) return;
    if (which % 3 == 0)
      records.push_back(
          make_record(EVENT_kmem_cache_free, tick(300), tid,
                      rec_kmem_cache_free{.call_site = kSite, .ptr = ptr, .name = kCache}));
    else
      records.push_back(
          make_record(EVENT_kfree, tick(300), tid, rec_kfree{.call_site = kSite, .ptr = ptr}));
  }

  uint32_t number_;
  std::mt19937_64 random_;
  uint64_t now_;
  int32_t running_ = 0;
  uint64_t next_pointer_ = uint64_t{number_} << 20;
};

TraceSpec spec_of(size_t events) {
  TraceSpec spec{.schema = built_schema(), .packets = {}, .names = {}, .symbols = {}};
  spec.begin_ns = kBegin;
  for (const Thread& thread : kThreads)
    spec.names.push_back(task_name(thread.tid, 1, thread.tgid, thread.comm));
  spec.names.push_back(cache_name(kCache, "vm_area_struct"));
  for (uint64_t i = 0; i < 60; ++i)
    spec.symbols[kSite + 16 * i] =
        "function_" + std::to_string(i / 3) + "+0x" + std::to_string(10 * (i % 3)) + "/0x80";
  std::vector<Cpu> cpus;
  for (uint32_t number = 0; number < kCpus; ++number) cpus.emplace_back(number);
  const size_t rounds = 10, share = events / (rounds * kCpus) + 1;
  for (size_t round = 0; round < rounds; ++round)
    for (Cpu& cpu : cpus) {
      const bool loses = round % 4 == 2 && &cpu == &cpus[1];
      if (loses) cpu.lose();
      spec.packets.push_back(cpu.packet(share));
      if (loses)
        spec.packets.back().lost = {{.count = 1200, .event_id = EVENT_sys_enter},
                                    {.count = 3, .event_id = EVENT_sched_switch}};
      spec.end_ns = std::max(spec.end_ns, cpu.now());
    }
  return spec;
}

}  // namespace
}  // namespace ktraced::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: make_trace DIR EVENTS|stacks\n", stderr);
    return 64;
  }
  const std::string what = argv[2];
  ktraced::test::write_trace(argv[1], what == "stacks" ? ktraced::test::stacked_trace()
                                                       : ktraced::test::spec_of(std::stoul(what)));
}

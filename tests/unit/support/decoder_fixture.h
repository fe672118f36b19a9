// SPDX-License-Identifier: BSD-2-Clause
// Records of events, and the decoders to read them with.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "decoders/text/decoder.h"
#include "unit/support/packets.h"
#include "unit/support/sample_record.h"
#include "unit/support/schema.h"

namespace ktraced::test {

inline constexpr uint64_t kTs = kSampleTime;
inline constexpr uint64_t kCallSite = 0xffffffff81234567;
inline constexpr uint64_t kHeapPointer = 0xffff888104c5a000;
inline constexpr uint64_t kCache = 0xffff888100042a00;

inline constexpr uint64_t kFunction = 0xffffffff81230000;

// Resolves an address within a function and the start of another one.
class FewSymbols : public SymbolResolver {
 public:
  std::string_view resolve(uint64_t address) override {
    if (address == kFunction) return "do_sys_openat2+0x0/0xe0";
    return address == kCallSite ? "load_elf_binary+0x2a/0x10f0" : "";
  }
};

// Three threads, the idle task and a slab cache; records happen on CPU 2.
class DecoderTest : public ::testing::Test {
 protected:
  DecoderTest() {
    learn(task_name(3352, 1, 3350, "bash"));
    learn(task_name(812, 1, 812, "nginx"));
    learn(task_name(4000, 1, 4000, "make"));
    learn(cache_name(kCache, "dentry"));
  }
  void learn(const Bytes& record) { names_.apply(RecordView(record.data())); }

  DecoderSources sources() { return {schema_, names_, &symbols_}; }
  static std::string decode(Decoder& decoder, const Bytes& record, uint32_t cpu = 2) {
    TextBuffer out;
    decoder.event(cpu, RecordView(record.data()), out);
    return std::string(out.view());
  }
  static std::string decode_loss(Decoder& decoder, const LossItem& loss) {
    TextBuffer out;
    decoder.loss(loss, out);
    return std::string(out.view());
  }

  // The special ones and one of every event.
  [[nodiscard]] std::vector<Bytes> all_records() const;

  Schema schema_ = built_schema();
  NameTable names_;
  FewSymbols symbols_;
};

// A record of an event by thread 3352, bash.
template <class Record>
Bytes by_bash(uint16_t id, Record record) {
  return make_record(id, kTs, 3352, record);
}

inline Bytes exec_record(std::string_view filename, std::string_view argv = "make -j4") {
  const size_t argv_at = sizeof(rec_sched_process_exec) + filename.size() + 1;
  const size_t size = (argv_at + argv.size() + 1 + 7) / 8 * 8;
  Bytes bytes(size);
  rec_sched_process_exec fixed{
      .h = {.ts = kTs, .id = EVENT_sched_process_exec, .size = static_cast<u16>(size), .tid = 3352},
      .pid = 3352,
      .old_pid = 3353,
      .parent_pid = 812,
      .argv = static_cast<u32>(argv_at | (argv.size() + 1) << LOCATED_COUNT_SHIFT)};
  std::memcpy(bytes.data(), &fixed, sizeof(fixed));
  std::ranges::copy(std::as_bytes(std::span(filename)), bytes.begin() + sizeof(fixed));
  std::ranges::copy(std::as_bytes(std::span(argv)), &bytes[argv_at]);
  return bytes;
}

inline Bytes rename_record(std::string_view from, std::string_view to) {
  rec_task_rename rename{.pid = 3352, .oom_score_adj = -17};
  copy_text(from, rename.oldcomm);
  copy_text(to, rename.newcomm);
  return by_bash(EVENT_task_rename, rename);
}

// Records with values that are shown in a special way, by the name of their event. Records of all
// events: sample_records().
inline std::map<std::string, Bytes> special_records() {
  return {
      {"sched_switch", by_bash(EVENT_sched_switch, rec_sched_switch{.prev_pid = 3352,
                                                                    .prev_prio = 120,
                                                                    .prev_state = 1,
                                                                    .next_pid = 0,
                                                                    .next_prio = 120})},
      {"sched_wakeup",
       by_bash(EVENT_sched_wakeup, rec_sched_wakeup{.pid = 812, .prio = -1, .target_cpu = 6})},
      {"sched_process_fork",
       by_bash(EVENT_sched_process_fork,
               rec_sched_process_fork{.parent_pid = 3352, .child_pid = 4000, .child_tgid = 4000})},
      {"sched_process_exec", exec_record("/usr/bin/make")},
      {"sched_process_exit",
       by_bash(
           EVENT_sched_process_exit,
           rec_sched_process_exit{.pid = 3352, .prio = 120, .exit_code = 3 << 8, .group_dead = 1})},
      {"task_rename", rename_record("bash", "make")},
      {"kmalloc", by_bash(EVENT_kmalloc, rec_kmalloc{.call_site = kCallSite,
                                                     .ptr = kHeapPointer,
                                                     .bytes_req = 500,
                                                     .bytes_alloc = 512,
                                                     .gfp_flags = 0xdc0,
                                                     .node = -1})},
      {"kfree", by_bash(EVENT_kfree, rec_kfree{.call_site = kCallSite + 1, .ptr = kHeapPointer})},
      {"kmem_cache_alloc",
       by_bash(EVENT_kmem_cache_alloc, rec_kmem_cache_alloc{.call_site = kCallSite,
                                                            .ptr = kHeapPointer,
                                                            .name = kCache,
                                                            .bytes_req = 192,
                                                            .bytes_alloc = 192,
                                                            .gfp_flags = 0x400cc0,
                                                            .node = 0})},
      {"kmem_cache_free",
       by_bash(EVENT_kmem_cache_free,
               rec_kmem_cache_free{.call_site = kCallSite, .ptr = kHeapPointer, .name = 0x1234})},
      {"mm_page_alloc",
       by_bash(EVENT_mm_page_alloc,
               rec_mm_page_alloc{
                   .page = 0xffffea0004131680, .gfp_flags = 0, .order = 1, .migratetype = -1})},
      {"mm_page_free", by_bash(EVENT_mm_page_free, rec_mm_page_free{.page = 0, .order = 10})},
      {"sys_enter",
       by_bash(
           EVENT_sys_enter,
           rec_sys_enter{.nr = 257, .abi = 0, .args = {0xffffffffffffff9c, 0x7f00, 2, 0, 0, 1}})},
      {"sys_exit", by_bash(EVENT_sys_exit, rec_sys_exit{.nr = 257, .abi = 0, .ret = -2})},
      {"signal_generate",
       by_bash(EVENT_signal_generate,
               rec_signal_generate{
                   .sig = 10, .error = 0, .code = 0, .pid = 812, .group = 1, .result = 0})},
      // Without designators: <signal.h> makes sa_handler a macro.
      {"signal_deliver",
       by_bash(EVENT_signal_deliver, rec_signal_deliver{{}, 11, 2, 1, 0, 0x14000000})},
  };
}

inline std::vector<Bytes> DecoderTest::all_records() const {
  std::vector<Bytes> all;
  for (const auto& records : {special_records(), sample_records(schema_, 3352)})
    for (const auto& [event, record] : records) all.push_back(record);
  return all;
}

}  // namespace ktraced::test

// SPDX-License-Identifier: BSD-2-Clause
#include "hook_programs.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

// Large enough for the records of one stretch.
constexpr uint32_t kRingBytes = 16 << 20;
constexpr int kRecordBytes = 24;
// The kernel stores the size of each record before it.
constexpr int kRecordHeaderBytes = 8;

bpf_insn instruction(int code, int to, int from = 0, int offset = 0, int value = 0) {
  bpf_insn made{};
  made.code = code;
  made.dst_reg = to;
  made.src_reg = from;
  made.off = static_cast<int16_t>(offset);
  made.imm = value;
  return made;
}

bpf_insn call(int helper) { return instruction(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
bpf_insn set(int to, int value) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
bpf_insn move(int to, int from) { return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from); }
bpf_insn load(int to, int from, int offset) {
  return instruction(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset);
}
bpf_insn store(int to, int offset, int from) {
  return instruction(BPF_STX | BPF_MEM | BPF_DW, to, from, offset);
}
bpf_insn exit_program() { return instruction(BPF_JMP | BPF_EXIT, 0); }

std::vector<bpf_insn> empty_code() { return {set(BPF_REG_0, 0), exit_program()}; }

std::vector<bpf_insn> clock_code() {
  return {call(BPF_FUNC_ktime_get_boot_ns), set(BPF_REG_0, 0), exit_program()};
}

// The time, the thread and process, and the first argument of the tracepoint: all have one.
std::vector<bpf_insn> ringbuf_code(int map) {
  return {
      move(BPF_REG_6, BPF_REG_1),
      instruction(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
      {},
      set(BPF_REG_2, kRecordBytes),
      set(BPF_REG_3, 0),
      call(BPF_FUNC_ringbuf_reserve),
      instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 10),  // no room: to the end
      move(BPF_REG_7, BPF_REG_0),
      call(BPF_FUNC_ktime_get_boot_ns),
      store(BPF_REG_7, 0, BPF_REG_0),
      call(BPF_FUNC_get_current_pid_tgid),
      store(BPF_REG_7, 8, BPF_REG_0),
      load(BPF_REG_1, BPF_REG_6, 0),
      store(BPF_REG_7, 16, BPF_REG_1),
      move(BPF_REG_1, BPF_REG_7),
      set(BPF_REG_2, BPF_RB_NO_WAKEUP),
      call(BPF_FUNC_ringbuf_submit),
      set(BPF_REG_0, 0),
      exit_program(),
  };
}

int load(HookProgram program, const RecordRing* ring) {
  const std::vector<bpf_insn> code = program == HookProgram::empty   ? empty_code()
                                     : program == HookProgram::clock ? clock_code()
                                                                     : ringbuf_code(ring->map());
  const int loaded = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "bench", "GPL", code.data(),
                                   code.size(), nullptr);
  if (loaded < 0) give_up("cannot load a BPF program");
  return loaded;
}

void* map_page(int map, int protection, off_t offset) {
  void* page = mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), protection, MAP_SHARED,
                    map, offset);
  if (page == MAP_FAILED) give_up("cannot map the BPF ring buffer");
  return page;
}

}  // namespace

void give_up(const std::string& what) {
  std::perror(("bench_work: " + what).c_str());
  std::exit(1);
}

HookProgram hook_program_called(const std::string& name) {
  if (name == "nothing") return HookProgram::nothing;
  if (name == "empty") return HookProgram::empty;
  if (name == "clock") return HookProgram::clock;
  if (name == "ringbuf") return HookProgram::ringbuf;
  std::fprintf(stderr, "bench_work: knows the programs nothing, empty, clock and ringbuf, not %s\n",
               name.c_str());
  std::exit(1);
}

RecordRing::RecordRing()
    : map_(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "records", 0, 0, kRingBytes, nullptr)) {
  if (map_ < 0) give_up("cannot make a BPF ring buffer");
  consumer_ = static_cast<uint64_t*>(map_page(map_, PROT_READ | PROT_WRITE, 0));
  producer_ = static_cast<const uint64_t*>(map_page(map_, PROT_READ, sysconf(_SC_PAGESIZE)));
}

RecordRing::~RecordRing() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  munmap(consumer_, page);
  munmap(const_cast<uint64_t*>(producer_), page);
  close(map_);
}

uint64_t RecordRing::records() const {
  return __atomic_load_n(producer_, __ATOMIC_ACQUIRE) / (kRecordBytes + kRecordHeaderBytes);
}

void RecordRing::discard() {
  __atomic_store_n(consumer_, __atomic_load_n(producer_, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

HookPrograms::HookPrograms(HookProgram program, const std::string& tracepoints,
                           const RecordRing* ring) {
  if (program == HookProgram::nothing) return;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = tracepoints.find(',', begin);
    const std::string name = tracepoints.substr(begin, end - begin);
    if (!name.empty()) hooks_.push_back({.tracepoint = name, .program = load(program, ring)});
  }
}

HookPrograms::~HookPrograms() {
  detach();
  for (const Hook& hook : hooks_) close(hook.program);
}

void HookPrograms::attach() {
  for (const Hook& hook : hooks_) {
    const int link = bpf_raw_tracepoint_open(hook.tracepoint.c_str(), hook.program);
    if (link < 0) give_up("cannot attach a BPF program to " + hook.tracepoint);
    links_.push_back(link);
  }
}

void HookPrograms::detach() {
  for (const int link : links_) close(link);
  links_.clear();
}

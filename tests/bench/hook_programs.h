// SPDX-License-Identifier: BSD-2-Clause
// BPF programs that bench_work attaches to raw tracepoints itself: what a hit costs without
// ktraced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Prints what failed and why (errno), and ends the process.
[[noreturn]] void give_up(const std::string& what);

enum class HookProgram {
  nothing,  // no program at all
  empty,    // a program that does nothing
  clock,    // a program that reads the clock of ktraced's time stamps
  ringbuf,  // a program that stores a record of 24 bytes in a BPF ring buffer
};

// Ends the process if there is no such name.
HookProgram hook_program_called(const std::string& name);

// The ring buffer of HookProgram::ringbuf, shared by all CPUs. Nobody is woken by its records.
class RecordRing {
 public:
  RecordRing();
  RecordRing(const RecordRing&) = delete;
  RecordRing& operator=(const RecordRing&) = delete;
  ~RecordRing();

  [[nodiscard]] int map() const { return map_; }
  // Records since the ring was made; records without room in the ring are not among them.
  [[nodiscard]] uint64_t records() const;
  // Releases the room of all records.
  void discard();

 private:
  int map_;
  uint64_t* consumer_;
  const uint64_t* producer_;
};

// A program for each of several raw tracepoints, loaded once, attached and detached many times.
// Each tracepoint has a program of its own, because the kernel skips hits inside a running program.
class HookPrograms {
 public:
  // `tracepoints`: names, separated by commas. `ring` is for HookProgram::ringbuf, which needs it.
  // Ends the process if a program cannot be loaded.
  HookPrograms(HookProgram program, const std::string& tracepoints, const RecordRing* ring);
  HookPrograms(const HookPrograms&) = delete;
  HookPrograms& operator=(const HookPrograms&) = delete;
  ~HookPrograms();

  // Ends the process if a tracepoint refuses its program. They must not be attached already.
  void attach();
  // When it returns, new hits do not run the programs.
  void detach();

 private:
  struct Hook {
    std::string tracepoint;
    int program;
  };
  std::vector<Hook> hooks_;
  std::vector<int> links_;
};

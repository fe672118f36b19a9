// SPDX-License-Identifier: BSD-2-Clause
// Code that is not in the program: of a library, and made at run time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "functions.h"

namespace stack_truth {

// Ends the program with a message, which includes errno if it is set.
[[noreturn]] void die(const std::string& what);

// A function of the shared library.
class Library {
 public:
  explicit Library(const std::string& path);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();
  [[nodiscard]] Through function() const { return function_; }
  [[nodiscard]] Range range() const { return range_; }

 private:
  void* handle_;
  Through function_;
  Range range_;
};

// Makes a function in anonymous memory, where it stays.
Range make_function();
// Writes a line of /tmp/perf-PID.map for it, and returns the path.
std::string write_perf_map(const Range& function, const std::string& name);

// Where code of a loaded file is from.
struct FilePlace {
  uint64_t offset = 0;   // in the file
  std::string build_id;  // of the file, in hexadecimal; empty: it has none
};
// Of this address; ends the program if it is in no file.
FilePlace place_of(uint64_t address);

// Threads that map and unmap executable memory all the time.
class Mappers {
 public:
  explicit Mappers(int threads);
  Mappers(const Mappers&) = delete;
  Mappers& operator=(const Mappers&) = delete;
  ~Mappers();
  [[nodiscard]] uint64_t mapped() const { return mapped_; }

 private:
  std::atomic<bool> ending_ = false;
  std::atomic<uint64_t> mapped_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace stack_truth

// SPDX-License-Identifier: BSD-2-Clause
// Code that processes have made at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "bpf/records.h"
#include "trace/metadata/mapping_table.h"
#include "trace/metadata/stack_table.h"

namespace ktraced {

// A function that a process has made.
struct JitFunction {
  ProcessId process;
  uint64_t address = 0;
  uint64_t size = 0;      // bytes
  std::string name = {};  // what the process calls it: foreign text

  bool operator==(const JitFunction&) const = default;
};

// The function of a process at an address, of functions in the order of sort_jit_functions(). Null
// if it is not known. For a return address, ask for the byte before it, which is in the call.
[[nodiscard]] const JitFunction* find_jit_function(std::span<const JitFunction> functions,
                                                   const ProcessId& process, uint64_t address);
void sort_jit_functions(std::vector<JitFunction>& functions);

// The code that is in user stacks of a trace and in no file.
class JitCode {
 public:
  static constexpr size_t kMaxMappings = 4096;
  static constexpr size_t kMaxAddresses = 65536;  // also of all mappings together

  // A mapping with such code.
  struct Mapping {
    ProcessId process;
    uint64_t start = 0, end = 0;
    std::vector<uint64_t> addresses = {};  // of frames, ascending
  };

  // Adds what a record has of it, in the order of the ring. What is beyond the limits is left out.
  void add(const rec_mapping& mapping);
  void add(const Stack& stack);
  // Those of a process one after another.
  [[nodiscard]] std::vector<Mapping> mappings() const;

 private:
  using Key = std::tuple<uint64_t, uint32_t, uint64_t>;  // start, process, its start
  [[nodiscard]] bool contains(uint64_t address) const;

  std::map<Key, uint64_t> ends_;
  std::set<uint64_t> addresses_;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Replaces user addresses in records of stacks and samples by pseudonyms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "daemon/access/pseudonyms.h"

namespace ktraced {

// Where a process has its code, and its stacks, defeats the randomization of addresses. So each
// mapping is moved as a whole, to the same place for all processes with one layout (struct
// rec_stack) that have it at the same address, and frames move with it: readers find the same files
// and offsets as without this. A frame that is in no known mapping becomes 0, and so do layouts.
// Belongs to one thread at a time.
class UserAddresses {
 public:
  static constexpr size_t kMaxMappings = 65536;
  static constexpr size_t kMaxTops = 262'144;

  explicit UserAddresses(const AddressPseudonyms& pseudonyms) : pseudonyms_(pseudonyms) {}

  // Notes a mapping (struct rec_mapping), and moves it.
  void mask_mapping(std::span<std::byte> record);
  // Where the mapping is that was moved to `shown`; nothing: it is not known. For mappings of no
  // file.
  [[nodiscard]] std::optional<uint64_t> start_of(uint64_t shown) const;
  // Moves the frames of a user stack (struct rec_stack), whose number is still its own. Its
  // mappings have come before, as they do in a stream.
  void mask_stack(std::span<std::byte> record);
  // Moves where the process was at a sample (struct rec_cpu_sample): that is the first frame of its
  // user stack, which has this number and has come before; 0: it has none.
  void mask_sample(std::span<std::byte> record, uint64_t stack) const;

 private:
  using Place = std::pair<uint32_t, uint64_t>;  // layout, start
  struct Mapping {
    uint64_t end = 0;   // of the longest one
    uint64_t seen = 0;  // mappings noted until the last one
  };
  [[nodiscard]] uint64_t moved(uint32_t layout, uint64_t frame, bool returns) const;

  AddressPseudonyms pseudonyms_;
  std::map<Place, Mapping> mappings_;  // of all processes
  std::unordered_map<uint64_t, uint64_t>
      starts_;  // of those of no file, by where they are moved to
  // Where the first frame of a user stack is moved to, by the number of the stack.
  std::unordered_map<uint64_t, uint64_t> tops_;
  uint64_t noted_ = 0;
};

}  // namespace ktraced

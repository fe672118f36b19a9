// SPDX-License-Identifier: BSD-2-Clause
// Which file a process had mapped at an address of its code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "trace/metadata/mapped_file.h"
#include "trace/packet/packet.h"

namespace ktraced {

// The mapping in a record (struct rec_mapping); nothing if the record is none, or is not as
// programs write it.
[[nodiscard]] std::optional<rec_mapping> mapping_of(RecordView record);

// Where code is from.
struct CodePlace {
  enum class Kind : uint8_t { file, anonymous, vdso };
  Kind kind = Kind::file;
  const MappedFile* file = nullptr;  // of Kind::file; null: which one is not known
  uint64_t offset = 0;               // in the file, of the address

  bool operator==(const CodePlace&) const = default;
};

// A process. Its id is used again, but not within a clock tick.
struct ProcessId {
  uint32_t tgid = 0;
  uint64_t start_ns = 0;  // CLOCK_BOOTTIME, perhaps rounded down to a tick of /proc; 0: not known

  bool operator==(const ProcessId&) const = default;
};

// True also if it is not known when one of them began.
[[nodiscard]] bool is_same_process(const ProcessId& a, const ProcessId& b);

// Answers "what was at this address of process 812 at that time" from the records of a stream or
// trace: a mapping is valid until a later one overlaps it, or until the process executes another
// program. Memory is bounded: it keeps what was added last.
class MappingTable {
 public:
  static constexpr size_t kMaxBytes = size_t{256} << 20;
  // What overlaps more pieces than this, made by other mappings, replaces their history.
  static constexpr size_t kMaxOverlapped = 256;
  static constexpr size_t kVersions = 16;  // of one address, the last ones

  // Keeps about `max_bytes` of the mappings that were added last. A stream has any mapping again
  // that an event still needs.
  explicit MappingTable(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Adds the mapping or file in a record, and ignores other records.
  void add(RecordView record);
  // A build id that is known stays.
  void add(MappedFile file);

  // Where the code at an address is from. `file` is valid until the next add(). What was mapped
  // there first, if all that is known of it is later; nothing if nothing is known. For a return
  // address, ask for the byte before it, which is in the call.
  [[nodiscard]] std::optional<CodePlace> find(const ProcessId& process, uint64_t ts,
                                              uint64_t address) const;
  // Null if it is not known. Valid until the next add().
  [[nodiscard]] const MappedFile* file(uint64_t number) const;
  // Calls `visit(file)` for each file, in no order.
  template <class Visit>
  void for_each_file(Visit&& visit) const {
    for (const auto& [number, file] : files_) visit(file);
  }
  // Processes whose mappings had to make room for others.
  [[nodiscard]] uint64_t evicted() const { return evicted_; }

 private:
  struct Version {
    uint64_t since;   // ns, CLOCK_BOOTTIME
    uint64_t origin;  // address at which the file would begin; 0: of no file
    uint64_t file;    // as in struct rec_mapping
    uint32_t image;

    [[nodiscard]] bool same_mapping(const Version& other) const {
      return origin == other.origin && file == other.file && image == other.image;
    }
  };
  using Versions = std::vector<Version>;  // by time
  class Process {
   public:
    // Returns how much memory it takes more, in bytes.
    size_t add(const rec_mapping& mapping);
    // The version of that time; null if there is none.
    [[nodiscard]] const Version* at(uint64_t ts, uint64_t address) const;
    // The first version after that time.
    [[nodiscard]] const Version* after(uint64_t ts, uint64_t address) const;

   private:
    using Pieces = std::map<uint64_t, Versions>;
    Pieces::iterator split(uint64_t address);
    [[nodiscard]] Pieces::const_iterator piece_of(uint64_t address) const;
    [[nodiscard]] bool is_known(const Version& version, uint64_t start, uint64_t end) const;
    void note_image(const Version& version);

    struct Image {
      uint64_t since;  // ns, CLOCK_BOOTTIME, of its first known mapping
      uint32_t image;
    };
    // By the first address of each; one ends where the next begins. The last one has no versions.
    Pieces pieces_;
    std::vector<Image> images_;  // by time
  };
  using Processes = std::map<std::pair<uint32_t, uint64_t>, Process>;  // by tgid and tick of start

  static const Process* find_process(const Processes& processes, const ProcessId& process,
                                     uint64_t ts);
  void add(const rec_mapping& mapping);
  [[nodiscard]] CodePlace place_of(const Version& version, uint64_t address) const;

  size_t max_bytes_;
  Processes recent_, before_;
  size_t recent_bytes_ = 0;
  uint64_t evicted_ = 0;
  std::unordered_map<uint64_t, MappedFile> files_;  // by number
};

}  // namespace ktraced

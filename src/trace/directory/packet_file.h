// SPDX-License-Identifier: BSD-2-Clause
// The packets of one CPU of a trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "trace/directory/trace_directory.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Reads a file of packets, one packet at a time. The file is untrusted: what is returned belongs to
// this trace and CPU, and its records are whole and in time order. Move-only.
class PacketFile {
 public:
  // A packet, and the owner of its bytes.
  struct Packet {
    PacketView view;
    std::shared_ptr<const void> owner;
  };

  // `name` in the directory; fails as TraceDirectory::open_file().
  static Result<PacketFile> open(const TraceDirectory& directory, const std::string& name,
                                 const Uuid& uuid, uint32_t cpu);

  // The next packet; nothing at the end of the file. Of the first invalid packet, the records
  // before the damage are returned as a packet, if there are any; its header ends with the last of
  // them. Then fails with ExitCode::data, naming file and offset; nothing after it can be read.
  Result<std::optional<Packet>> next();

  // Moves to the first packet that ends at `ts` (ns, CLOCK_BOOTTIME) or later, or to one that is
  // invalid. Reads only the headers of packets before it. Fails as next(), for a header.
  // Losses::keep: does not skip packets that have only losses, if these are still going on at `ts`.
  enum class Losses : uint8_t { skip, keep };
  Result<> skip_before(uint64_t ts, Losses losses = Losses::skip);
  // Has skip_before() left out packets?
  [[nodiscard]] bool skipped() const { return skipped_; }
  // When the first packet that was read or skipped begins, and the last one ends; ns.
  [[nodiscard]] uint64_t first_ns() const { return first_ts_.value_or(0); }
  [[nodiscard]] uint64_t last_ns() const { return last_ts_; }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] uint32_t cpu() const { return cpu_; }
  [[nodiscard]] uint64_t offset() const { return offset_; }    // bytes read
  [[nodiscard]] uint64_t records() const { return records_; }  // read so far
  // The file ended in the middle of a packet, as it does when its writer was stopped.
  [[nodiscard]] bool truncated() const { return truncated_; }

 private:
  PacketFile(std::filesystem::path path, Fd fd, const Uuid& uuid, uint32_t cpu)
      : path_(std::move(path)), fd_(std::move(fd)), uuid_(uuid), cpu_(cpu) {}
  struct Place {
    uint64_t offset = 0;
    uint64_t last_ts = 0;
  };
  // The records of the packet in the buffer that are whole and in time order, up to the first that
  // is not.
  struct Intact {
    uint64_t bytes = 0;    // where they end in the packet
    uint64_t last_ts = 0;  // of the last one, or else where the packet begins
    uint64_t records = 0;
  };
  static bool has_records(const PacketHeader& header);
  // Appends bytes of the file from offset_ to the buffer until it contains `size` bytes.
  Result<> fill(size_t size);
  Result<> check(const PacketHeader& header);
  [[nodiscard]] Intact intact_records(const PacketHeader& header) const;
  // The intact records of the packet in the buffer, so that `damage` is next; `damage` if there are
  // none.
  Result<std::optional<Packet>> cut(const Intact& intact, std::unexpected<Error> damage);
  // The packet in the buffer, which has these records and no others.
  Packet deliver(const Intact& intact);
  [[nodiscard]] std::unexpected<Error> damaged(std::string_view what) const;

  std::filesystem::path path_;
  Fd fd_;
  Uuid uuid_;
  uint32_t cpu_;
  std::shared_ptr<std::vector<std::byte>> buffer_;  // reused when it has no other owner
  uint64_t offset_ = 0;
  uint64_t records_ = 0;
  std::optional<uint64_t> first_ts_;
  uint64_t last_ts_ = 0;
  std::optional<Error> damage_;  // behind the packet that was returned
  bool truncated_ = false;
  bool skipped_ = false;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// A directory that has its final name only when it is whole.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The error of an operation on a file, of ExitCode::io: "cannot create PATH: No space left …".
[[nodiscard]] std::unexpected<Error> io_failure(const char* doing,
                                                const std::filesystem::path& path, int error);

// Writes all of `parts` to the file at `path`, and modifies them. Fails with ExitCode::io.
[[nodiscard]] Result<> write_parts(int fd, std::span<iovec> parts,
                                   const std::filesystem::path& path);
[[nodiscard]] iovec iovec_of(std::span<const std::byte> bytes);

// The end of the name of a directory that is not finished.
inline constexpr const char* kPartialSuffix = ".partial";

// A new directory, named `<path>.partial` until finish(), with one subdirectory. Everything is made
// below descriptors of these, following no links: directories with mode 0750, files with 0640. The
// destructor removes it unless it is finished or kept. All functions fail with ExitCode::io.
class PartialDirectory {
 public:
  [[nodiscard]] static std::filesystem::path partial_of(const std::filesystem::path& path);

  // make() makes them, in the open directory `parent`. Without one it opens the one of `path`, as
  // the kernel does.
  PartialDirectory(std::filesystem::path path, std::filesystem::path subdirectory, Fd parent = {});
  PartialDirectory(const PartialDirectory&) = delete;
  PartialDirectory& operator=(const PartialDirectory&) = delete;
  ~PartialDirectory();
  Result<> make();

  // The path until finish().
  [[nodiscard]] const std::filesystem::path& path() const { return partial_; }
  // Writes a file, or replaces it: all or nothing. If the disk is full, the old file must stay
  // usable for readers. Uses the name ".new" in the subdirectory. `modified_ns` is the modification
  // time (ns of CLOCK_REALTIME); nothing: the file system's.
  Result<> write(const char* name, std::string_view text,
                 std::optional<uint64_t> modified_ns = std::nullopt) const;
  // A new file in the subdirectory, for writing.
  [[nodiscard]] Result<Fd> create(const std::filesystem::path& name) const;
  // Syncs both directories, gives the directory its final name and syncs that.
  Result<> finish();
  // Keeps it under the name that it has.
  void keep() { is_ours_ = false; }

 private:
  [[nodiscard]] std::filesystem::path parent_path() const;

  std::filesystem::path path_, partial_, subdirectory_name_;
  Fd parent_, directory_, subdirectory_;
  bool is_ours_ = false;  // to be removed
};

}  // namespace ktraced

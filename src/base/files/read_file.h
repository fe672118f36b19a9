// SPDX-License-Identifier: BSD-2-Clause
// Reads whole small files by descriptor: errors are values, and no file can block the reader.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <expected>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// Why a regular file was not opened: an errno, or the st_mode of a file of another kind.
struct NotOpened {
  int error = 0;
  mode_t mode = 0;
};

// `name` in the directory `directory` (a descriptor, or AT_FDCWD), open for reading if it is a
// regular file. Other kinds are not opened: opening alone has effects on some devices, and waits
// for a FIFO. `flags` may be O_NOFOLLOW.
[[nodiscard]] std::expected<Fd, NotOpened> open_regular_at(int directory, const std::string& name,
                                                           int flags = 0);

// A regular file in a place where any user can put what he likes, and can replace it at any time:
// it is opened for reading only after `is_expected` has accepted its status. Nothing else is
// opened, not even for a moment. `flags` as in open_regular_at(). Needs /proc.
[[nodiscard]] std::expected<Fd, NotOpened> open_expected_at(
    int directory, const std::string& name,
    const std::function<bool(const struct stat& status)>& is_expected, int flags = 0);

// A regular file or a file of the kernel, open for reading. Fails as read_file().
[[nodiscard]] Result<Fd> open_file(const std::filesystem::path& path);

// The text of a regular file or of a file of the kernel (/proc, sysfs, tracefs). A FIFO, a device,
// a socket or a directory is refused without waiting for it, also behind a symbolic link.
//
// Fails with ExitCode::data if the file is missing (also: its process has ended), with
// no_permission, or with io: it is no file, has more than `max_bytes`, or cannot be read. The
// message begins with what failed, on which path.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, size_t max_bytes);

// Reads the file `name` in the directory `directory` (a descriptor, or AT_FDCWD) and fails as
// read_file() does.
[[nodiscard]] Result<std::string> read_file_at(int directory, const std::string& name,
                                               size_t max_bytes);

// "a directory", "a FIFO", …: the kind of a file that is not regular, from its st_mode.
[[nodiscard]] std::string_view kind_of_file(mode_t mode);

}  // namespace ktraced

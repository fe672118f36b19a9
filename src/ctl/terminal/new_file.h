// SPDX-License-Identifier: BSD-2-Clause
// Output files of commands.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The access rights of a file.
struct FileAccess {
  mode_t mode = 0666;          // as for open(2): the umask is applied
  std::optional<gid_t> group;  // the file's group; nothing: the user's group
};
// Files made from traces may be read only by users who may read all of these traces.
[[nodiscard]] FileAccess access_of_traces(const std::vector<std::string>& directories);

// A file that appears under its name only when complete, and never replaces another file. Until
// then it is called NAME.partial; it is removed if it is not finished. Move-only.
class NewFile {
 public:
  // Fails with ExitCode::usage if the name or NAME.partial already exists, or if it is a place in a
  // trace directory.
  static Result<NewFile> create(const std::filesystem::path& path, const FileAccess& access = {});
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] Result<> write(std::string_view bytes);
  // Renames it to its final name. Fails with ExitCode::usage if that now exists.
  [[nodiscard]] Result<> finish();

 private:
  NewFile(std::filesystem::path path, std::filesystem::path partial, Fd fd)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(std::move(fd)) {}

  std::filesystem::path path_, partial_;
  Fd fd_;  // nothing after finish()
};

}  // namespace ktraced

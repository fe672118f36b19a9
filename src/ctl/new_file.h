// SPDX-License-Identifier: BSD-2-Clause
// Files that a command makes.
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

// Who may read a file.
struct FileAccess {
  mode_t mode = 0666;          // as for open(2): without what the umask takes away
  std::optional<gid_t> group;  // whose members the mode means; nothing: those of the user's group
};
// What is made of traces is read by those who may read all of them, and by nobody else.
[[nodiscard]] FileAccess access_of_traces(const std::vector<std::string>& directories);

// A file that is there when it is whole, and replaces nothing: until then it is called
// NAME.partial, and gone again if it is not finished. Move-only.
class NewFile {
 public:
  // Fails with ExitCode::usage if there is something with that name, or NAME.partial.
  static Result<NewFile> create(const std::filesystem::path& path, const FileAccess& access = {});
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] Result<> write(std::string_view bytes);
  // Gives it its name. Fails with ExitCode::usage if that has been taken meanwhile.
  [[nodiscard]] Result<> finish();

 private:
  NewFile(std::filesystem::path path, std::filesystem::path partial, Fd fd)
      : path_(std::move(path)), partial_(std::move(partial)), fd_(std::move(fd)) {}

  std::filesystem::path path_, partial_;
  Fd fd_;  // nothing after finish()
};

}  // namespace ktraced

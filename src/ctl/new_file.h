// Files that a command makes.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// A file that is there when it is whole, and replaces nothing: until then it is called
// NAME.partial, and gone again if it is not finished. Move-only.
class NewFile {
 public:
  // Fails with ExitCode::usage if there is something with that name, or NAME.partial.
  static Result<NewFile> create(const std::filesystem::path& path);
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

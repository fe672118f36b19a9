// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/debug_files.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gelf.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace ktraced {
namespace {

constexpr size_t kMinBuildId = 4;  // digits: two name a directory

// libdebuginfod, which brings libcurl along: loaded when it is asked for, and never unloaded.
class Debuginfod {
 public:
  static Result<Debuginfod> load() {
    void* library = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    Debuginfod loaded;
    if (library != nullptr) {
      loaded.begin_ = reinterpret_cast<Begin>(::dlsym(library, "debuginfod_begin"));
      loaded.find_ = reinterpret_cast<Find>(::dlsym(library, "debuginfod_find_debuginfo"));
      loaded.end_ = reinterpret_cast<End>(::dlsym(library, "debuginfod_end"));
    }
    if (loaded.begin_ == nullptr || loaded.find_ == nullptr || loaded.end_ == nullptr)
      return fail(ExitCode::unavailable,
                  "debuginfod needs the library libdebuginfod.so.1 (the package libdebuginfod1)");
    return loaded;
  }

  // An open file, or a negative errno.
  [[nodiscard]] int find(const std::string& build_id) const {
    const std::unique_ptr<void, End> client(begin_(), end_);
    if (!client) return -ENOMEM;
    // A length of 0: the id is in hexadecimal.
    return find_(client.get(), reinterpret_cast<const unsigned char*>(build_id.c_str()), 0,
                 nullptr);
  }

 private:
  using Begin = void* (*)();
  using Find = int (*)(void*, const unsigned char*, int, char**);
  using End = void (*)(void*);

  Begin begin_ = nullptr;
  Find find_ = nullptr;
  End end_ = nullptr;
};

// `file` if it is the debug file of that program.
Result<std::optional<ElfFile>> checked(Result<ElfFile> file, const std::string& build_id) {
  if (!file) return propagate(file);
  if (file->build_id() != build_id)
    return fail(ExitCode::data, "cannot use {}: its build id is {}, not {}", file->name(),
                file->build_id().empty() ? "missing" : file->build_id(), build_id);
  return std::optional(std::move(*file));
}

Result<std::optional<ElfFile>> ask_debuginfod(const std::string& build_id) {
  static const auto debuginfod = Debuginfod::load();
  if (!debuginfod) return std::unexpected(debuginfod.error());
  const int found = debuginfod->find(build_id);
  if (found == -ENOENT) return std::nullopt;
  if (found == -ENOSYS)
    return fail(ExitCode::unavailable, "debuginfod: DEBUGINFOD_URLS names no server");
  if (found < 0)
    return fail(ExitCode::io, "debuginfod: cannot get the debug file of {}: {}", build_id,
                errno_text(-found));
  return checked(ElfFile::read(Fd(found), "the file of debuginfod for " + build_id), build_id);
}

// A path that a file names is only taken below the directory of debug files.
bool is_below(const std::filesystem::path& directory, const std::filesystem::path& path) {
  const auto relative = path.lexically_normal().lexically_relative(directory.lexically_normal());
  return !relative.empty() && *relative.begin() != ".." && *relative.begin() != ".";
}

}  // namespace

Result<std::optional<ElfFile>> DebugFiles::find(const std::string& build_id) const {
  // It becomes a part of a path.
  const bool is_id = build_id.size() >= kMinBuildId &&
                     build_id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_id) return std::nullopt;
  const auto path =
      directory / ".build-id" / build_id.substr(0, 2) / (build_id.substr(2) + ".debug");
  std::error_code error;
  if (std::filesystem::exists(path, error)) return checked(ElfFile::open(path), build_id);
  if (debuginfod) return ask_debuginfod(build_id);
  return std::nullopt;
}

Result<std::optional<ElfFile>> DebugFiles::shared_by(const ElfFile& file) const {
  const std::string link = file.section_text(".gnu_debugaltlink");
  const size_t end = link.find('\0');
  if (end == std::string::npos) return std::nullopt;
  const auto* id = reinterpret_cast<const unsigned char*>(link.data()) + end + 1;
  const auto build_id = fmt::format("{:02x}", fmt::join(std::span(id, link.size() - end - 1), ""));
  auto found = find(build_id);
  const std::filesystem::path named = link.substr(0, end);
  std::error_code error;
  if (!found || *found || !is_below(directory, named) || !std::filesystem::exists(named, error))
    return found;
  return checked(ElfFile::open(named), build_id);
}

}  // namespace ktraced

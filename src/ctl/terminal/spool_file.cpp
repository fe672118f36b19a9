// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/spool_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/text/plain_text.h"
#include "ctl/terminal/output.h"

namespace ktraced {

namespace {

// Not all file systems have files without a name.
Fd make_nameless(const std::filesystem::path& directory) {
  Fd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd) return fd;
  std::string name = directory / ".ktracectl-XXXXXX";
  fd.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (fd) ::unlink(name.c_str());
  return fd;
}

bool may_make_files_in(const char* directory) {
  std::error_code unknown;
  return std::filesystem::is_directory(directory, unknown) && ::access(directory, W_OK | X_OK) == 0;
}

}  // namespace

std::filesystem::path temporary_directory(std::span<const char* const> directories) {
  if (const char* chosen = std::getenv("TMPDIR"); chosen != nullptr && *chosen != '\0')
    return chosen;
  const auto usable = std::ranges::find_if(directories, may_make_files_in);
  return usable != directories.end() ? *usable : directories.front();
}

Result<SpoolFile> SpoolFile::create(const std::filesystem::path& directory) {
  Fd fd = make_nameless(directory);
  if (!fd)
    return fail(ExitCode::io, "cannot write a temporary file in {}: {}",
                printable(directory.string()), errno_text(errno));
  return SpoolFile(directory, std::move(fd));
}

Result<> SpoolFile::append(std::string_view bytes) {
  auto written = write_all(fd_.get(), bytes);
  if (!written)
    return fail(ExitCode::io, "temporary file in {}: {}", printable(directory_.string()),
                written.error().message);
  bytes_ += bytes.size();
  return {};
}

Result<> SpoolFile::extend(uint64_t bytes) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0)
    return fail(ExitCode::io, "temporary file in {}: {}", printable(directory_.string()),
                errno_text(errno));
  bytes_ = bytes;
  return {};
}

Result<> SpoolFile::copy_to(OutputTarget& target) const {
  std::string piece(256U << 10, '\0');
  for (uint64_t at = 0; at < bytes_ && !target.gone();) {
    const size_t size = std::min<uint64_t>(piece.size(), bytes_ - at);
    const ssize_t got = ::pread(fd_.get(), piece.data(), size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(ExitCode::io, "cannot read a temporary file in {}: {}",
                  printable(directory_.string()), got < 0 ? errno_text(errno) : "it is too short");
    if (auto written = target.write({piece.data(), static_cast<size_t>(got)}); !written)
      return written;
    at += static_cast<uint64_t>(got);
  }
  return {};
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "ctl/terminal/output.h"
#include "decoders/text/safe_text.h"
#include "trace/directory/trace_directory.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

// Sets the group and these rights, reduced by the umask. If the group cannot be set, it gets no
// rights.
void give_to_group(const Fd& fd, gid_t group, mode_t rights) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat status{};
  if (::fchown(fd.get(), static_cast<uid_t>(-1), group) != 0 || ::fstat(fd.get(), &status) != 0)
    return;
  static_cast<void>(::fchmod(fd.get(), (status.st_mode & 0777) | (rights & ~mask)));
}

Result<> already_there(const fs::path& path) {
  return fail(ExitCode::usage,
              "cannot write {}: it exists already; remove it or choose another name",
              printable(path.string()));
}

// The status of the file that has the rights of a trace: its manifest, or its archive. False: it
// has none.
bool status_of(const std::string& trace, struct stat& status) {
  if (::stat(trace.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return true;
  const auto directory = TraceDirectory::open(trace);
  const auto manifest = directory ? directory->open_file(kManifestFile) : Result<Fd>();
  return manifest && ::fstat(manifest->get(), &status) == 0;
}

}  // namespace

FileAccess access_of_traces(const std::vector<std::string>& directories) {
  FileAccess access;
  for (const std::string& directory : directories) {
    struct stat status{};
    if (!status_of(directory, status)) {
      access.mode &= 0600;
      continue;
    }
    access.mode &= status.st_mode & 0666;
    if (access.group && *access.group != status.st_gid) access.mode &= 0606;
    access.group = status.st_gid;
  }
  access.mode |= 0600;
  return access;
}

Result<NewFile> NewFile::create(const fs::path& path, const FileAccess& access) {
  fs::path partial = path;
  partial += ".partial";
  if (const auto trace = trace_around(path))
    return fail(ExitCode::usage,
                "cannot write {}: {} is a trace, which nobody may add files to; "
                "choose a place outside of it",
                printable(path.string()), printable(trace->string()));
  if (path_exists(path)) {
    auto taken = already_there(path);
    return propagate(taken);
  }
  // The group gets its rights only after the group has been set.
  const mode_t first = access.group ? access.mode & 0606 : access.mode;
  Fd fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, first));
  if (fd) {
    if (access.group) give_to_group(fd, *access.group, access.mode & 0060);
    return NewFile(path, std::move(partial), std::move(fd));
  }
  if (errno == EEXIST)
    return fail(ExitCode::usage,
                "cannot write {}: {} exists, because another is being written there or was not "
                "finished; remove it or choose another name",
                printable(path.string()), printable(partial.string()));
  return fail(ExitCode::io, "cannot write {}: {}", printable(path.string()), errno_text(errno));
}

NewFile::~NewFile() {
  if (fd_) ::unlink(partial_.c_str());
}

Result<> NewFile::write(std::string_view bytes) {
  auto written = write_all(fd_.get(), bytes);
  if (!written)
    return fail(ExitCode::io, "{}: {}", printable(path_.string()), written.error().message);
  return {};
}

// After a crash, the final name exists only if the file is complete. link() does not replace an
// existing file, on any file system that supports it.
Result<> NewFile::finish() {
  if (::fsync(fd_.get()) != 0)
    return fail(ExitCode::io, "cannot write {}: {}", printable(path_.string()), errno_text(errno));
  if (::link(partial_.c_str(), path_.c_str()) == 0) {
    ::unlink(partial_.c_str());
  } else if (errno == EEXIST) {
    return already_there(path_);
  } else if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    return fail(ExitCode::io, "cannot write {}: {}", printable(path_.string()), errno_text(errno));
  }
  fd_.reset();
  return {};
}

}  // namespace ktraced

#include "ctl/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "ctl/output.h"
#include "decoders/safe_text.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

bool something_at(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

Result<> already_there(const fs::path& path) {
  return fail(ExitCode::usage,
              "cannot write {}: it exists already; remove it or choose another name",
              printable(path.string()));
}

}  // namespace

Result<NewFile> NewFile::create(const fs::path& path) {
  fs::path partial = path;
  partial += ".partial";
  if (something_at(path)) {
    auto taken = already_there(path);
    return pass_on(taken);
  }
  Fd fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd) return NewFile(path, std::move(partial), std::move(fd));
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

// A name that is there after a crash stands for a file that is whole. link() does not replace what
// is there, on any file system that has it.
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

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/archive/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/limits.h"
#include "trace/directory/trace_files.h"
#include "trace/directory/trace_reader.h"

namespace ktraced {
namespace {

constexpr size_t kPackedPiece = size_t{256} << 10;  // bytes of a read

class Packer {
 public:
  Packer(OutputTarget& target, const StopSignals& signals) : target_(target), signals_(signals) {}

  Result<> open();
  // A file of the directory, as `entry`.
  Result<> add(const TraceDirectory& directory, const std::string& file, const std::string& entry);
  Result<> finish();
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(archive* writer) const {
      archive_write_fail(writer);  // no end of an archive that is incomplete
      archive_write_free(writer);
    }
  };

  static la_ssize_t write(archive* writer, void* packer, const void* data, size_t size);
  Result<> add_header(const std::string& entry, const struct stat& file);
  Result<> add_content(int fd, const TraceDirectory& directory, const std::string& file,
                       uint64_t size);
  // The error of the last call of the library.
  [[nodiscard]] std::unexpected<Error> failed();

  OutputTarget& target_;
  const StopSignals& signals_;
  Result<> written_;  // the last write
  std::string buffer_ = std::string(kPackedPiece, '\0');
  uint64_t bytes_ = 0;
  std::unique_ptr<archive, Free> writer_{archive_write_new()};
};

la_ssize_t Packer::write(archive* writer, void* packer, const void* data, size_t size) {
  auto& self = *static_cast<Packer*>(packer);
  self.written_ = self.target_.write({static_cast<const char*>(data), size});
  if (self.written_) return static_cast<la_ssize_t>(size);
  archive_set_error(writer, EIO, "cannot write");
  return ARCHIVE_FATAL;
}

std::unexpected<Error> Packer::failed() {
  if (!written_) return propagate(written_);
  const char* text = archive_error_string(writer_.get());
  return fail(ExitCode::os, "cannot make the archive: {}",
              text != nullptr ? text : "unknown error");
}

// The form of GNU tar has names as bytes, whatever the locale.
Result<> Packer::open() {
  archive* writer = writer_.get();
  if (writer == nullptr) return std::unexpected(out_of_memory());
  if (archive_write_add_filter_zstd(writer) != ARCHIVE_OK)
    return fail(ExitCode::unavailable,
                "cannot make the archive: the library libarchive lacks zstd");
  if (archive_write_set_format_gnutar(writer) != ARCHIVE_OK ||
      archive_write_set_bytes_in_last_block(writer, 1) != ARCHIVE_OK ||
      archive_write_open(writer, this, nullptr, &Packer::write, nullptr) != ARCHIVE_OK)
    return failed();
  return {};
}

Result<> Packer::add(const TraceDirectory& directory, const std::string& file,
                     const std::string& entry) {
  if (target_.gone()) return {};
  auto fd = directory.open_file(file);
  if (!fd) return propagate(fd);
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0)
    return std::unexpected(unreadable(directory.path() / file, errno));
  if (auto added = add_header(entry, status); !added) return added;
  return add_content(fd->get(), directory, file, static_cast<uint64_t>(status.st_size));
}

Result<> Packer::add_header(const std::string& entry, const struct stat& file) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> header(archive_entry_new(),
                                                                        &archive_entry_free);
  if (!header) return std::unexpected(out_of_memory());
  archive_entry_set_pathname(header.get(), entry.c_str());
  archive_entry_set_filetype(header.get(), AE_IFREG);
  archive_entry_set_perm(header.get(), file.st_mode & 0777);
  archive_entry_set_size(header.get(), file.st_size);
  archive_entry_set_mtime(header.get(), file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
  const int added = archive_write_header(writer_.get(), header.get());
  if (added != ARCHIVE_OK && added != ARCHIVE_WARN) return failed();
  return {};
}

Result<> Packer::add_content(int fd, const TraceDirectory& directory, const std::string& file,
                             uint64_t size) {
  for (uint64_t left = size; left > 0 && !target_.gone();) {
    if (signals_.stopped())
      return fail(ExitCode::io, "stopped by a signal: the archive is incomplete");
    const ssize_t got = ::read(fd, buffer_.data(), std::min<uint64_t>(buffer_.size(), left));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(ExitCode::io, "cannot read {}: {}", (directory.path() / file).string(),
                  got < 0 ? errno_text(errno) : "it has become shorter");
    if (archive_write_data(writer_.get(), buffer_.data(), static_cast<size_t>(got)) != got)
      return failed();
    left -= static_cast<uint64_t>(got);
  }
  bytes_ += size;
  return {};
}

Result<> Packer::finish() {
  if (target_.gone()) return {};
  if (archive_write_close(writer_.get()) != ARCHIVE_OK) return failed();
  return {};
}

Result<> add_packets(Packer& packer, const TraceDirectory& trace, const std::string& name) {
  auto packets = trace.subdirectory(kPacketDirectory);
  if (!packets) return propagate(packets);
  auto files = packets->names(kPacketFilesMax + 1);
  if (!files) return propagate(files);
  if (files->size() > kPacketFilesMax)
    return fail(ExitCode::data, "{} has more than {} files", packets->path().string(),
                kPacketFilesMax);
  std::erase_if(
      *files, [](const std::string& file) { return file != kMetadataFile && !cpu_of_file(file); });
  std::ranges::sort(*files);
  for (const std::string& file : *files)
    if (auto added = packer.add(*packets, file, name + "/" + kPacketDirectory + "/" + file); !added)
      return added;
  return {};
}

Result<> add_files(Packer& packer, const TraceDirectory& trace, const std::string& name) {
  for (const std::string file : kTraceFiles) {
    if (file != kManifestFile && !trace.contains(file)) continue;
    if (auto added = packer.add(trace, file, name + "/" + file); !added) return added;
  }
  return add_packets(packer, trace, name);
}

}  // namespace

Result<uint64_t> pack_trace(const TraceDirectory& trace, const std::string& name,
                            OutputTarget& target, const StopSignals& signals) {
  Packer packer(target, signals);
  if (auto opened = packer.open(); !opened) return propagate(opened);
  auto added = add_files(packer, trace, name);
  // A file that was removed may be missing without an error.
  if (added || added.error().code == ExitCode::data)
    if (auto there = TraceReader::check_not_removed(trace.path()); !there) return propagate(there);
  if (!added) return propagate(added);
  if (auto finished = packer.finish(); !finished) return propagate(finished);
  return packer.bytes();
}

}  // namespace ktraced

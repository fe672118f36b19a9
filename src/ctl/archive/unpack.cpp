// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/archive/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files/read_file.h"
#include "base/limits.h"
#include "base/text/plain_text.h"
#include "ctl/archive/trace_files.h"
#include "ctl/terminal/spool_file.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr size_t kArchiveBlock = size_t{64} << 10;    // bytes that are read at a time
constexpr size_t kUnpackedPiece = size_t{256} << 10;  // unpacked bytes at a time
constexpr uint64_t kEntryBytes = 512;                 // of an entry
constexpr int kNoArchive = EILSEQ;  // the errno of the library for a file of another form

// Where an entry belongs in a trace.
struct TracePlace {
  std::string_view directory;  // of the trace; may be empty
  std::string name;            // "ctf/cpu0"
};

// The words of a path, without those that mean nothing.
std::vector<std::string_view> words_of_path(std::string_view path) {
  std::vector<std::string_view> words;
  while (!path.empty()) {
    const std::string_view word = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(word.size() + 1, path.size()));
    if (!word.empty() && word != ".") words.push_back(word);
  }
  return words;
}

// Nothing for a file that a reader does not need.
std::optional<TracePlace> place_in_trace(const std::vector<std::string_view>& words) {
  if (words.empty()) return std::nullopt;
  const std::string_view file = words.back();
  const bool has_packets =
      words.size() >= 2 && words[words.size() - 2] == kPacketDirectory && is_packet_file(file);
  if (!has_packets && std::ranges::find(kArchivedFiles, file) == kArchivedFiles.end())
    return std::nullopt;
  const size_t inside = has_packets ? 2 : 1;
  if (words.size() > inside + 1) return std::nullopt;
  return TracePlace{
      .directory = words.size() > inside ? words.front() : std::string_view(),
      .name = has_packets ? fmt::format("{}/{}", kPacketDirectory, file) : std::string(file)};
}

fs::path temporary_directory() {
  std::error_code unknown;
  const fs::path directory = fs::temp_directory_path(unknown);
  return unknown ? "/tmp" : directory;
}

class Unpacker {
 public:
  Unpacker(const fs::path& path, uint64_t max_bytes)
      : path_(path), shown_path_(printable(path.string())), max_bytes_(max_bytes) {}

  Result<> open();
  Result<UnpackedTrace> unpack();

 private:
  struct Free {
    void operator()(archive* reader) const { archive_read_free(reader); }
  };

  Result<> take(archive_entry* entry);
  Result<> check_entry(archive_entry* entry, const std::vector<std::string_view>& words);
  Result<> check_place(const TracePlace& place);
  // Counts an entry, and refuses it if there is too much.
  Result<> count(archive_entry* entry);
  Result<Fd> copy_data(uint64_t size);
  [[nodiscard]] std::unexpected<Error> refused(std::string_view why) const;
  [[nodiscard]] std::unexpected<Error> too_large() const;
  // The error of the last call of the library.
  [[nodiscard]] std::unexpected<Error> damaged() const;

  const fs::path path_;
  const std::string shown_path_;
  const uint64_t max_bytes_;
  Fd file_;
  std::unique_ptr<archive, Free> reader_{archive_read_new()};
  std::string buffer_ = std::string(kUnpackedPiece, '\0');
  std::string entry_;  // the name of the current one
  uint64_t bytes_ = 0;
  std::optional<std::string> directory_;  // of the trace
  UnpackedFiles files_;
};

std::unexpected<Error> Unpacker::refused(std::string_view why) const {
  return fail(ExitCode::data, "{} is refused: its entry {} {}", shown_path_, printable(entry_),
              why);
}

std::unexpected<Error> Unpacker::too_large() const {
  return fail(ExitCode::data,
              "{} is too large: unpacked it has more than {}; unpack it with 'tar -xf' and name "
              "its directory",
              shown_path_, bytes_text(max_bytes_));
}

std::unexpected<Error> Unpacker::damaged() const {
  const char* text = archive_error_string(reader_.get());
  const std::string why = printable(text != nullptr ? text : "unknown error");
  if (archive_errno(reader_.get()) == EIO)
    return fail(ExitCode::io, "cannot read {}: {}", shown_path_, why);
  return fail(ExitCode::data, "{} is damaged near byte {}{}: {}; if it is a copy, copy it again",
              shown_path_, ::lseek(file_.get(), 0, SEEK_CUR),
              entry_.empty() ? "" : ", in " + printable(entry_), why);
}

Result<> Unpacker::open() {
  if (!reader_) return std::unexpected(out_of_memory());
  auto file = open_regular_at(AT_FDCWD, path_.string());
  if (!file && file.error().error != 0)
    return std::unexpected(unreadable(path_, file.error().error));
  if (!file)
    return fail(ExitCode::data, "{} is {}, not a regular file", shown_path_,
                kind_of_file(file.error().mode));
  file_ = std::move(*file);
  // Without its own decompression the library would run a program.
  if (archive_read_support_format_tar(reader_.get()) != ARCHIVE_OK ||
      archive_read_support_filter_zstd(reader_.get()) != ARCHIVE_OK)
    return fail(ExitCode::unavailable, "cannot read {}: the library libarchive lacks zstd",
                shown_path_);
  if (archive_read_open_fd(reader_.get(), file_.get(), kArchiveBlock) == ARCHIVE_OK) return {};
  if (archive_errno(reader_.get()) != kNoArchive) return damaged();
  return fail(ExitCode::data,
              "{} is neither a trace directory nor an archive of one (.tar.zst or .tar)",
              shown_path_);
}

Result<UnpackedTrace> Unpacker::unpack() {
  for (;;) {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(reader_.get(), &entry);
    if (got == ARCHIVE_EOF) break;
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) return damaged();
    if (auto taken = take(entry); !taken) return propagate(taken);
  }
  if (!files_.contains(kManifestFile))
    return fail(ExitCode::data,
                "{} has no trace: {} is missing; 'ktracectl snapshot export' writes archives of "
                "traces",
                shown_path_, kManifestFile);
  return UnpackedTrace{.name = std::move(*directory_), .files = std::move(files_)};
}

Result<> Unpacker::take(archive_entry* entry) {
  // A name that the locale does not have is only there as UTF-8.
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  entry_ = name != nullptr ? name : "";
  const auto words = words_of_path(entry_);
  if (auto good = check_entry(entry, words); !good) return good;
  if (auto good = count(entry); !good) return good;
  if (archive_entry_filetype(entry) == AE_IFDIR) return {};
  auto place = place_in_trace(words);
  if (!place) return {};
  if (auto good = check_place(*place); !good) return good;
  auto file = copy_data(static_cast<uint64_t>(archive_entry_size(entry)));
  if (!file) return propagate(file);
  files_.emplace(std::move(place->name), std::move(*file));
  return {};
}

Result<> Unpacker::check_entry(archive_entry* entry, const std::vector<std::string_view>& words) {
  if (entry_.empty()) return refused("has no name");
  if (entry_.starts_with('/')) return refused("has an absolute path");
  if (std::ranges::find(words, "..") != words.end())
    return refused("has a path that leads out of it");
  if (archive_entry_hardlink(entry) != nullptr) return refused("is a hard link");
  const auto type = archive_entry_filetype(entry);
  if (type != AE_IFREG && type != AE_IFDIR)
    return refused(fmt::format("is {}", kind_of_file(type)));
  return {};
}

Result<> Unpacker::check_place(const TracePlace& place) {
  if (directory_ && *directory_ != place.directory)
    return fail(ExitCode::data,
                "{} has several traces, in '{}' and '{}': unpack it with 'tar -xf' and name the "
                "directories",
                shown_path_, printable(*directory_), printable(place.directory));
  directory_ = place.directory;
  return files_.contains(place.name) ? refused("is there twice") : Result<>();
}

Result<> Unpacker::count(archive_entry* entry) {
  const auto size = static_cast<uint64_t>(std::max<int64_t>(archive_entry_size(entry), 0));
  if (size > max_bytes_) return too_large();
  bytes_ += kEntryBytes + size;
  const auto read = static_cast<uint64_t>(archive_filter_bytes(reader_.get(), 0));
  return std::max(bytes_, read) > max_bytes_ ? too_large() : Result<>();
}

Result<Fd> Unpacker::copy_data(uint64_t size) {
  auto file = SpoolFile::create(temporary_directory());
  if (!file) return propagate(file);
  for (;;) {
    const la_ssize_t got = archive_read_data(reader_.get(), buffer_.data(), buffer_.size());
    if (got == 0) return std::move(*file).release();
    if (got < 0) return damaged();
    if (file->bytes() + static_cast<uint64_t>(got) > size) return refused("is longer than it says");
    auto written = file->append({buffer_.data(), static_cast<size_t>(got)});
    if (!written)
      return fail(ExitCode::io,
                  "cannot unpack {}: {}; set TMPDIR to a directory on a disk with more space",
                  shown_path_, written.error().message);
  }
}

}  // namespace

Result<UnpackedTrace> unpack_trace(const fs::path& path, uint64_t max_bytes) {
  Unpacker unpacker(path, max_bytes);
  if (auto opened = unpacker.open(); !opened) return propagate(opened);
  return unpacker.unpack();
}

}  // namespace ktraced

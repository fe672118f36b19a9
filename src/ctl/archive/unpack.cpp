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
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/read_file.h"
#include "base/limits.h"
#include "base/text/plain_text.h"
#include "ctl/terminal/spool_file.h"
#include "ctl/terminal/table.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr size_t kArchiveBlock = size_t{64} << 10;    // bytes that are read at a time
constexpr size_t kUnpackedPiece = size_t{256} << 10;  // unpacked bytes at a time
constexpr uint64_t kEntryBytes = 512;                 // of an entry
constexpr int kNoArchive = EILSEQ;  // the errno of the library for a file of another form

// Where an entry belongs in a trace.
struct TracePlace {
  fs::path directory;           // of the trace; may be empty
  std::string name;             // "ctf/cpu0"
  std::optional<uint32_t> cpu;  // whose packets it has
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
  const bool in_packets = words.size() >= 2 && words[words.size() - 2] == kPacketDirectory;
  const auto cpu = in_packets ? cpu_of_file(file) : std::nullopt;
  if (!cpu && !is_trace_file(file)) return std::nullopt;
  TracePlace place{.directory = {},
                   .name = cpu ? fmt::format("{}/{}", kPacketDirectory, file) : std::string(file),
                   .cpu = cpu};
  const size_t inside = cpu ? 2 : 1;
  for (const std::string_view word : words | std::views::take(words.size() - inside))
    place.directory /= word;
  return place;
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
  // Counts bytes that are kept, and refuses the archive if they, or those that were read, are too
  // many.
  Result<> count(uint64_t bytes);
  // Reads the content of an entry that is not needed.
  Result<> skip_data();
  Result<Fd> copy_data(uint64_t size);
  [[nodiscard]] std::unexpected<Error> refused(std::string_view why) const;
  [[nodiscard]] std::unexpected<Error> too_large() const;
  [[nodiscard]] std::unexpected<Error> not_written(const Error& why) const;
  // The error of the last call of the library.
  [[nodiscard]] std::unexpected<Error> damaged() const;

  const fs::path path_;
  const std::string shown_path_;
  const uint64_t max_bytes_;
  Fd file_;
  std::unique_ptr<archive, Free> reader_{archive_read_new()};
  std::string buffer_ = std::string(kUnpackedPiece, '\0');
  std::string entry_;                  // the name of the current one
  uint64_t bytes_ = 0;                 // that are kept, of all entries
  std::optional<fs::path> directory_;  // of the trace
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

std::unexpected<Error> Unpacker::not_written(const Error& why) const {
  return fail(ExitCode::io,
              "cannot unpack {}: {}; set TMPDIR to a directory on a disk with more space",
              shown_path_, why.message);
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
  return UnpackedTrace{.directory = std::move(*directory_), .files = std::move(files_)};
}

Result<> Unpacker::take(archive_entry* entry) {
  // A name that the locale does not have is only there as UTF-8.
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  entry_ = name != nullptr ? name : "";
  const auto words = words_of_path(entry_);
  if (auto good = check_entry(entry, words); !good) return good;
  if (auto good = count(kEntryBytes); !good) return good;
  const bool is_file = archive_entry_filetype(entry) == AE_IFREG;
  auto place = is_file ? place_in_trace(words) : std::nullopt;
  if (!place) return skip_data();
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
  // Some headers give a second size, which the library does not check.
  if (archive_entry_size_is_set(entry) == 0 || archive_entry_size(entry) < 0)
    return refused("has no valid size");
  return {};
}

Result<> Unpacker::check_place(const TracePlace& place) {
  if (directory_ && *directory_ != place.directory)
    return fail(ExitCode::data,
                "{} has several traces, in '{}' and '{}': unpack it with 'tar -xf' and name the "
                "directories",
                shown_path_, printable(directory_->string()), printable(place.directory.string()));
  directory_ = place.directory;
  if (place.cpu && *place.cpu >= kPacketFilesMax)
    return refused(fmt::format("has a CPU above {}", kPacketFilesMax - 1));
  return files_.contains(place.name) ? refused("is there twice") : Result<>();
}

Result<> Unpacker::count(uint64_t bytes) {
  bytes_ += bytes;
  const auto read = static_cast<uint64_t>(archive_filter_bytes(reader_.get(), 0));
  return std::max(bytes_, read) > max_bytes_ ? too_large() : Result<>();
}

// The library would skip it in one step, and a sparse file can have more data than its size says.
Result<> Unpacker::skip_data() {
  for (;;) {
    const void* data = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int got = archive_read_data_block(reader_.get(), &data, &size, &offset);
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN && got != ARCHIVE_EOF) return damaged();
    if (auto good = count(0); !good || got == ARCHIVE_EOF) return good;
  }
}

Result<Fd> Unpacker::copy_data(uint64_t size) {
  if (size > max_bytes_ - bytes_) return too_large();  // without filling the disk first
  auto file = SpoolFile::create(temporary_directory());
  if (!file) return not_written(file.error());
  for (;;) {
    const la_ssize_t got = archive_read_data(reader_.get(), buffer_.data(), buffer_.size());
    if (got == 0) break;
    if (got < 0) return damaged();
    const auto bytes = static_cast<uint64_t>(got);
    if (file->bytes() + bytes > size) return refused("is longer than it says");
    if (auto good = count(bytes); !good) return propagate(good);
    if (auto written = file->append({buffer_.data(), bytes}); !written)
      return not_written(written.error());
  }
  // The library leaves out the hole at the end of a sparse file.
  if (auto good = count(size - file->bytes()); !good) return propagate(good);
  if (auto extended = file->extend(size); !extended) return not_written(extended.error());
  return std::move(*file).release();
}

}  // namespace

Result<UnpackedTrace> unpack_trace(const fs::path& path, uint64_t max_bytes) {
  Unpacker unpacker(path, max_bytes);
  if (auto opened = unpacker.open(); !opened) return propagate(opened);
  return unpacker.unpack();
}

}  // namespace ktraced

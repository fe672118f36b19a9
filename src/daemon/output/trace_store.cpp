// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_store.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <tuple>

#include "base/files/directory.h"
#include "base/files/partial_directory.h"
#include "base/text/plain_text.h"
#include "base/text/suggest.h"
#include "daemon/output/keep_mark.h"
#include "daemon/output/trace_order.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameMax = 200;  // leaves room for the suffix of an unfinished trace
constexpr const char* kRemoving = ".removing-";  // prefix that no trace name can have
constexpr const char* kLockFile = ".ktraced.lock";
// In addition to its packets, a trace has a few small files.
constexpr uint64_t kSmallFilesBytes = 4U << 20;

struct stat status_of(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) status = {};
  return status;
}

// A real directory, not a link, that contains a manifest. Traces with unreadable manifests are
// listed as such.
bool is_trace(const fs::path& path) {
  return S_ISDIR(status_of(path).st_mode) && status_of(path / kManifestFile).st_mode != 0;
}

bool is_part_of_trace(std::string_view name) {
  return is_trace_file(name) || name == kPacketDirectory || name == kKeepMark;
}

// Visits nothing if the directory does not exist yet.
Result<> for_each_in_store(const fs::path& directory, auto&& visit) {
  auto read = for_each_entry(directory, visit);
  return !read && read.error().code == ExitCode::data ? Result<>() : read;
}

// Hidden entries are in no list.
bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// What is in the directory of a trace, finished or not.
struct Contents {
  uint64_t bytes = 0;  // of all files
  std::string other;   // the name of something that no trace has; empty: there is none
};

uint64_t bytes_of_file(const fs::path& path) {
  const struct stat status = status_of(path);
  return S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
}

// What a trace has. Fails if it is no directory, or not readable; what cannot be read below it has
// no bytes.
Result<Contents> contents_of(const fs::path& trace) {
  if (!S_ISDIR(status_of(trace).st_mode))
    return fail(ExitCode::data, "{} is no directory", trace.string());
  Contents contents;
  auto read = for_each_entry(trace, [&](const fs::directory_entry& part) {
    const std::string name = part.path().filename();
    if (!is_part_of_trace(name)) contents.other = name;
    contents.bytes += bytes_of_file(part.path());
  });
  if (!read) return propagate(read);
  if (S_ISDIR(status_of(trace / kPacketDirectory).st_mode))
    static_cast<void>(for_each_entry(
        trace / kPacketDirectory,
        [&](const fs::directory_entry& part) { contents.bytes += bytes_of_file(part.path()); }));
  return contents;
}

bool has_name_of_unfinished(const fs::path& path) {
  return path.filename().string().ends_with(kPartialSuffix) && !is_hidden(path);
}

bool older(const StoredTrace& a, const StoredTrace& b) {
  return std::tie(a.written_ns, a.name) < std::tie(b.written_ns, b.name);
}

StoredTrace stored_trace(const fs::path& path) {
  const auto contents = contents_of(path);
  return {.name = path.filename(),
          .bytes = contents ? contents->bytes : 0,
          .written_ns = written_ns(path),
          .kept = has_keep_mark(path).value_or(true),
          .has_other_files = !contents || !contents->other.empty()};
}

// Removes a trace, finished or not, but never what else somebody has put there. It is renamed
// first, so that a partly removed trace is never read.
Result<> remove_at(const fs::path& path) {
  auto store = open_trusted_directory(path.parent_path());
  if (!store) return propagate(store);
  const fs::path trace = path_in(store->get(), path.filename());
  const auto contents = contents_of(trace);
  if (!contents)
    return fail(ExitCode::io, "cannot remove {}: it is no directory, or cannot be read",
                path.string());
  if (!contents->other.empty())
    return fail(ExitCode::io,
                "cannot remove {}: '{}' in it is no part of a trace; move it elsewhere, or remove "
                "the directory yourself",
                path.string(), contents->other);
  const fs::path removing = path_in(store->get(), kRemoving + path.filename().string());
  std::error_code error;
  fs::remove_all(removing, error);  // left by an earlier removal that failed
  fs::rename(trace, removing, error);
  if (!error) fs::remove_all(removing, error);
  if (error) return fail(ExitCode::io, "cannot remove {}: {}", path.string(), error.message());
  return {};
}

}  // namespace

uint64_t bytes_of_trace(const fs::path& trace) {
  auto contents = contents_of(trace);
  return contents ? contents->bytes : 0;
}

Result<> check_trace_name(std::string_view name) {
  auto refuse = [](std::string_view why) {
    return fail(ExitCode::usage, "a snapshot cannot have this name: {}", why);
  };
  if (name.empty()) return refuse("it is empty");
  if (name.size() > kNameMax)
    return refuse(
        fmt::format("it is {} bytes long, at most {} are possible", name.size(), kNameMax));
  if (auto unfit = unfit_for_a_line(name); !unfit.empty())
    return refuse(fmt::format("it contains {}", unfit));
  if (name.find_first_not_of(' ') == std::string_view::npos) return refuse("it is blank");
  if (name.find('/') != std::string_view::npos)
    return refuse("it contains '/'; where snapshots are is set by flight.directory");
  if (name.starts_with('.')) return refuse("it begins with '.'");
  if (name.starts_with('-')) return refuse("it begins with '-', as options do");
  if (name.find("..") != std::string_view::npos) return refuse("it contains '..'");
  if (name.ends_with(kPartialSuffix))
    return refuse(fmt::format("'{}' ends the names of unfinished ones", kPartialSuffix));
  return {};
}

std::string trace_name(std::string_view prefix, uint64_t realtime_ns,
                       const std::function<bool(const std::string&)>& taken) {
  for (uint64_t milliseconds = realtime_ns / 1'000'000U;; ++milliseconds) {
    const auto seconds = static_cast<time_t>(milliseconds / 1000);
    tm utc{};
    ::gmtime_r(&seconds, &utc);
    std::string name = fmt::format("{}-{:04}{:02}{:02}-{:02}{:02}{:02}-{:03}", prefix,
                                   utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                                   utc.tm_min, utc.tm_sec, milliseconds % 1000);
    if (!taken(name)) return name;
  }
}

bool TraceStore::taken(const std::string& name) const {
  return status_of(path_of(name)).st_mode != 0 ||
         status_of(path_of(name + kPartialSuffix)).st_mode != 0;
}

Result<> TraceStore::check_room(uint64_t bytes) const {
  struct statvfs space{};
  if (::statvfs(directory_.c_str(), &space) != 0) return {};
  const uint64_t free = uint64_t{space.f_bavail} * space.f_frsize;
  if (free < bytes + kSmallFilesBytes)
    return fail(ExitCode::io,
                "not enough room in {}: {} MiB are needed and {} MiB are free; make room there, "
                "or set another directory in the configuration",
                directory_.string(), (bytes + kSmallFilesBytes + (1U << 20) - 1) >> 20, free >> 20);
  return {};
}

Result<> TraceStore::check_descriptors(size_t count) const {
  std::vector<Fd> opened;
  while (opened.size() < count) {
    Fd fd(::open("/", O_PATH | O_CLOEXEC));
    if (!fd)
      return fail(ExitCode::io, "cannot write to the directory {}: {}", directory_.string(),
                  errno_text(errno));
    opened.push_back(std::move(fd));
  }
  return {};
}

Result<std::vector<StoredTrace>> TraceStore::list(std::string_view prefix) const {
  std::vector<StoredTrace> traces;
  auto read = for_each_in_store(directory_, [&](const fs::directory_entry& entry) {
    const fs::path& path = entry.path();
    const std::string name = path.filename();
    if (name.starts_with(prefix) && !name.ends_with(kPartialSuffix) && !is_hidden(path) &&
        is_trace(path))
      traces.push_back(stored_trace(path));
  });
  if (!read) return propagate(read);
  std::ranges::sort(traces, older);
  return traces;
}

std::unexpected<Error> TraceStore::unknown_snapshot(const std::string& name) const {
  const auto traces = list();
  if (!traces) return std::unexpected(traces.error());
  std::vector<std::string> names;
  for (const StoredTrace& trace : *traces) names.push_back(trace.name);
  std::ranges::sort(names);
  return fail(ExitCode::usage, "{}",
              unknown_name(
                  "snapshot", name, names,
                  fmt::format("'ktracectl snapshot list' lists those in {}", directory_.string())));
}

Result<> TraceStore::check_exists(const std::string& name) const {
  if (auto checked = check_trace_name(name); !checked) return checked;
  if (!is_trace(path_of(name))) return unknown_snapshot(name);
  return {};
}

Result<> TraceStore::remove(const std::string& name) const {
  if (auto found = check_exists(name); !found) return found;
  return remove_at(path_of(name));
}

Result<> TraceStore::remove_listed(const std::string& name) const {
  return remove_at(path_of(name));
}

Result<> TraceStore::claim() {
  auto directory = open_trusted_directory(directory_, Missing::is_made);
  if (!directory)
    return fail(directory.error().code, "{}; set another in the configuration",
                directory.error().message);
  if (::faccessat(directory->get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    return fail(ExitCode::io,
                "cannot write to the directory {}: {}; make it writable for ktraced, or set "
                "another in the configuration",
                directory_.string(), errno_text(errno));
  if (lock_.held_in(directory->get())) return {};
  if (auto checked = check_shared_directory(directory->get(), directory_); !checked) return checked;
  auto lock =
      DirectoryLock::take(std::move(*directory), directory_, kLockFile, DirectoryLock::Kind::file);
  if (!lock && lock.error().code == ExitCode::unavailable)
    return fail(ExitCode::unavailable,
                "another ktraced writes to {}: stop it, or set another directory for one of them",
                directory_.string());
  if (!lock) return propagate(lock);
  lock_ = std::move(*lock);
  return {};
}

void TraceStore::finish_removals() const {
  auto store = open_trusted_directory(directory_);
  if (!store) return;
  std::vector<fs::path> removing;
  const auto read =
      for_each_entry(path_in(store->get(), "."), [&](const fs::directory_entry& entry) {
        const fs::path& path = entry.path();
        if (!path.filename().string().starts_with(kRemoving)) return;
        if (const auto contents = contents_of(path); contents && contents->other.empty())
          removing.push_back(path);
      });
  if (!read) spdlog::warn("half-removed traces are left: {}", read.error().message);
  for (const fs::path& path : removing) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error)
      spdlog::warn("cannot remove the rest of a trace, {}: {}",
                   path_of(path.filename().string()).string(), error.message());
  }
}

Result<std::vector<StoredTrace>> TraceStore::list_unfinished(std::string_view prefix) const {
  std::vector<StoredTrace> traces;
  auto read = for_each_in_store(directory_, [&](const fs::directory_entry& entry) {
    const fs::path& path = entry.path();
    if (!path.filename().string().starts_with(prefix) || !has_name_of_unfinished(path)) return;
    if (StoredTrace trace = stored_trace(path); !trace.has_other_files)
      traces.push_back(std::move(trace));
  });
  if (!read) return propagate(read);
  std::ranges::sort(traces, older);
  return traces;
}

Result<> TraceStore::remove_any(const std::string& name) const {
  if (!name.ends_with(kPartialSuffix)) return remove(name);
  const fs::path path = path_of(name);
  if (!has_name_of_unfinished(path) || status_of(path).st_mode == 0)
    return fail(ExitCode::usage, "there is no unfinished trace '{}' in {}", name,
                directory_.string());
  return remove_at(path);
}

}  // namespace ktraced

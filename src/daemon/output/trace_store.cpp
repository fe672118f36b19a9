// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_store.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <tuple>

#include "base/files/directory.h"
#include "base/text/plain_text.h"
#include "base/text/suggest.h"
#include "daemon/output/keep_mark.h"
#include "daemon/output/trace_order.h"
#include "trace/directory/name_files.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameMax = 200;  // leaves room for the suffix of an unfinished trace
constexpr std::string_view kUnfinished = ".partial";
constexpr std::string_view kManifest = "manifest.json";
constexpr std::string_view kRemoving = ".removing-";  // prefix that no trace name can have
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
  return S_ISDIR(status_of(path).st_mode) && status_of(path / kManifest).st_mode != 0;
}

// The files of a trace.
constexpr auto kParts =
    std::to_array<std::string_view>({kManifest, kTasksFile, kCachesFile, kCgroupsFile,
                                     kCommandsFile, kSymbolsFile, "ctf", kKeepMark});

// Visits nothing if the directory does not exist yet.
Result<> for_each_in_store(const fs::path& directory, auto&& visit) {
  auto read = for_each_entry(directory, visit);
  return !read && read.error().code == ExitCode::data ? Result<>() : read;
}

// Hidden entries are in no list.
bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// The name of something in a directory that no trace has; empty: there is none.
Result<std::string> other_part(const fs::path& path) {
  std::string other;
  auto read = for_each_entry(path, [&](const fs::directory_entry& part) {
    const std::string name = part.path().filename();
    if (std::ranges::find(kParts, name) == kParts.end()) other = name;
  });
  if (!read) return propagate(read);
  return other;
}

// A directory that has only files of a trace, though perhaps not all of them.
bool has_parts_only(const fs::path& path) {
  if (!S_ISDIR(status_of(path).st_mode)) return false;
  const auto other = other_part(path);
  return other && other->empty();
}

bool is_unfinished(const fs::path& path) {
  return path.filename().string().ends_with(kUnfinished) && !is_hidden(path) &&
         has_parts_only(path);
}

// A trace has a few files and one per CPU. Larger directories are not searched.
constexpr size_t kEntriesMax = 20'000;

bool older(const StoredTrace& a, const StoredTrace& b) {
  return std::tie(a.written_ns, a.name) < std::tie(b.written_ns, b.name);
}

StoredTrace stored_trace(const fs::path& path) {
  return {.name = path.filename(),
          .bytes = bytes_of_trace(path),
          .written_ns = written_ns(path),
          .kept = has_keep_mark(path).value_or(true),
          .has_other_files = !has_parts_only(path)};
}

// Removes a trace, finished or not, but never what else somebody has put there. It is renamed
// first, so that a partly removed trace is never read.
Result<> remove_at(const fs::path& path) {
  auto other = other_part(path);
  if (!other) return propagate(other);
  if (!other->empty())
    return fail(ExitCode::io,
                "cannot remove {}: '{}' in it is no part of a trace; move it elsewhere, or remove "
                "the directory yourself",
                path.string(), *other);
  const fs::path removing =
      path.parent_path() / (std::string(kRemoving) + path.filename().string());
  std::error_code error;
  fs::remove_all(removing, error);  // left by an earlier removal that failed
  fs::rename(path, removing, error);
  if (!error) fs::remove_all(removing, error);
  if (error) return fail(ExitCode::io, "cannot remove {}: {}", path.string(), error.message());
  return {};
}

}  // namespace

uint64_t bytes_of_trace(const fs::path& trace) {
  uint64_t sum = 0;
  size_t entries = 0;
  for (const fs::path& directory : {trace, trace / "ctf"}) {
    if (!S_ISDIR(status_of(directory).st_mode)) continue;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end;
         !error && it != end && ++entries < kEntriesMax; it.increment(error)) {
      const struct stat status = status_of(it->path());
      if (S_ISREG(status.st_mode)) sum += static_cast<uint64_t>(status.st_size);
    }
  }
  return sum;
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
  if (name.ends_with(kUnfinished))
    return refuse(fmt::format("'{}' ends the names of unfinished ones", kUnfinished));
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
         status_of(path_of(name + std::string(kUnfinished))).st_mode != 0;
}

Result<> TraceStore::make_directory() const {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error)
    return fail(ExitCode::io, "cannot make the directory {}: {}; set another in the configuration",
                directory_.string(), error.message());
  if (::access(directory_.c_str(), W_OK | X_OK) != 0)
    return fail(ExitCode::io,
                "cannot write to the directory {}: {}; make it writable for ktraced, or set "
                "another in the configuration",
                directory_.string(), errno_text(errno));
  return {};
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
    if (name.starts_with(prefix) && !name.ends_with(kUnfinished) && !is_hidden(path) &&
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
  if (auto made = make_directory(); !made) return made;
  if (lock_.held_in(directory_)) return {};
  Fd directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory)
    return fail(ExitCode::io, "cannot open {}: {}", directory_.string(), errno_text(errno));
  if (auto checked = check_shared_directory(directory.get(), directory_); !checked) return checked;
  auto lock =
      DirectoryLock::take(std::move(directory), directory_, kLockFile, DirectoryLock::Kind::file);
  if (!lock && lock.error().code == ExitCode::unavailable)
    return fail(ExitCode::unavailable,
                "another ktraced writes to {}: stop it, or set another directory for one of them",
                directory_.string());
  if (!lock) return propagate(lock);
  lock_ = std::move(*lock);
  return {};
}

void TraceStore::finish_removals() const {
  std::vector<fs::path> removing;
  const auto read = for_each_in_store(directory_, [&](const fs::directory_entry& entry) {
    const fs::path& path = entry.path();
    if (path.filename().string().starts_with(kRemoving) && has_parts_only(path))
      removing.push_back(path);
  });
  if (!read) spdlog::warn("half-removed traces are left: {}", read.error().message);
  std::error_code ignored;
  for (const fs::path& path : removing) fs::remove_all(path, ignored);
}

Result<std::vector<StoredTrace>> TraceStore::list_unfinished(std::string_view prefix) const {
  std::vector<StoredTrace> traces;
  auto read = for_each_in_store(directory_, [&](const fs::directory_entry& entry) {
    const fs::path& path = entry.path();
    if (path.filename().string().starts_with(prefix) && is_unfinished(path))
      traces.push_back(stored_trace(path));
  });
  if (!read) return propagate(read);
  std::ranges::sort(traces, older);
  return traces;
}

Result<> TraceStore::remove_any(const std::string& name) const {
  if (!name.ends_with(kUnfinished)) return remove(name);
  const fs::path path = path_of(name);
  if (!is_unfinished(path))
    return fail(ExitCode::usage, "there is no unfinished trace '{}' in {}", name,
                directory_.string());
  return remove_at(path);
}

}  // namespace ktraced

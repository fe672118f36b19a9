// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/trace_reader.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/files/partial_directory.h"
#include "trace/directory/manifest_file.h"
#include "trace/directory/trace_directory.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

// "DIR/" as "DIR", so that path.filename() is not empty.
fs::path without_slash(const fs::path& path) {
  fs::path clean = path.lexically_normal();
  return clean.has_filename() ? clean : clean.parent_path();
}

bool has_directory(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Retention renames a trace before it removes anything.
Error removed(const fs::path& trace) {
  const fs::path finished = trace.parent_path() / trace.stem();
  if (trace.extension() == kPartialSuffix && has_directory(finished))
    return {ExitCode::io, fmt::format("{} was finished while it was read: show {}", trace.string(),
                                      finished.string())};
  return {ExitCode::io, fmt::format("{} was removed while it was read", trace.string())};
}

bool is_unfinished(const fs::path& name) { return name.extension() == kPartialSuffix; }

// `name`: of the directory of the trace, wherever it is.
Result<> check_finished(const fs::path& path, const fs::path& name, bool allow_unfinished) {
  if (!is_unfinished(name) || allow_unfinished) return {};
  return fail(ExitCode::data,
              "the trace {} is unfinished: it is still being written, or its writer was stopped; "
              "--partial shows what is there",
              path.string());
}

Result<> check_directory(const fs::path& path, bool allow_unfinished) {
  if (auto good = check_finished(path, path, allow_unfinished); !good) return good;
  std::error_code error;
  if (fs::is_directory(path, error)) return {};
  if (error == std::errc::permission_denied)
    return std::unexpected(unreadable(path, error.value()));
  const fs::path partial = PartialDirectory::partial_of(path);
  if (has_directory(partial))
    return fail(ExitCode::data, "there is no trace {}, only an unfinished one, {}", path.string(),
                partial.string());
  return fail(ExitCode::data, "there is no trace directory {}", path.string());
}

Result<Manifest> manifest_of_trace(const TraceDirectory& trace) {
  auto manifest = read_manifest(trace);
  const fs::path file = trace.path() / kManifestFile;
  if (manifest || trace.contains(kManifestFile)) return manifest;
  if (auto there = TraceReader::check_not_removed(trace.path()); !there) return propagate(there);
  return fail(ExitCode::data, "{} is missing: is {} a trace directory?", file.string(),
              trace.path().string());
}

}  // namespace

Result<> TraceReader::check_not_removed(const fs::path& path) {
  if (has_directory(path)) return {};
  return std::unexpected(removed(path));
}

Result<TraceDirectory> TraceReader::find(const fs::path& directory, bool allow_unfinished) {
  const fs::path path = without_slash(directory);
  if (auto good = check_directory(path, allow_unfinished); !good) return propagate(good);
  return TraceDirectory::open(path);
}

Result<TraceReader> TraceReader::open(const fs::path& directory, bool allow_unfinished) {
  auto trace = find(directory, allow_unfinished);
  if (!trace) return propagate(trace);
  auto manifest = manifest_of_trace(*trace);
  if (!manifest) return propagate(manifest);
  TraceReader reader(trace->path(), std::move(*manifest), is_unfinished(trace->path()));
  reader.read_names(*trace);
  return reader;
}

Result<TraceReader> TraceReader::open_unpacked(TraceDirectory trace, const fs::path& name,
                                               bool allow_unfinished) {
  if (auto good = check_finished(trace.path(), name, allow_unfinished); !good)
    return propagate(good);
  auto manifest = manifest_of_trace(trace);
  if (!manifest) return propagate(manifest);
  TraceReader reader(trace.path(), std::move(*manifest), is_unfinished(name));
  reader.unpacked_ = std::move(trace);
  reader.read_names(*reader.unpacked_);
  return reader;
}

void TraceReader::read_names(const TraceDirectory& trace) {
  auto take = [&](const char* name, auto&& read, auto& into) {
    if (unfinished_ && !trace.contains(name)) return;
    if (auto done = read(trace, into); !done) note(path_ / name, std::move(done.error()));
  };
  take(kTasksFile, read_tasks, names_);
  take(kCachesFile, read_caches, names_);
  if (trace.contains(kCgroupsFile)) take(kCgroupsFile, read_cgroups, names_);
  if (trace.contains(kCommandsFile)) take(kCommandsFile, read_commands, names_);
  if (trace.contains(kFilesFile)) take(kFilesFile, read_files, mapped_files_);
  if (trace.contains(kJitFile)) take(kJitFile, read_jit_functions, jit_functions_);
  take(kSymbolsFile, read_symbols, symbols_);
}

void TraceReader::note(const fs::path& file, Error damage) {
  if (unpacked_ || path_exists(file) || has_directory(path_)) {
    add_damage(std::move(damage));
  } else if (!removed_) {
    removed_ = true;
    add_damage(removed(path_));
  }
}

void TraceReader::add_damage(Error damage) {
  if (std::ranges::find(damage_, damage.message, &Error::message) == damage_.end())
    damage_.push_back(std::move(damage));
}

uint64_t TraceReader::begin_ns() const {
  if (unfinished_) return 0;
  uint64_t begin = manifest_.start_ns();
  for (const CpuAccount& cpu : manifest_.cpus)
    if (cpu.first_ns != 0) begin = std::min(begin, cpu.first_ns);
  return begin;
}

uint64_t TraceReader::end_ns() const {
  if (unfinished_) return UINT64_MAX;
  uint64_t end = manifest_.end_ns;
  for (const CpuAccount& cpu : manifest_.cpus) end = std::max(end, cpu.last_ns);
  return end;
}

TimeWindow TraceReader::packets_window() {
  TimeWindow window{.begin_ns = UINT64_MAX, .end_ns = 0};
  const std::vector<Error> damage = damage_;
  for (PacketFile& file : open_files()) {
    // What is damaged is reported when it is read; the records before it are part of the window.
    (void)file.skip_before(UINT64_MAX);
    (void)file.next();
    if (file.last_ns() == 0) continue;
    window.begin_ns = std::min(window.begin_ns, file.first_ns());
    window.end_ns = std::max(window.end_ns, file.last_ns());
  }
  damage_ = damage;
  return window;
}

const CpuAccount* TraceReader::account(uint32_t cpu) const {
  auto found = std::ranges::find(manifest_.cpus, cpu, &CpuAccount::cpu);
  return found == manifest_.cpus.end() ? nullptr : &*found;
}

std::set<uint32_t> TraceReader::cpus_to_read(const TraceDirectory& ctf) {
  std::set<uint32_t> cpus;
  for (const CpuAccount& cpu : manifest_.cpus)
    if (cpu.total().records != 0) cpus.insert(cpu.cpu);
  auto names = ctf.names(kPacketFilesMax + 1);
  if (!names) {
    note(ctf.path(), std::move(names.error()));
    return cpus;
  }
  if (names->size() > kPacketFilesMax) {
    add_damage({ExitCode::data,
                fmt::format("{} has more than {} files", ctf.path().string(), kPacketFilesMax)});
    names->pop_back();
  }
  for (const std::string& name : *names) {
    auto cpu = cpu_of_file(name);
    if (!cpu) continue;
    if (unfinished_ || account(*cpu) != nullptr)
      cpus.insert(*cpu);
    else
      add_damage({ExitCode::data, fmt::format("{} is not part of the trace: its manifest "
                                              "does not list that CPU",
                                              (ctf.path() / name).string())});
  }
  return cpus;
}

Result<TraceDirectory> TraceReader::open_packets() const {
  if (unpacked_) return unpacked_->subdirectory(kPacketDirectory);
  auto trace = TraceDirectory::open(path_);
  if (!trace) return propagate(trace);
  return trace->subdirectory(kPacketDirectory);
}

std::vector<PacketFile> TraceReader::open_files() {
  std::vector<PacketFile> files;
  auto ctf = open_packets();
  if (!ctf) {
    note(path_ / kPacketDirectory, std::move(ctf.error()));
    return files;
  }
  for (uint32_t cpu : cpus_to_read(*ctf)) {
    const std::string name = packet_file_of(cpu);
    auto file = PacketFile::open(*ctf, name, manifest_.origin.uuid, cpu);
    if (file)
      files.push_back(std::move(*file));
    else
      note(ctf->path() / name, std::move(file.error()));
  }
  return files;
}

bool TraceReader::check_end(const PacketFile& file, const Result<>& end) {
  if (!end) {
    // A writer that was stopped may leave a truncated last packet.
    if (unfinished_ && file.truncated()) return true;
    add_damage(end.error());
    return false;
  }
  const CpuAccount* counted = account(file.cpu());
  if (unfinished_ || counted == nullptr || file.skipped()) return true;
  const uint64_t expected = counted->total().records;
  if (file.records() == expected) return true;
  add_damage(
      {ExitCode::data, fmt::format("{} is damaged: it ends at byte {} with {} records, and the "
                                   "manifest says that it has {}",
                                   file.path().string(), file.offset(), file.records(), expected)});
  return false;
}

}  // namespace ktraced

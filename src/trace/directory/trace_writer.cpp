// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/trace_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "trace/directory/trace_directory.h"
#include "trace/metadata/event_records.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::unexpected<Error> io_failure(const char* doing, const fs::path& path, int error) {
  return fail(ExitCode::io, "cannot {} {}: {}", doing, path.string(), errno_text(error));
}

// Writes all of `parts`, and modifies them.
Result<> write_all(int fd, std::span<iovec> parts, const fs::path& path) {
  while (!parts.empty()) {
    if (parts.front().iov_len == 0) {
      parts = parts.subspan(1);
      continue;
    }
    const ssize_t written = ::writev(fd, parts.data(), static_cast<int>(parts.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_failure("write", path, errno);
    auto left = static_cast<size_t>(written);
    for (iovec& part : parts) {
      const size_t here = std::min(left, part.iov_len);
      part.iov_base = static_cast<std::byte*>(part.iov_base) + here;
      part.iov_len -= here;
      left -= here;
    }
  }
  return {};
}

iovec part_of(std::span<const std::byte> bytes) {
  return {.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
}

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// A new directory in `parent`, and not what another process may put in its place.
Result<Fd> make_directory(int parent, const char* name, const fs::path& path) {
  if (::mkdirat(parent, name, 0750) != 0) return io_failure("make the directory", path, errno);
  Fd directory(::openat(parent, name, kDirectoryFlags | O_NOFOLLOW));
  struct stat status{};
  if (!directory || ::fstat(directory.get(), &status) != 0)
    return io_failure("open the directory", path, errno);
  if (status.st_uid != ::geteuid()) return io_failure("open the directory", path, EPERM);
  return directory;
}

std::string dump(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

fs::path partial_of(const fs::path& path) { return path.string() + ".partial"; }

}  // namespace

TraceWriter::TraceWriter(fs::path path, Schema schema, TraceOrigin origin, IsCode is_code)
    : path_(std::move(path)),
      partial_(partial_of(path_)),
      schema_(std::move(schema)),
      origin_(std::move(origin)),
      is_code_(std::move(is_code)),
      address_offsets_(EVENT_ID_MAX) {
  for (const Event& event : schema_.events()) note_fields(event);
}

void TraceWriter::note_fields(const Event& event) {
  for (const Field& field : event.fields)
    if (event.id < EVENT_ID_MAX && field.meaning == Meaning::kaddr &&
        field.size == sizeof(uint64_t))
      address_offsets_[event.id].push_back(field.offset);
}

Result<> TraceWriter::check_free(const fs::path& path) {
  if (path_exists(path))
    return fail(ExitCode::usage, "cannot write the trace {}: it exists already", path.string());
  if (path_exists(partial_of(path)))
    return fail(ExitCode::usage,
                "cannot write the trace {}: {} exists, because another is being written there or "
                "was not finished; remove it or choose another name",
                path.string(), partial_of(path).string());
  return {};
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const fs::path& path, Schema schema,
                                                         const TraceOrigin& origin,
                                                         IsCode is_code) {
  if (auto free = check_free(path); !free) return propagate(free);
  std::unique_ptr<TraceWriter> writer(
      new TraceWriter(path, std::move(schema), origin, std::move(is_code)));
  writer->finished_ = true;  // there is nothing to remove yet
  if (auto made = writer->make_directories(); !made) return propagate(made);
  if (auto done = writer->write_descriptions(); !done) return propagate(done);
  return writer;
}

Result<> TraceWriter::make_directories() {
  const fs::path parent = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  parent_ = Fd(::open(parent.c_str(), kDirectoryFlags));
  if (!parent_) return io_failure("open the directory", parent, errno);
  auto directory = make_directory(parent_.get(), partial_.filename().c_str(), partial_);
  if (!directory) return propagate(directory);
  directory_ = std::move(*directory);
  finished_ = false;
  auto ctf = make_directory(directory_.get(), "ctf", partial_ / "ctf");
  if (!ctf) return propagate(ctf);
  ctf_ = std::move(*ctf);
  return {};
}

// Lets readers open a trace that was never finished.
Result<> TraceWriter::write_descriptions() const {
  if (auto done = write_file("ctf/metadata", ctf_metadata(schema_, origin_)); !done) return done;
  Manifest manifest;
  manifest.name = path_.filename();
  manifest.origin = origin_;
  manifest.incomplete_because = {"it was not finished"};
  manifest.schema = schema_;
  return write_file("manifest.json", dump(manifest_to_json(manifest)));
}

TraceWriter::~TraceWriter() {
  if (finished_) return;
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
}

fs::path TraceWriter::keep_unfinished() {
  finished_ = true;
  return partial_;
}

fs::path TraceWriter::cpu_path(uint32_t cpu) const {
  return partial_ / "ctf" / fmt::format("cpu{}", cpu);
}

// All or nothing: if the disk is full, the old file must stay usable for readers.
Result<> TraceWriter::write_file(const char* name, std::string_view text) const {
  constexpr const char* kGrowing = ".new";  // readers ignore this name
  const fs::path path = partial_ / name;
  Fd fd(
      ::openat(ctf_.get(), kGrowing, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!fd) return io_failure("create", path, errno);
  std::array parts = {part_of(std::as_bytes(std::span(text)))};
  Result<> done = write_all(fd.get(), parts, path);
  if (done && ::fsync(fd.get()) != 0) done = io_failure("sync", path, errno);
  if (done && ::renameat(ctf_.get(), kGrowing, directory_.get(), name) != 0)
    done = io_failure("create", path, errno);
  if (!done) ::unlinkat(ctf_.get(), kGrowing, 0);
  return done;
}

Result<TraceWriter::CpuFile*> TraceWriter::cpu_file(uint32_t cpu) {
  if (auto found = files_.find(cpu); found != files_.end()) return &found->second;
  const fs::path path = cpu_path(cpu);
  CpuFile file;
  file.fd = Fd(::openat(ctf_.get(), path.filename().c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.fd) return io_failure("create", path, errno);
  file.account.cpu = cpu;
  return &files_.emplace(cpu, std::move(file)).first->second;
}

Result<> TraceWriter::write(const PacketView& packet) {
  if (schema_grew_) {
    if (auto done = write_descriptions(); !done) return done;
    schema_grew_ = false;
  }
  auto opened = cpu_file(packet.header().cpu_id);
  if (!opened) return propagate(opened);
  CpuFile& file = **opened;
  // Only the header of a packet changes.
  PacketHeader header = packet.header();
  if (file.packets == 0 && header.lost_count != 0)
    if (auto done = write_anchor(file, header); !done) return done;
  uint64_t lost = 0;
  for (const Lost& entry : packet.lost()) lost += entry.count;
  header.packet_seq_num = file.packets;
  header.events_discarded = file.discarded + lost;
  header.content_size -= last_padding(packet) * 8;
  if (auto done = append(file, header, packet.bytes().subspan(sizeof(header))); !done) return done;
  file.discarded += lost;
  count(file, packet);
  return {};
}

// Writes an empty packet: a CTF reader computes the lost events of the first packet as the
// difference from it.
Result<> TraceWriter::write_anchor(CpuFile& file, PacketHeader header) {
  header.timestamp_end = header.timestamp_begin;
  header.packet_size = header.content_size = sizeof(header) * 8;
  header.packet_seq_num = 0;
  header.events_discarded = 0;
  header.lost_count = 0;
  return append(file, header, {});
}

Result<> TraceWriter::append(CpuFile& file, const PacketHeader& header,
                             std::span<const std::byte> body) {
  std::array parts = {part_of(std::as_bytes(std::span(&header, 1))), part_of(body)};
  if (auto done = write_all(file.fd.get(), parts, cpu_path(header.cpu_id)); !done) {
    // Remove a partly written packet, so that the file stays readable.
    static_cast<void>(::ftruncate(file.fd.get(), static_cast<off_t>(file.bytes)));
    ::lseek(file.fd.get(), static_cast<off_t>(file.bytes), SEEK_SET);
    return done;
  }
  ++file.packets;
  file.bytes += sizeof(header) + body.size();
  bytes_ += sizeof(header) + body.size();
  return {};
}

// CTF requires the content to end with a field.
size_t TraceWriter::last_padding(const PacketView& packet) const {
  const std::byte* last = nullptr;
  packet.for_each_record([&](const RecordView& record) { last = record.bytes().data(); });
  return last == nullptr ? 0 : trailing_padding(schema_, RecordView(last));
}

void TraceWriter::count(CpuFile& file, const PacketView& packet) {
  auto account = [&](uint32_t id) -> EventAccount& {
    if (id >= file.events.size()) file.events.resize(id + size_t{1});
    return file.events[id];
  };
  for (const Lost& lost : packet.lost()) {
    account(std::min<uint32_t>(lost.event_id, EVENT_ID_MAX)).lost += lost.count;
    total_.lost += lost.count;
  }
  const uint64_t before = total_.records;
  packet.for_each_record([&](const RecordView& record) {
    ++total_.records;
    ++account(record.id()).records;
    note_addresses(record);
  });
  if (total_.records == before) return;
  if (file.account.first_ns == 0) file.account.first_ns = packet.header().timestamp_begin;
  file.account.last_ns = packet.header().timestamp_end;
}

// Most addresses repeat, so those checked recently are skipped.
void TraceWriter::note_addresses(const RecordView& record) {
  if (record.id() >= address_offsets_.size()) return;
  for (uint32_t offset : address_offsets_[record.id()]) {
    if (offset + sizeof(uint64_t) > record.bytes().size()) continue;
    uint64_t address = 0;
    std::memcpy(&address, record.bytes().data() + offset, sizeof(address));
    uint64_t& recent = recent_addresses_[(address ^ address >> 12) % recent_addresses_.size()];
    if (recent == address) continue;
    recent = address;
    if (is_code_(address)) code_addresses_.insert(address);
  }
}

void TraceWriter::add_names(std::span<const std::byte> records) {
  names_.add(records);
  for (size_t at = 0; at + sizeof(record) <= records.size();) {
    const RecordView view(records.data() + at);
    at += std::max(view.bytes().size(), sizeof(record));
    if (const Event* event = learn_event(schema_, view)) {
      note_fields(*event);
      schema_grew_ = true;
    }
  }
}

void TraceWriter::add_events(const Schema& schema) {
  for (const Event& event : schema.events()) {
    if (schema_.find(event.id) != nullptr) continue;
    schema_.add(event);
    note_fields(event);
    schema_grew_ = true;
  }
}

// The built-in events, and those dynamic events that the trace contains: there may be thousands.
Schema TraceWriter::schema_of_records() const {
  Schema schema;
  schema.gfp_flags = schema_.gfp_flags;
  for (const Event& event : schema_.events()) {
    const bool recorded = std::ranges::any_of(files_, [&](const auto& entry) {
      const std::vector<EventAccount>& events = entry.second.events;
      return event.id < events.size() && events[event.id] != EventAccount{};
    });
    if (recorded || !is_dynamic(event)) schema.add(event);
  }
  return schema;
}

Result<> TraceWriter::write_names() const {
  if (auto done = write_file("tasks.json", names_.tasks_json()); !done) return done;
  if (auto done = write_file("caches.json", names_.caches_json()); !done) return done;
  return write_file("cgroups.json", names_.cgroups_json());
}

std::vector<CpuAccount> TraceWriter::accounts() const {
  std::vector<CpuAccount> accounts;
  for (const auto& [cpu, file] : files_) {
    CpuAccount account = file.account;
    for (size_t id = 0; id < file.events.size(); ++id) {
      if (file.events[id] == EventAccount{}) continue;
      const Event* event = id < EVENT_ID_MAX ? schema_.find(id) : nullptr;
      EventAccount& sum =
          account.events[event != nullptr ? event->name : fmt::format("event {}", id)];
      sum.records += file.events[id].records;
      sum.lost += file.events[id].lost;
    }
    accounts.push_back(std::move(account));
  }
  return accounts;
}

Result<> TraceWriter::finish(const Manifest& manifest,
                             const std::map<uint64_t, std::string>& symbols) {
  Manifest complete = manifest;
  complete.schema = schema_of_records();
  json symbols_json = json::object();
  for (const auto& [address, name] : symbols) symbols_json[fmt::format("0x{:x}", address)] = name;
  if (auto done = write_names(); !done) return done;
  const std::array<std::pair<const char*, std::string>, 3> files = {{
      {"ctf/metadata", ctf_metadata(complete.schema, origin_)},
      {"symbols.json", dump({{"symbols", std::move(symbols_json)}})},
      {"manifest.json", dump(manifest_to_json(complete))},
  }};
  for (const auto& [name, content] : files)
    if (auto done = write_file(name, content); !done) return done;
  if (auto done = sync_all(); !done) return done;
  if (::renameat(parent_.get(), partial_.filename().c_str(), parent_.get(),
                 path_.filename().c_str()) != 0)
    return io_failure("rename", partial_, errno);
  finished_ = true;
  return ::fsync(parent_.get()) == 0 ? Result<>() : io_failure("sync", path_.parent_path(), errno);
}

Result<> TraceWriter::sync_all() const {
  for (const auto& [cpu, file] : files_)
    if (::fsync(file.fd.get()) != 0) return io_failure("sync", cpu_path(cpu), errno);
  if (::fsync(ctf_.get()) != 0 || ::fsync(directory_.get()) != 0)
    return io_failure("sync", partial_, errno);
  return {};
}

}  // namespace ktraced

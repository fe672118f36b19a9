#include "trace/trace_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::unexpected<Error> io_failure(const char* doing, const fs::path& path, int error) {
  return fail(ExitCode::io, "cannot {} {}: {}", doing, path.string(), errno_text(error));
}

Result<> write_all(int fd, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_failure("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<> sync_directory(const fs::path& path) {
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return io_failure("sync", path, errno);
  return {};
}

std::string_view text_of(const char* text, size_t capacity) {
  return {text, ::strnlen(text, capacity)};
}

// Names come from the kernel as bytes; JSON wants UTF-8.
std::string dump(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

TraceWriter::TraceWriter(fs::path path, const Schema& schema, IsCode is_code)
    : path_(std::move(path)),
      partial_(path_.string() + ".partial"),
      schema_(schema),
      is_code_(std::move(is_code)) {
  for (const Event& event : schema_.events())
    for (const Field& field : event.fields)
      if (field.meaning == Meaning::kaddr && field.size == sizeof(uint64_t))
        address_offsets_[event.id].push_back(field.offset);
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const fs::path& path, const Schema& schema,
                                                         const TraceOrigin& origin,
                                                         IsCode is_code) {
  std::unique_ptr<TraceWriter> writer(new TraceWriter(path, schema, std::move(is_code)));
  writer->finished_ = true;  // there is nothing to remove yet
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0)
    return fail(ExitCode::usage, "cannot write the trace {}: it exists already", path.string());
  if (::mkdir(writer->partial_.c_str(), 0750) != 0)
    return io_failure("make the directory", writer->partial_, errno);
  writer->finished_ = false;
  if (::mkdir((writer->partial_ / "ctf").c_str(), 0750) != 0)
    return io_failure("make the directory", writer->partial_ / "ctf", errno);
  if (auto done = writer->write_file("ctf/metadata", ctf_metadata(schema, origin)); !done)
    return pass_on(done);
  return writer;
}

TraceWriter::~TraceWriter() {
  if (finished_) return;
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
}

Result<> TraceWriter::write_file(const fs::path& name, std::string_view text) const {
  const fs::path path = partial_ / name;
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!fd) return io_failure("create", path, errno);
  if (auto done = write_all(fd.get(), std::as_bytes(std::span(text)), path); !done) return done;
  if (::fsync(fd.get()) != 0) return io_failure("sync", path, errno);
  return {};
}

Result<TraceWriter::CpuFile*> TraceWriter::cpu_file(uint32_t cpu) {
  if (auto found = files_.find(cpu); found != files_.end()) return &found->second;
  const fs::path path = partial_ / "ctf" / fmt::format("cpu{}", cpu);
  CpuFile file;
  file.fd = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!file.fd) return io_failure("create", path, errno);
  file.account.cpu = cpu;
  return &files_.emplace(cpu, std::move(file)).first->second;
}

Result<> TraceWriter::write(const PacketView& packet) {
  const uint32_t cpu = packet.header().cpu_id;
  auto file = cpu_file(cpu);
  if (!file) return pass_on(file);
  // Of the packet only the header is changed: CTF wants the content to end with a field.
  PacketHeader header = packet.header();
  header.content_size -= count(**file, packet) * 8;
  const fs::path path = partial_ / "ctf" / fmt::format("cpu{}", cpu);
  std::array<std::byte, sizeof(header)> head{};
  std::memcpy(head.data(), &header, sizeof(header));
  if (auto done = write_all((*file)->fd.get(), head, path); !done) return done;
  if (auto done = write_all((*file)->fd.get(), packet.bytes().subspan(sizeof(header)), path); !done)
    return done;
  bytes_ += packet.bytes().size();
  return {};
}

// Accounts for a packet; returns the padding at its end.
size_t TraceWriter::count(CpuFile& file, const PacketView& packet) {
  for (const Lost& lost : packet.lost())
    file.events[static_cast<uint16_t>(lost.event_id)].lost += lost.count;
  size_t padding = 0;
  bool any = false;
  packet.for_each_record([&](const RecordView& record) {
    any = true;
    ++file.events[record.id()].records;
    padding = record.bytes().size();
    if (auto offsets = address_offsets_.find(record.id()); offsets != address_offsets_.end())
      for (uint32_t offset : offsets->second) {
        if (offset + sizeof(uint64_t) > record.bytes().size()) continue;
        uint64_t address = 0;
        std::memcpy(&address, record.bytes().data() + offset, sizeof(address));
        if (is_code_(address)) code_addresses_.insert(address);
      }
  });
  if (!any) return 0;
  if (file.account.first_ns == 0) file.account.first_ns = packet.header().timestamp_begin;
  file.account.last_ns = packet.header().timestamp_end;
  return trailing_padding(schema_,
                          RecordView(packet.bytes().data() + packet.bytes().size() - padding));
}

void TraceWriter::add_names(std::span<const std::byte> records) {
  names_.insert(names_.end(), records.begin(), records.end());
}

std::vector<CpuAccount> TraceWriter::accounts() const {
  std::vector<CpuAccount> accounts;
  for (const auto& [cpu, file] : files_) {
    CpuAccount account = file.account;
    for (const auto& [id, counts] : file.events) {
      const Event* event = schema_.find(id);
      account.events[event != nullptr ? event->name : fmt::format("event {}", id)] = counts;
    }
    accounts.push_back(std::move(account));
  }
  return accounts;
}

json TraceWriter::tasks_json() const {
  json tasks = json::array();
  for (size_t at = 0; at < names_.size();) {
    RecordView record(names_.data() + at);
    at += record.bytes().size();
    if (record.id() != NAME_task) continue;
    rec_name_task task;
    std::memcpy(&task, record.bytes().data(), sizeof(task));
    tasks.push_back({{"since_ns", task.h.ts},
                     {"tid", task.h.tid},
                     {"tgid", task.tgid},
                     {"uid", task.uid},
                     {"start_ns", task.start_time},
                     {"comm", text_of(task.comm, sizeof(task.comm))}});
  }
  return {{"tasks", std::move(tasks)}};
}

json TraceWriter::caches_json() const {
  json caches = json::array();
  for (size_t at = 0; at < names_.size();) {
    RecordView record(names_.data() + at);
    at += record.bytes().size();
    if (record.id() != NAME_slab_cache) continue;
    rec_name_slab_cache cache;
    std::memcpy(&cache, record.bytes().data(), sizeof(cache));
    caches.push_back({{"since_ns", cache.h.ts},
                      {"cache", fmt::format("0x{:x}", cache.cache)},
                      {"name", text_of(cache.name, sizeof(cache.name))}});
  }
  return {{"caches", std::move(caches)}};
}

Result<> TraceWriter::finish(const Manifest& manifest,
                             const std::map<uint64_t, std::string>& symbols) {
  json symbols_json = json::object();
  for (const auto& [address, name] : symbols) symbols_json[fmt::format("0x{:x}", address)] = name;
  const std::array<std::pair<const char*, json>, 4> files = {{
      {"tasks.json", tasks_json()},
      {"caches.json", caches_json()},
      {"symbols.json", {{"symbols", std::move(symbols_json)}}},
      {"manifest.json", manifest_to_json(manifest)},
  }};
  for (const auto& [name, content] : files)
    if (auto done = write_file(name, dump(content)); !done) return done;
  for (const auto& [cpu, file] : files_)
    if (::fsync(file.fd.get()) != 0)
      return io_failure("sync", partial_ / "ctf" / fmt::format("cpu{}", cpu), errno);
  for (const fs::path& directory : {partial_ / "ctf", partial_})
    if (auto done = sync_directory(directory); !done) return done;
  if (::rename(partial_.c_str(), path_.c_str()) != 0)
    return io_failure("give its name to", partial_, errno);
  finished_ = true;
  return sync_directory(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
}

}  // namespace ktraced

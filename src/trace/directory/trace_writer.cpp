// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/trace_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>

#include "base/text/json_access.h"
#include "base/text/json_dump.h"
#include "trace/directory/name_files.h"
#include "trace/directory/trace_directory.h"
#include "trace/directory/trace_files.h"
#include "trace/metadata/event_records.h"
#include "trace/metadata/mapping_table.h"
#include "trace/metadata/stack_table.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The events that were enabled at any time of the trace.
std::set<std::string> enabled_in(const json& config) {
  std::set<std::string> names;
  const auto add = [&names](const json& enabled) {
    for (std::string& event : texts_at(enabled, "events")) names.insert(std::move(event));
  };
  add(config);
  for (const json& change : list_at(config, "changes")) add(member(change, "config"));
  return names;
}

std::string dump(const json& value) { return dump_json(value, 1) + "\n"; }

}  // namespace

TraceWriter::TraceWriter(fs::path path, Schema schema, TraceOrigin origin, IsCode is_code,
                         WrittenTime written_time, Fd parent)
    : path_(std::move(path)),
      directory_(path_, kPacketDirectory, std::move(parent)),
      schema_(std::move(schema)),
      origin_(std::move(origin)),
      is_code_(std::move(is_code)),
      written_time_(std::move(written_time)),
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
  if (const fs::path partial = PartialDirectory::partial_of(path); path_exists(partial))
    return fail(ExitCode::usage,
                "cannot write the trace {}: {} exists, because another is being written there or "
                "was not finished; remove it or choose another name",
                path.string(), partial.string());
  if (const auto around = trace_around(path))
    return fail(ExitCode::usage,
                "cannot write the trace {}: {} is a trace, which nobody may add files to; choose a "
                "place outside of it",
                path.string(), around->string());
  return {};
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::create(const fs::path& path, Schema schema,
                                                         const TraceOrigin& origin, IsCode is_code,
                                                         WrittenTime written_time, Fd parent) {
  if (auto free = check_free(path); !free) return propagate(free);
  std::unique_ptr<TraceWriter> writer(new TraceWriter(path, std::move(schema), origin,
                                                      std::move(is_code), std::move(written_time),
                                                      std::move(parent)));
  if (auto made = writer->directory_.make(); !made) return propagate(made);
  if (auto done = writer->write_descriptions(); !done) return propagate(done);
  return writer;
}

// Lets readers open a trace that was never finished.
Result<> TraceWriter::write_descriptions() const {
  if (auto done = directory_.write("ctf/metadata", ctf_metadata(schema_, origin_)); !done)
    return done;
  Manifest manifest;
  manifest.name = path_.filename();
  manifest.origin = origin_;
  manifest.incomplete_because = {"it was not finished"};
  manifest.schema = schema_;
  return write_manifest(manifest);
}

Result<> TraceWriter::write_manifest(const Manifest& manifest) const {
  return directory_.write(kManifestFile, dump(manifest_to_json(manifest)),
                          written_time_ ? std::optional(written_time_()) : std::nullopt);
}

fs::path TraceWriter::keep_unfinished() {
  directory_.keep();
  return directory_.path();
}

fs::path TraceWriter::cpu_path(uint32_t cpu) const {
  return directory_.path() / kPacketDirectory / packet_file_of(cpu);
}

Result<TraceWriter::CpuFile*> TraceWriter::cpu_file(uint32_t cpu) {
  if (auto found = files_.find(cpu); found != files_.end()) return &found->second;
  auto fd = directory_.create(packet_file_of(cpu));
  if (!fd) return propagate(fd);
  CpuFile file;
  file.fd = std::move(*fd);
  file.account.cpu = cpu;
  return &files_.emplace(cpu, std::move(file)).first->second;
}

// Stacks are described before the first one is written.
void TraceWriter::note_stacks(const PacketView& packet) {
  if (schema_.stacks) return;
  packet.for_each_record([&](const RecordView& record) {
    schema_.stacks = schema_.stacks || record.has_stacks() || is_stack_record(record.id());
  });
  schema_grew_ = schema_grew_ || schema_.stacks;
}

Result<> TraceWriter::write(const PacketView& packet) {
  note_stacks(packet);
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
  std::array parts = {iovec_of(std::as_bytes(std::span(&header, 1))), iovec_of(body)};
  if (auto done = write_parts(file.fd.get(), parts, cpu_path(header.cpu_id)); !done) {
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
    note_file(record);
    note_stack(record);
  });
  if (total_.records == before) return;
  if (file.account.first_ns == 0) file.account.first_ns = packet.header().timestamp_begin;
  file.account.last_ns = packet.header().timestamp_end;
}

void TraceWriter::note_file(const RecordView& record) {
  if (auto file = file_of(record)) return names_.add(std::move(*file));
  const auto mapping = mapping_of(record);
  if (!mapping) return;
  jit_code_.add(*mapping);
  if (names_.files().contains(mapping->file)) file_processes_[mapping->file] = mapping->tgid;
}

void TraceWriter::note_stack(const RecordView& record) {
  const auto stack = stack_of(record);
  if (!stack) return;
  jit_code_.add(*stack);
  if (stack->kind == StackKind::kernel)
    std::ranges::for_each(stack->frames, [this](uint64_t frame) { note_address(frame); });
}

// Most addresses repeat, so those checked recently are skipped.
void TraceWriter::note_addresses(const RecordView& record) {
  if (record.id() >= address_offsets_.size()) return;
  for (uint32_t offset : address_offsets_[record.id()]) {
    if (offset + sizeof(uint64_t) > record.bytes().size()) continue;
    uint64_t address = 0;
    std::memcpy(&address, record.bytes().data() + offset, sizeof(address));
    note_address(address);
  }
}

void TraceWriter::note_address(uint64_t address) {
  uint64_t& recent = recent_addresses_[(address ^ address >> 12) % recent_addresses_.size()];
  if (recent == address) return;
  recent = address;
  if (code_addresses_.size() < kMaxSymbols && is_code_(address)) code_addresses_.insert(address);
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

// The built-in events, and those dynamic events that were traced: there may be thousands of others.
// One without a record is known too, so that selecting it is no mistake; of those with the same
// name, the last one.
Schema TraceWriter::schema_of_trace(const json& config) const {
  const std::set<std::string> enabled = enabled_in(config);
  Schema schema;
  schema.gfp_flags = schema_.gfp_flags;
  schema.contexts = schema_.contexts;
  schema.stacks = schema_.stacks;
  for (const Event& event : schema_.events()) {
    const bool recorded = std::ranges::any_of(files_, [&](const auto& entry) {
      const std::vector<EventAccount>& events = entry.second.events;
      return event.id < events.size() && events[event.id] != EventAccount{};
    });
    const bool traced = enabled.contains(event.name) && schema_.find(event.name) == &event;
    if (recorded || traced || !is_dynamic(event)) schema.add(event);
  }
  return schema;
}

Result<> TraceWriter::write_names() const {
  if (auto done = directory_.write("tasks.json", names_.tasks_json()); !done) return done;
  if (auto done = directory_.write("caches.json", names_.caches_json()); !done) return done;
  if (auto done = directory_.write("cgroups.json", names_.cgroups_json()); !done) return done;
  if (auto done = directory_.write("commands.json", names_.commands_json()); !done) return done;
  if (!schema_.stacks) return {};
  if (auto done = directory_.write(kFilesFile, names_.files_json()); !done) return done;
  if (names_.jit_functions().empty()) return {};
  return directory_.write(kJitFile, names_.jit_json());
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

void TraceWriter::add_accounts(Manifest& manifest, const StreamContinuity& stream) const {
  manifest.cpus = accounts();
  std::ranges::copy(problems_, std::back_inserter(manifest.incomplete_because));
  std::ranges::move(stream.gaps(), std::back_inserter(manifest.incomplete_because));
  std::ranges::move(names_.problems(), std::back_inserter(manifest.incomplete_because));
  add_losses(manifest);
}

Result<> TraceWriter::finish(const Manifest& manifest,
                             const std::map<uint64_t, std::string>& symbols) {
  if (auto done = sync(); !done) return done;
  Manifest complete = manifest;
  complete.schema = schema_of_trace(manifest.config);
  complete.commands_complete = names_.lost().commands_read();
  json symbols_json = json::object();
  for (const auto& [address, name] : symbols | std::views::take(kMaxSymbols))
    symbols_json[fmt::format("0x{:x}", address)] = name;
  if (auto done = write_names(); !done) return done;
  const std::array<std::pair<const char*, std::string>, 2> files = {{
      {"ctf/metadata", ctf_metadata(complete.schema, origin_)},
      {"symbols.json", dump({{"symbols", std::move(symbols_json)}})},
  }};
  for (const auto& [name, content] : files)
    if (auto done = directory_.write(name, content); !done) return done;
  if (auto done = write_manifest(complete); !done) return done;
  return directory_.finish();
}

// The kernel reports once that it could not write pages, and drops them: a repeated fsync()
// succeeds.
Result<> TraceWriter::sync() {
  Result<> done;
  for (const auto& [cpu, file] : files_) {
    if (::fsync(file.fd.get()) == 0) continue;
    done = io_failure("sync", cpu_path(cpu), errno);
    std::string problem =
        fmt::format("CPU {}: records may be missing: {}", cpu, done.error().message);
    if (std::ranges::find(problems_, problem) == problems_.end())
      problems_.push_back(std::move(problem));
  }
  return done;
}

}  // namespace ktraced

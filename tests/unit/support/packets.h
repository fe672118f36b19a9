// SPDX-License-Identifier: BSD-2-Clause
// Hand-made packets and records, for tests of readers.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "trace/metadata/command_record.h"
#include "trace/packet/packet.h"

namespace ktraced::test {

using Bytes = std::vector<std::byte>;

inline constexpr uint64_t kSecond = 1'000'000'000;  // ns

template <class Struct>
Bytes bytes_of(const Struct& value) {
  Bytes bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// A record struct with its header filled in.
template <class Record>
Bytes make_record(uint16_t id, uint64_t ts, uint32_t tid, Record record) {
  record.h = {.ts = ts, .id = id, .size = sizeof(Record), .tid = tid};
  return bytes_of(record);
}

// A record that is only a header.
inline Bytes bare_record(uint64_t ts, uint16_t id = 1, uint32_t tid = 7) {
  return bytes_of(record{.ts = ts, .id = id, .size = sizeof(record), .tid = tid});
}

// The record, made in this context.
inline Bytes in_context(record_context context, Bytes record) {
  record.at(offsetof(struct record, size)) |= static_cast<std::byte>(context);
  return record;
}

// The record, with the numbers of stacks at its end.
inline Bytes with_stacks(Bytes record, stack_numbers numbers) {
  for (std::byte byte : bytes_of(numbers)) record.push_back(byte);
  struct record header;
  std::memcpy(&header, record.data(), sizeof(header));
  header.id |= RECORD_HAS_STACKS;
  header.size = static_cast<u16>(header.size + sizeof(numbers));
  std::memcpy(record.data(), &header, sizeof(header));
  return record;
}

struct StackSpec {
  uint64_t number = 0;
  stack_kind kind = STACK_KERNEL;
  stack_end end = STACK_START;
  std::vector<uint64_t> frames = {};
  uint32_t layout = 0;
};

inline Bytes stack_record_of(uint64_t ts, const StackSpec& spec) {
  rec_stack head{.number = spec.number,
                 .length = static_cast<u16>(spec.frames.size()),
                 .kind = static_cast<u8>(spec.kind),
                 .end = static_cast<u8>(spec.end),
                 .layout = spec.layout};
  Bytes bytes = make_record(RECORD_STACK, ts, 7, head);
  for (uint64_t frame : spec.frames)
    for (std::byte byte : bytes_of(frame)) bytes.push_back(byte);
  const auto size = static_cast<u16>(bytes.size());
  std::memcpy(&bytes[offsetof(record, size)], &size, sizeof(size));
  return bytes;
}

struct MappingSpec {
  uint32_t tgid = 7;
  uint64_t process_start = 1'000'000'000;
  uint32_t image = 1;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  uint64_t file = MAPPING_ANONYMOUS;
  uint32_t layout = 0;
};

inline Bytes mapping_record_of(uint64_t ts, const MappingSpec& spec) {
  return make_record(RECORD_MAPPING, ts, 7,
                     rec_mapping{.process_start = spec.process_start,
                                 .tgid = spec.tgid,
                                 .image = spec.image,
                                 .start = spec.start,
                                 .end = spec.end,
                                 .offset = spec.offset,
                                 .file = spec.file,
                                 .layout = spec.layout});
}

// The path is followed by a NUL and zeros up to a multiple of 8.
inline Bytes file_record_of(uint64_t ts, uint64_t number, std::string_view path,
                            rec_file head = {}) {
  head.number = number;
  Bytes bytes = make_record(RECORD_FILE, ts, 7, head);
  for (char c : path) bytes.push_back(static_cast<std::byte>(c));
  bytes.resize((bytes.size() + 8) / 8 * 8);
  const auto size = static_cast<u16>(bytes.size());
  std::memcpy(&bytes[offsetof(record, size)], &size, sizeof(size));
  return bytes;
}

template <size_t Size>
void copy_text(std::string_view text, char (&field)[Size]) {
  std::memset(field, 0, Size);
  text.copy(field, Size);
}

inline Bytes task_name(uint32_t tid, uint64_t since, uint32_t tgid, std::string_view comm,
                       uint64_t start_time = 0) {
  rec_metadata_task name{.tgid = tgid, .uid = 1000, .start_time = start_time};
  copy_text(comm, name.comm);
  return make_record(METADATA_task, since, tid, name);
}

// The same with the id of the thread's control group.
inline Bytes task_in_cgroup(uint32_t tid, uint64_t since, uint32_t tgid, uint64_t cgroup,
                            std::string_view comm = "task") {
  rec_metadata_task name{.tgid = tgid, .uid = 1000, .start_time = 1, .cgroup = cgroup};
  copy_text(comm, name.comm);
  return make_record(METADATA_task, since, tid, name);
}

// A process forks another one.
inline Bytes forked(uint64_t ts, int32_t parent, int32_t child) {
  return make_record(
      EVENT_sched_process_fork, ts, static_cast<uint32_t>(parent),
      rec_sched_process_fork{.parent_pid = parent, .child_pid = child, .child_tgid = child});
}

// A main thread with the parent of its process.
inline Bytes task_of_parent(uint32_t tid, uint64_t since, std::string_view comm, uint32_t parent,
                            uint64_t start_time = 1) {
  rec_metadata_task name{.tgid = tid, .uid = 1000, .start_time = start_time, .parent = parent};
  copy_text(comm, name.comm);
  return make_record(METADATA_task, since, tid, name);
}

// Of the command line of a process, with blanks between its arguments.
inline Bytes command_line(uint32_t pid, uint64_t read_ns, std::string_view text,
                          uint64_t start_ns = 0, uint32_t parent = 0) {
  Bytes bytes;
  append_command_record({.pid = pid,
                         .read_ns = read_ns,
                         .start_ns = start_ns,
                         .text = std::string(text),
                         .parent = parent},
                        bytes);
  return bytes;
}

// In the length of the text, as the programs send it.
inline Bytes cgroup_path(uint64_t id, std::string_view text) {
  rec_metadata_cgroup name{.cgroup = id};
  copy_text(text, name.path);
  Bytes bytes = make_record(METADATA_cgroup, 0, 0, name);
  bytes.resize((offsetof(rec_metadata_cgroup, path) + text.size() + 1 + 7) / 8 * 8);
  const auto size = static_cast<u16>(bytes.size());
  std::memcpy(&bytes[offsetof(record, size)], &size, sizeof(size));
  return bytes;
}

inline Bytes cache_name(uint64_t key, std::string_view text) {
  rec_metadata_slab_cache name{.cache = key};
  copy_text(text, name.name);
  return make_record(METADATA_slab_cache, 0, 0, name);
}

struct PacketSpec {
  uint32_t cpu = 0;
  std::vector<Bytes> records;
  std::vector<Lost> lost;
  uint64_t begin = 0;  // 0: of the first record
  uint64_t end = 0;    // 0: of the last record
  StreamId stream = StreamId::events;
};

inline Bytes make_packet(const PacketSpec& spec) {
  Bytes body;
  for (const Lost& lost : spec.lost)
    for (std::byte byte : bytes_of(lost)) body.push_back(byte);
  for (const Bytes& record : spec.records) body.insert(body.end(), record.begin(), record.end());
  auto ts = [](const Bytes& record) { return RecordView(record.data()).ts(); };
  PacketHeader header{};
  header.magic = kPacketMagic;
  header.stream_id = static_cast<uint32_t>(spec.stream);
  header.timestamp_begin =
      spec.begin != 0 || spec.records.empty() ? spec.begin : ts(spec.records.front());
  header.timestamp_end = spec.end != 0 || spec.records.empty() ? spec.end : ts(spec.records.back());
  header.packet_size = header.content_size = 8 * (sizeof(header) + body.size());
  header.cpu_id = spec.cpu;
  header.lost_count = static_cast<uint32_t>(spec.lost.size());
  Bytes packet(sizeof(header) + body.size());
  std::memcpy(packet.data(), &header, sizeof(header));
  std::ranges::copy(body, packet.begin() + sizeof(header));
  return packet;
}

inline Bytes metadata_packet(uint64_t complete_until, std::vector<Bytes> names = {}) {
  return make_packet({.records = std::move(names),
                      .lost = {},
                      .begin = complete_until,
                      .end = complete_until,
                      .stream = StreamId::metadata});
}

}  // namespace ktraced::test

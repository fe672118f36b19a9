// SPDX-License-Identifier: BSD-2-Clause
#include "schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "bpf/records.h"

namespace ktraced {

namespace {

struct MeaningNames {
  Meaning meaning;
  std::string_view name;  // in JSON schemas; never changed, because traces on disk contain it
  std::string_view typedef_name;  // in bpf/types.h; empty: has no typedef
};

constexpr MeaningNames kMeanings[] = {
    {Meaning::number, "number", ""},
    {Meaning::kaddr, "kaddr", "kaddr_t"},
    {Meaning::hex, "hex", "hex_t"},
    {Meaning::slab_cache, "slab_cache", "slab_cache_t"},
    {Meaning::gfp_flags, "gfp_flags", "gfp_flags_t"},
    {Meaning::numa_node, "numa_node", "node_t"},
    {Meaning::tid, "tid", "pid_tid_t"},
    {Meaning::uid, "uid", "uid_nr_t"},
    {Meaning::cpu, "cpu", "cpu_nr_t"},
    {Meaning::prio, "prio", "prio_t"},
    {Meaning::task_state, "task_state", "task_state_t"},
    {Meaning::syscall_nr, "syscall_nr", "syscall_nr_t"},
    {Meaning::syscall_abi, "syscall_abi", "syscall_abi_t"},
    {Meaning::syscall_abi, "syscall_abi", "syscall_abi16_t"},
    {Meaning::syscall_ret, "syscall_ret", "syscall_ret_t"},
    {Meaning::signo, "signo", "signo_t"},
    {Meaning::sig_code, "sig_code", "sig_code_t"},
    {Meaning::sig_result, "sig_result", "sig_result_t"},
    {Meaning::sample_mode, "sample_mode", "sample_mode_t"},
    {Meaning::errno_nr, "errno_nr", "errno_nr_t"},
    {Meaning::exit_code, "exit_code", "exit_code_t"},
    {Meaning::clone_flags, "clone_flags", "clone_flags_t"},
    {Meaning::sa_flags, "sa_flags", ""},
    {Meaning::boolean, "boolean", "bool_t"},
    {Meaning::failed_fields, "failed_fields", ""},
    {Meaning::text, "text", ""},
};

}  // namespace

bool is_dynamic(const Event& event) { return event.id >= DYNAMIC_ID_FIRST; }

void Schema::add(Event event) {
  by_name_.insert_or_assign(event.name, event.id);
  auto [known, is_new] = by_id_.try_emplace(event.id, events_.size());
  if (is_new)
    events_.push_back(std::move(event));
  else
    events_[known->second] = std::move(event);
}

std::span<const Event> stack_records() {
  const auto number = [](const char* name, uint32_t offset, uint32_t size) {
    return Field{.name = name, .type = size == 8 ? "u64" : "u32", .offset = offset, .size = size};
  };
  const auto hex = [](const char* name, uint32_t offset) {
    return Field{.name = name,
                 .type = "hex_t",
                 .meaning = Meaning::hex,
                 .offset = offset,
                 .size = sizeof(uint64_t)};
  };
  static const std::array<Event, 3> kRecords = {
      Event{.id = RECORD_STACK,
            .name = "stack",
            .doc = "the frames of a stack that events have by its number",
            .fields = {hex("number", offsetof(rec_stack, number)),
                       {.name = "length",
                        .type = "u16",
                        .offset = offsetof(rec_stack, length),
                        .size = sizeof(rec_stack::length)},
                       {.name = "kind",
                        .type = "u8",
                        .offset = offsetof(rec_stack, kind),
                        .size = sizeof(rec_stack::kind)},
                       {.name = "end",
                        .type = "u8",
                        .offset = offsetof(rec_stack, end),
                        .size = sizeof(rec_stack::end)},
                       number("layout", offsetof(rec_stack, layout), 4)},
            .size = sizeof(rec_stack)},
      Event{.id = RECORD_MAPPING,
            .name = "mapping",
            .doc = "executable memory of a process, where frames of its stacks are",
            .fields = {number("process_start", offsetof(rec_mapping, process_start), 8),
                       number("tgid", offsetof(rec_mapping, tgid), 4),
                       number("image", offsetof(rec_mapping, image), 4),
                       hex("start", offsetof(rec_mapping, start)),
                       hex("end", offsetof(rec_mapping, end)),
                       hex("offset", offsetof(rec_mapping, offset)),
                       hex("file", offsetof(rec_mapping, file)),
                       number("layout", offsetof(rec_mapping, layout), 8)},
            .size = sizeof(rec_mapping)},
      Event{.id = RECORD_FILE,
            .name = "file",
            .doc = "a file that mappings have by its number",
            .fields = {hex("number", offsetof(rec_file, number)),
                       number("inode", offsetof(rec_file, inode), 8),
                       number("changed", offsetof(rec_file, changed), 8),
                       number("device", offsetof(rec_file, device), 4),
                       number("flags", offsetof(rec_file, flags), 4),
                       {.name = "path",
                        .type = "char[]",
                        .meaning = Meaning::text,
                        .offset = sizeof(rec_file),
                        .size = 1,
                        .count = 0}},
            .size = sizeof(rec_file)},
  };
  return kRecords;
}

const Event* Schema::find(uint32_t id) const {
  if (auto found = by_id_.find(id); found != by_id_.end()) return &events_[found->second];
  const auto records = stack_records();
  const auto record = std::ranges::find(records, id, &Event::id);
  return record == records.end() ? nullptr : &*record;
}

const Event* Schema::find(std::string_view name) const {
  auto found = by_name_.find(name);
  const Event* event = found == by_name_.end() ? nullptr : find(found->second);
  return event != nullptr && event->name == name ? event : nullptr;
}

std::optional<Meaning> meaning_of_typedef(std::string_view name) {
  if (name.empty()) return std::nullopt;
  auto found = std::ranges::find(kMeanings, name, &MeaningNames::typedef_name);
  if (found == std::end(kMeanings)) return std::nullopt;
  return found->meaning;
}

std::string_view name_of(Meaning meaning) {
  auto found = std::ranges::find(kMeanings, meaning, &MeaningNames::meaning);
  return found == std::end(kMeanings) ? "number" : found->name;
}

std::optional<Meaning> meaning_named(std::string_view name) {
  auto found = std::ranges::find(kMeanings, name, &MeaningNames::name);
  if (found == std::end(kMeanings)) return std::nullopt;
  return found->meaning;
}

std::string_view name_of(MatchedBy matched_by) {
  if (matched_by == MatchedBy::current) return "current";
  return matched_by == MatchedBy::pair ? "pair" : "";
}

MatchedBy matched_by_named(std::string_view name) {
  for (MatchedBy matched_by : {MatchedBy::current, MatchedBy::pair})
    if (name == name_of(matched_by)) return matched_by;
  return MatchedBy::unknown;
}

std::string event_name(const Schema& schema, uint32_t id) {
  const Event* event = schema.find(id);
  return event != nullptr ? event->name : fmt::format("event_{}", id);
}

}  // namespace ktraced

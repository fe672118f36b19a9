// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_kernel_events.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "analysis/coverage/comm.h"
#include "analysis/coverage/event_fields.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

struct KnownMember {
  protozero::pbf_tag_type number;
  std::string_view field;
  bool comm = false;
};

// The message of an event and its members, by the field names of ktraced.
struct KnownEvent {
  std::string_view event;
  protozero::pbf_tag_type number;
  std::array<KnownMember, 7> members;  // unused entries have no number
};

constexpr std::array<KnownMember, 7> kWakeupMembers{
    {{1, "pid", true}, {2, "pid"}, {3, "prio"}, {5, "target_cpu"}}};
constexpr std::array<KnownMember, 7> kAllocationMembers{
    {{1, "bytes_alloc"}, {2, "bytes_req"}, {3, "call_site"}, {4, "gfp_flags"}, {5, "ptr"}}};
constexpr std::array<KnownMember, 7> kFreeMembers{{{1, "call_site"}, {2, "ptr"}}};

constexpr KnownEvent kKnownEvents[] = {
    {"sched_switch",
     4,
     {{{1, "prev_pid", true},
       {2, "prev_pid"},
       {3, "prev_prio"},
       {4, "prev_state"},
       {5, "next_pid", true},
       {6, "next_pid"},
       {7, "next_prio"}}}},
    {"sched_waking", 20, kWakeupMembers},
    {"sched_wakeup", 17, kWakeupMembers},
    {"sched_wakeup_new", 114, kWakeupMembers},
    {"sched_migrate_task",
     491,
     {{{1, "pid", true}, {2, "pid"}, {3, "prio"}, {4, "orig_cpu"}, {5, "dest_cpu"}}}},
    {"sched_process_fork",
     239,
     {{{1, "parent_pid", true}, {2, "parent_pid"}, {3, "child_pid", true}, {4, "child_pid"}}}},
    {"sched_process_exec", 237, {{{1, "filename"}, {2, "pid"}, {3, "old_pid"}}}},
    {"sched_process_exit", 238, {{{1, "pid", true}, {2, "pid"}, {4, "prio"}}}},
    {"task_rename", 236, {{{1, "pid"}, {2, "oldcomm"}, {3, "newcomm"}, {4, "oom_score_adj"}}}},
    {"kmalloc", 299, kAllocationMembers},
    {"kmem_cache_alloc", 301, kAllocationMembers},
    {"kfree", 298, kFreeMembers},
    {"kmem_cache_free", 303, kFreeMembers},
    {"mm_page_alloc", 307, {{{1, "gfp_flags"}, {2, "migratetype"}, {3, "order"}, {4, "page"}}}},
    {"mm_page_free", 310, {{{1, "order"}, {2, "page"}}}},
    {"mark_victim", 334, {{{1, "pid"}}}},
};

void add_text(protozero::pbf_tag_type number, std::string_view text,
              protozero::pbf_writer& message) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f'; });
  if (plain)
    message.add_string(number, text.data(), text.size());
  else
    message.add_string(number, printable(text));
}

}  // namespace

std::optional<PerfettoKernelEvent> PerfettoKernelEvent::of(const Event& event) {
  const auto* known = std::ranges::find(kKnownEvents, event.name, &KnownEvent::event);
  if (known == std::ranges::end(kKnownEvents)) return std::nullopt;
  PerfettoKernelEvent result;
  result.number_ = known->number;
  result.size_ = event.size;
  for (const KnownMember& member : known->members)
    if (auto field = field_named(event, member.field); member.number != 0 && field)
      result.members_.push_back({member.number, std::move(*field), member.comm});
  return result;
}

void PerfettoKernelEvent::write(const NameTable& names, uint32_t cpu, RecordView record,
                                PerfettoBundles& bundles) const {
  bundles.add(cpu, record, [&](protozero::pbf_writer& event) {
    // protozero would omit a message without members: add it explicitly.
    if (record.bytes().size() < size_) return event.add_message(number_, nullptr, 0);
    protozero::pbf_writer message(event, number_);
    for (const Member& member : members_) add(member, names, cpu, record, message);
  });
}

void PerfettoKernelEvent::add(const Member& member, const NameTable& names, uint32_t cpu,
                              RecordView record, protozero::pbf_writer& message) {
  const Field& field = member.field;
  if (field.meaning == Meaning::text)
    return add_text(member.number, text_of(field, record), message);
  const auto value = integer_of(field, record);
  if (!value) return;  // the record is shorter than the schema says
  if (member.comm) {
    CommScratch scratch;
    if (auto comm = comm_at(names, static_cast<uint32_t>(*value), record.ts(), cpu, scratch))
      add_text(member.number, *comm, message);
    return;
  }
  if (field.is_signed)
    message.add_int64(member.number, static_cast<int64_t>(*value));
  else
    message.add_uint64(member.number, *value);
}

}  // namespace ktraced

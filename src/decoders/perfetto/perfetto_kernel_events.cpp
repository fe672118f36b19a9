// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_kernel_events.h"

#include <algorithm>
#include <string_view>

#include "analysis/coverage/comm.h"
#include "decoders/text/safe_text.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

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
  if (event.perfetto == 0) return std::nullopt;
  PerfettoKernelEvent result;
  result.number_ = event.perfetto;
  result.size_ = event.size;
  for (const Field& field : event.fields) {
    if (field.perfetto != 0) result.members_.push_back({field.perfetto, field, false});
    if (field.perfetto_comm != 0) result.members_.push_back({field.perfetto_comm, field, true});
  }
  std::ranges::sort(result.members_, {}, &Member::number);
  return result;
}

PerfettoKernelEvent PerfettoKernelEvent::as(protozero::pbf_tag_type number) const {
  PerfettoKernelEvent other = *this;
  other.number_ = number;
  return other;
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

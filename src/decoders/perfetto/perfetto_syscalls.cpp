// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_syscalls.h"

#include <fmt/format.h>

#include "analysis/coverage/event_fields.h"
#include "analysis/intervals/thread_calls.h"
#include "schema/names.h"

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

namespace {

constexpr size_t kCallArguments = 6;
constexpr std::string_view kEndLost = "not known: events were lost";
constexpr std::string_view kEndUnseen = "not known: it is not in the trace";
constexpr std::string_view kThreadEnded = "the thread ended";

std::string name_of(uint32_t abi, int32_t nr) {
  const std::string_view name = syscall_name(abi, nr);
  return name.empty() ? fmt::format("syscall {}", nr) : std::string(name);
}

void add_string(uint64_t name, std::string_view text, pbf_writer& event) {
  pbf_writer annotation(event, pb::track_event::kAnnotation);
  annotation.add_uint64(pb::annotation::kNameIid, name);
  annotation.add_string(pb::annotation::kString, text.data(), text.size());
}

}  // namespace

SyscallFields SyscallFields::of(const Event& event) {
  return {.nr = field_named(event, "nr"),
          .abi = field_named(event, "abi"),
          .args = field_named(event, "args"),
          .ret = field_named(event, "ret")};
}

void PerfettoSyscalls::intern() {
  if (category_ != 0) return;
  category_ = packets_.category("syscalls");
  args_ = packets_.argument_name("args");
  ret_ = packets_.argument_name("ret");
  error_ = packets_.argument_name("error");
  end_ = packets_.argument_name("end");
}

void PerfettoSyscalls::enter(const SyscallFields& fields, uint64_t track, RecordView record) {
  intern();
  const Call call{.nr = static_cast<int32_t>(value_or_zero(fields.nr, record)),
                  .abi = static_cast<uint32_t>(value_or_zero(fields.abi, record)),
                  .track = track};
  if (const auto before = running_.find(record.tid()); before != running_.end()) {
    end_unknown(before->second, record.ts(), kEndUnseen);
    running_.erase(before);
  }
  begin(call, fields, record);
  if (losing_.empty())
    running_.emplace(record.tid(), call);
  else
    end_unknown(call, record.ts(), kEndLost);
}

void PerfettoSyscalls::begin(const Call& call, const SyscallFields& fields, RecordView record) {
  const PerfettoPackets::Mark mark{.ts = record.ts(),
                                   .track = call.track,
                                   .name = packets_.event_name(name_of(call.abi, call.nr)),
                                   .category = category_};
  packets_.mark(pb::track_event::kBegin, mark, [&](pbf_writer& event) {
    pbf_writer annotation(event, pb::track_event::kAnnotation);
    annotation.add_uint64(pb::annotation::kNameIid, args_);
    for (size_t i = 0; i < kCallArguments; ++i)
      pbf_writer(annotation, pb::annotation::kArray)
          .add_uint64(pb::annotation::kPointer, value_or_zero(fields.args, record, i));
  });
}

void PerfettoSyscalls::exit(const SyscallFields& fields, uint64_t track, RecordView record) {
  intern();
  const auto nr = static_cast<int32_t>(value_or_zero(fields.nr, record));
  const auto abi = static_cast<uint32_t>(value_or_zero(fields.abi, record));
  auto result = [&](pbf_writer& event) { add_result(fields, record, event); };
  if (const auto begun = running_.find(record.tid()); begun != running_.end()) {
    const Call call = begun->second;
    running_.erase(begun);
    if (nr == kSigreturnNumber || (nr == call.nr && abi == call.abi))
      return packets_.mark(pb::track_event::kEnd, {.ts = record.ts(), .track = call.track}, result);
    end_unknown(call, record.ts(), kEndUnseen);
  }
  const std::string name = nr == kSigreturnNumber ? "sigreturn" : name_of(abi, nr);
  packets_.mark(pb::track_event::kInstant,
                {.ts = record.ts(),
                 .track = track,
                 .name = packets_.event_name(name + " returned"),
                 .category = category_},
                result);
}

void PerfettoSyscalls::add_result(const SyscallFields& fields, RecordView record,
                                  pbf_writer& event) {
  const auto ret = static_cast<int64_t>(value_or_zero(fields.ret, record));
  {
    pbf_writer annotation(event, pb::track_event::kAnnotation);
    annotation.add_uint64(pb::annotation::kNameIid, ret_);
    annotation.add_int64(pb::annotation::kInt, ret);
  }
  if (is_error_result(ret))
    if (const auto name = errno_name(static_cast<int32_t>(-ret)); !name.empty())
      add_string(error_, name, event);
}

void PerfettoSyscalls::end_unknown(const Call& call, uint64_t ts, std::string_view why) {
  packets_.mark(pb::track_event::kEnd, {.ts = ts, .track = call.track},
                [&](pbf_writer& event) { add_string(end_, why, event); });
}

void PerfettoSyscalls::end_thread(uint32_t tid, uint64_t ts) {
  const auto found = running_.find(tid);
  if (found == running_.end()) return;
  end_unknown(found->second, ts, kThreadEnded);
  running_.erase(found);
}

void PerfettoSyscalls::lose(uint32_t cpu, uint64_t ts) {
  end_all(ts, kEndLost);
  losing_.insert(cpu);
}

void PerfettoSyscalls::end_all(uint64_t ts, std::string_view why) {
  for (const auto& [tid, call] : running_) end_unknown(call, ts, why);
  running_.clear();
}

}  // namespace ktraced

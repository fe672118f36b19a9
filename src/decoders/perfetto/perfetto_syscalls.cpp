// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_syscalls.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "schema/names.h"

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

namespace {

std::string_view end_text(Unknown why) {
  switch (why) {
    case Unknown::lost:
      return "not known: events were lost";
    case Unknown::config_change:
      return "not known: what is traced was changed";
    case Unknown::gap:
      return "not known: nothing was recorded";
    case Unknown::evicted:
      return "not known: too many calls were running";
    default:
      return "not known: it is not in the trace";
  }
}

std::string_view end_text(const CallInterval& interval) {
  if (interval.end == CallEnd::thread_ended) return "the thread ended";
  if (interval.end == CallEnd::trace_ended) return "after the end of the trace";
  return end_text(interval.unknown);
}

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

void PerfettoSyscalls::intern() {
  if (category_ != 0) return;
  category_ = packets_.category("syscalls");
  args_ = packets_.argument_name("args");
  ret_ = packets_.argument_name("ret");
  error_ = packets_.argument_name("error");
  end_ = packets_.argument_name("end");
}

void PerfettoSyscalls::on_begin(const Call& call, const CallRecord& at, Unknown unknown) {
  const uint32_t tid = at.record.tid();
  const uint64_t track = names_.track(tid, at.from.cpu);
  intern();
  draw_begin(call, at, track);
  if (unknown == Unknown::none)
    drawn_.insert_or_assign(tid, track);
  else
    end_unknown(track, call.begin_ns, end_text(unknown));
}

// `text` makes a title that is not in the table.
template <class Text>
uint64_t PerfettoSyscalls::title_in(Titles& titles, uint32_t abi, int32_t nr, Text&& text) {
  const uint64_t call = uint64_t{abi} << 32 | static_cast<uint32_t>(nr);
  if (const auto found = titles.find(call); found != titles.end()) return found->second;
  const uint64_t title = packets_.event_name(text());
  if (titles.size() < kMaxTitles) titles.emplace(call, title);
  return title;
}

uint64_t PerfettoSyscalls::title_of(const Call& call) {
  return title_in(titles_, call.abi, call.nr, [&] { return name_of(call.abi, call.nr); });
}

uint64_t PerfettoSyscalls::title_of(const CallReturn& returned) {
  if (!returned.is_result) return packets_.event_name("sigreturn returned");
  return title_in(return_titles_, returned.abi, returned.nr,
                  [&] { return name_of(returned.abi, returned.nr) + " returned"; });
}

void PerfettoSyscalls::draw_begin(const Call& call, const CallRecord& at, uint64_t track) {
  const PerfettoPackets::Mark mark{.ts = call.begin_ns,
                                   .track = track,
                                   .name = title_of(call),
                                   .category = category_,
                                   .callstack = callstack_of(at)};
  packets_.mark(pb::track_event::kBegin, mark, [&](pbf_writer& event) {
    if (!call.args_known) return;
    pbf_writer annotation(event, pb::track_event::kAnnotation);
    annotation.add_uint64(pb::annotation::kNameIid, args_);
    for (const uint64_t arg : call.args)
      pbf_writer(annotation, pb::annotation::kArray).add_uint64(pb::annotation::kPointer, arg);
  });
}

void PerfettoSyscalls::on_end(const CallInterval& interval) {
  const CallReturn* returned = interval.returned;
  const uint64_t track =
      returned != nullptr ? names_.track(interval.tid, returned->at.from.cpu) : 0;
  intern();
  if (const auto drawn = drawn_.find(interval.tid); drawn != drawn_.end()) {
    const uint64_t begun_on = drawn->second;
    drawn_.erase(drawn);
    if (interval.end == CallEnd::returned && interval.known())
      return packets_.mark(
          pb::track_event::kEnd,
          {.ts = interval.end_ns, .track = begun_on, .callstack = callstack_of(returned->at)},
          [&](pbf_writer& event) { add_result(*returned, event); });
    end_unknown(begun_on, interval.end_ns, end_text(interval));
  }
  if (returned != nullptr) draw_return(*returned, track);
}

void PerfettoSyscalls::draw_return(const CallReturn& returned, uint64_t track) {
  packets_.mark(pb::track_event::kInstant,
                {.ts = returned.at.record.ts(),
                 .track = track,
                 .name = title_of(returned),
                 .category = category_,
                 .callstack = callstack_of(returned.at)},
                [&](pbf_writer& event) { add_result(returned, event); });
}

void PerfettoSyscalls::add_result(const CallReturn& returned, pbf_writer& event) {
  {
    pbf_writer annotation(event, pb::track_event::kAnnotation);
    annotation.add_uint64(pb::annotation::kNameIid, ret_);
    annotation.add_int64(pb::annotation::kInt, returned.ret);
  }
  if (const auto name = errno_name(returned.error()); !name.empty())
    add_string(error_, name, event);
}

void PerfettoSyscalls::end_unknown(uint64_t track, uint64_t ts, std::string_view why) {
  packets_.mark(pb::track_event::kEnd, {.ts = ts, .track = track},
                [&](pbf_writer& event) { add_string(end_, why, event); });
}

// The track of a thread ends with its id.
void PerfettoSyscalls::on_new_id(uint32_t from, uint32_t /*to*/, uint64_t ts) {
  const auto drawn = drawn_.find(from);
  if (drawn == drawn_.end()) return;
  end_unknown(drawn->second, ts, "the thread ended");
  drawn_.erase(drawn);
}

// In the order of thread ids, so that the output does not depend on that of the table.
void PerfettoSyscalls::on_interrupt(uint64_t ts, Unknown why) {
  const std::map<uint32_t, uint64_t> drawn(drawn_.begin(), drawn_.end());
  for (const auto& [tid, track] : drawn) end_unknown(track, ts, end_text(why));
  drawn_.clear();
}

}  // namespace ktraced

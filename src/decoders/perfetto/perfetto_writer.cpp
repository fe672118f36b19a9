// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_writer.h"

#include <algorithm>
#include <string_view>

#include "analysis/coverage/event_fields.h"
#include "decoders/symbols/frame_namer.h"
#include "decoders/text/safe_text.h"
#include "trace/packet/field_value.h"

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

namespace {

bool is_call(const Event& event) {
  return event.name == "sys_enter" || event.name == "sys_exit" || event.name == "sys_completed";
}

}  // namespace

PerfettoWriter::Source::Source(PerfettoWriter& writer, const PerfettoSource& of)
    : trace(of),
      plans(of.sources.schema, [&writer](const Event& event) { return writer.plan_of(event); }),
      arguments(of.sources, writer.packets_),
      kmem(of.sources.schema) {}

PerfettoWriter::PerfettoWriter(const std::vector<PerfettoSource>& sources,
                               const TraceStacks& stacks, FrameNames& files)
    : stacks_(packets_, stacks,
              frame_namer([this](uint64_t address) { return symbol_at(address); }, files)) {
  for (const PerfettoSource& source : sources) {
    sources_.push_back(std::make_unique<Source>(*this, source));
    calls_.add_source(source.sources.schema, source.sources.names);
    const auto& missed = source.manifest.missed;
    if (const auto found = missed.find("sys_enter"); found != missed.end() && found->second != 0)
      calls_.miss_beginnings();
  }
}

// By any of the traces.
std::string_view PerfettoWriter::symbol_at(uint64_t address) {
  for (const auto& source : sources_)
    if (SymbolResolver* symbols = source->trace.sources.symbols; symbols != nullptr)
      if (const auto symbol = symbols->resolve(address); !symbol.empty()) return symbol;
  return {};
}

PerfettoWriter::Plan PerfettoWriter::plan_of(const Event& event) {
  Plan plan;
  for (const Field& field : event.fields)
    if (field.meaning == Meaning::tid && is_scalar(field)) plan.tasks.push_back(field);
  plan.is_call = is_call(event);
  plan.is_sample = event.name == "cpu_sample";
  if (plan.is_sample) plan.mode = field_named(event, "mode");
  if (plan.is_call || plan.is_sample) return plan;
  plan.kernel = PerfettoKernelEvent::of(event);
  if (event.perfetto == pb::sched_switch::kEvent) {
    plan.prev = field_named(event, "prev_pid");
    plan.next = field_named(event, "next_pid");
  }
  const bool is_first = event.perfetto == pb::sched_wakeup_new::kEvent;
  if (is_first) plan.waking = plan.kernel->as(pb::sched_waking::kEvent);
  if (is_first || event.perfetto == pb::sched_waking::kEvent)
    plan.woken = field_named(event, "pid");
  plan.is_instant = !plan.kernel || event.perfetto_mark;
  plan.ends_calls = event.name == "sched_process_exit" || event.name == "sched_process_exec";
  if (plan.is_instant) {
    plan.title = packets_.event_name(printable(event.name));
    plan.category = packets_.category(printable(event.group));
  }
  return plan;
}

void PerfettoWriter::on_record(const RecordOrigin& from, RecordView record) {
  Source& source = *sources_[from.source];
  begin(source, record.ts());
  see(from.cpu, record.ts());
  ++records_[from.cpu];
  if (const Plan* plan = source.plans.find(record.id()); plan != nullptr)
    write(source, *plan, from, record);
}

void PerfettoWriter::skip(const RecordOrigin& from, RecordView record) {
  begin(*sources_[from.source], record.ts());
  see(from.cpu, record.ts());
  calls_.skip(from, record);
}

void PerfettoWriter::on_loss(const LossItem& loss) {
  Source& source = *sources_[loss.source];
  begin(source, loss.ts);
  last_ns_ = std::max(last_ns_, loss.ts);
  const Event* event = source.trace.sources.schema.find(loss.event_id);
  losses_.lose(loss, printable(event_name(source.trace.sources.schema, loss.event_id)));
  bundles_.lose(loss.cpu);
  lose(source, loss.cpu, loss.ts,
       {.calls = event != nullptr && is_call(*event),
        .memory = source.kmem.is_kmem(loss.event_id),
        .switches = event != nullptr && event->perfetto == pb::sched_switch::kEvent});
}

void PerfettoWriter::lose(const Source& source, uint32_t cpu, uint64_t ts, const Missing& missing) {
  if (missing.calls) calls_.lose(cpu, ts);
  if (missing.switches) states_.lose(cpu, ts, source.trace.sources.names);
  if (!missing.memory) return;
  memory_.restart(ts);
  losing_memory_.insert(cpu);
}

void PerfettoWriter::see(uint32_t cpu, uint64_t ts) {
  last_ns_ = ts;
  losses_.see(cpu, ts);
  calls_.see(cpu);
  if (!losing_memory_.empty() && losing_memory_.erase(cpu) != 0) memory_.restart(ts);
}

void PerfettoWriter::write(Source& source, const Plan& plan, const RecordOrigin& from,
                           RecordView record) {
  const NameTable& names = source.trace.sources.names;
  const uint64_t ts = record.ts();
  names_.see(names, record.tid(), from.cpu, ts);
  for (const Field& task : plan.tasks)
    names_.see(names, static_cast<uint32_t>(integer_of(task, record).value_or(0)), from.cpu, ts);
  if (plan.is_call) return calls_.on_record(from, record);
  if (plan.is_sample)
    return stacks_.add_sample(from.cpu, record, cpu_mode_of(value_or_zero(plan.mode, record)),
                              names);
  if (plan.kernel) {
    follow_states(plan, names, from.cpu, record);
    plan.kernel->write(names, from.cpu, record, bundles_);
    if (plan.waking) plan.waking->write(names, from.cpu, record, bundles_);
  }
  const uint64_t callstack = stacks_.callstack_of(record, names);
  if (plan.is_instant)
    packets_.mark(pb::track_event::kInstant,
                  {.ts = ts,
                   .track = names_.track(record.tid(), from.cpu),
                   .name = plan.title,
                   .category = plan.category,
                   .callstack = callstack},
                  [&](pbf_writer& event) { source.arguments.add(from.cpu, record, event); });
  else if (callstack != 0)
    mark_stack(source, from, record, callstack);
  if (plan.ends_calls) calls_.on_record(from, record);
  if (const auto call = source.kmem.read(record)) memory_.add(*call, names, ts);
}

// Messages of the kernel's events have no callstacks: an instant beside them has it.
void PerfettoWriter::mark_stack(const Source& source, const RecordOrigin& from, RecordView record,
                                uint64_t callstack) {
  const Event* event = source.trace.sources.schema.find(record.id());
  packets_.mark(pb::track_event::kInstant, {.ts = record.ts(),
                                            .track = names_.track(record.tid(), from.cpu),
                                            .name = packets_.event_name(printable(event->name)),
                                            .category = packets_.category(printable(event->group)),
                                            .callstack = callstack});
}

void PerfettoWriter::follow_states(const Plan& plan, const NameTable& names, uint32_t cpu,
                                   RecordView record) {
  const auto id_in = [&](const Field& field) {
    return static_cast<uint32_t>(integer_of(field, record).value_or(0));
  };
  if (plan.prev && plan.next)
    states_.on_switch(cpu, id_in(*plan.prev), id_in(*plan.next), names);
  else if (plan.woken)
    states_.on_waking(id_in(*plan.woken), names);
}

void PerfettoWriter::finish() {
  if (sources_.empty()) return;
  if (!any_begun_) begin(*sources_.front(), sources_.front()->trace.begin_ns);
  const uint64_t end = std::max(last_ns_, covered_until_ns_);
  calls_.finish(end);
  states_.finish(sources_.back()->trace.sources.names);
  memory_.finish();
  losses_.finish(end);
  bundles_.flush();
  add_stats(pb::ftrace_stats::kEnd);
}

// Activities that were running at a config change may have ended unrecorded.
void PerfettoWriter::note_changes(Source& source, uint64_t ts) {
  const std::vector<uint64_t>& changes = source.trace.changes;
  for (; source.changes_seen < changes.size() && changes[source.changes_seen] <= ts;
       ++source.changes_seen) {
    const uint64_t at = std::max(changes[source.changes_seen], last_ns_);
    calls_.interrupt(at, Unknown::config_change);
    states_.interrupt(at, source.trace.sources.names);
    memory_.restart(at);
  }
}

// Writes what comes before the first event of a trace.
void PerfettoWriter::begin(Source& source, uint64_t ts) {
  if (source.begun) return note_changes(source, ts);
  source.begun = true;
  if (!any_begun_) begin_trace();
  add_clocks(source.trace);
  last_ns_ = std::max(last_ns_, ts);
  add_gaps(source);
  any_begun_ = true;
  covered_until_ns_ = std::max(covered_until_ns_, source.trace.end_ns);
}

void PerfettoWriter::begin_trace() {
  const PerfettoSource& first = sources_.front()->trace;
  packets_.add([&](pbf_writer& packet) {
    pbf_writer info(packet, pb::packet::kSystemInfo);
    pbf_writer uts(info, pb::system_info::kUtsname);
    uts.add_string(pb::system_info::kSysname, "Linux");
    uts.add_string(pb::system_info::kRelease, printable(first.manifest.origin.kernel));
    uts.add_string(pb::system_info::kMachine, "x86_64");
  });
  add_stats(pb::ftrace_stats::kStart);
}

void PerfettoWriter::add_clocks(const PerfettoSource& trace) {
  const auto boottime = static_cast<int64_t>(trace.begin_ns);
  packets_.add(trace.begin_ns, [&](pbf_writer& packet) {
    pbf_writer snapshot(packet, pb::packet::kClockSnapshot);
    auto add = [&](uint32_t id, int64_t ns) {
      pbf_writer clock(snapshot, pb::clock_snapshot::kClocks);
      clock.add_uint32(pb::clock_snapshot::kClockId, id);
      clock.add_uint64(pb::clock_snapshot::kClockTimestamp, static_cast<uint64_t>(ns));
    };
    add(pb::clock_snapshot::kBoottime, boottime);
    add(pb::clock_snapshot::kRealtime, boottime + trace.manifest.origin.clock_offset_ns);
    snapshot.add_uint32(pb::clock_snapshot::kPrimaryClock, pb::clock_snapshot::kBoottime);
  });
}

// Marks gaps between this trace and those before it, and where the beginning of a CPU was
// overwritten.
void PerfettoWriter::add_gaps(const Source& source) {
  const PerfettoSource& trace = source.trace;
  const bool after_gap = any_begun_ && trace.begin_ns > covered_until_ns_;
  if (after_gap) {
    calls_.interrupt(covered_until_ns_, Unknown::gap);
    states_.interrupt(covered_until_ns_, trace.sources.names);
    memory_.restart(covered_until_ns_);
  }
  const uint64_t from = std::max(trace.begin_ns, covered_until_ns_);
  for (const CpuAccount& cpu : trace.manifest.cpus) {
    if (after_gap)
      losses_.leave_out(cpu.cpu, covered_until_ns_, trace.begin_ns, "nothing was recorded");
    const uint64_t first = std::min(cpu.first_ns, trace.end_ns);
    if (cpu.total().overwritten == 0 || first <= from) continue;
    losses_.leave_out(cpu.cpu, from, first, "overwritten");
    lose(source, cpu.cpu, last_ns_, {.calls = true, .memory = true, .switches = true});
  }
}

void PerfettoWriter::add_stats(int32_t phase) {
  std::map<uint32_t, EventAccount> cpus;
  for (const auto& source : sources_)
    for (const CpuAccount& cpu : source->trace.manifest.cpus) {
      const EventAccount total = cpu.total();
      cpus[cpu.cpu].records += total.records;
      cpus[cpu.cpu].overwritten += total.overwritten;
    }
  const bool at_end = phase == pb::ftrace_stats::kEnd;
  packets_.add([&](pbf_writer& packet) {
    pbf_writer stats(packet, pb::packet::kFtraceStats);
    stats.add_enum(pb::ftrace_stats::kPhase, phase);
    for (const auto& [number, account] : cpus) {
      pbf_writer cpu(stats, pb::ftrace_stats::kCpuStats);
      cpu.add_uint64(pb::ftrace_stats::kCpu, number);
      cpu.add_uint64(pb::ftrace_stats::kEntries, at_end ? 0 : account.records);
      cpu.add_uint64(pb::ftrace_stats::kOverrun, at_end ? account.overwritten : 0);
      cpu.add_uint64(pb::ftrace_stats::kDroppedEvents, at_end ? losses_.lost(number) : 0);
      cpu.add_uint64(pb::ftrace_stats::kReadEvents, at_end ? records_[number] : 0);
    }
  });
}

}  // namespace ktraced

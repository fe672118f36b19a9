// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/tracedat/trace_dat_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "decoders/text/safe_text.h"
#include "decoders/tracedat/trace_dat_header.h"

namespace ktraced {

namespace {

// Number of the first event in the file: lower ones belong to the kernel's own tracers.
constexpr size_t kFirstId = 32;
// Without fields or text: its page says that events before it were lost.
constexpr std::string_view kLossEvent = "lost_events", kLossGroup = "ktraced";

bool is_laid_out_alike(const Event& a, const Event& b) {
  return a.name == b.name && a.group == b.group && a.fields == b.fields && a.ftrace == b.ftrace;
}

}  // namespace

TraceDatWriter::TraceDatWriter(const std::vector<TraceDatSource>& sources) {
  for (const TraceDatSource& source : sources) sources_.push_back(std::make_unique<Source>(source));
}

const EventLayout& TraceDatWriter::lay_out(Event event) {
  for (const auto& [known, layout] : layouts_)
    if (is_laid_out_alike(known, event)) return *layout;
  const auto id = static_cast<uint16_t>(kFirstId + layouts_.size());
  auto layout = std::make_unique<EventLayout>(event, id);
  return *layouts_.emplace_back(std::move(event), std::move(layout)).second;
}

const EventLayout& TraceDatWriter::layout_of(Source& source, uint32_t id) {
  const EventLayout*& layout = source.layouts[id];
  if (layout == nullptr) {
    const Schema& schema = source.trace.sources.schema;
    const Event* event = schema.find(id);
    layout = &lay_out(event != nullptr ? *event
                                       : Event{.name = event_name(schema, id), .group = "unknown"});
  }
  return *layout;
}

RingBufferPages* TraceDatWriter::pages_of(uint32_t cpu) {
  if (cpu < kMaxCpus) return &cpus_[cpu];
  refused_cpu_ = cpu;
  return nullptr;
}

void TraceDatWriter::on_record(const RecordOrigin& from, RecordView record) {
  RingBufferPages* pages = pages_of(from.cpu);
  if (pages == nullptr) return;
  Source& source = *sources_[from.source];
  const NameTable& names = source.trace.sources.names;
  name_thread(names, record);
  text_.clear();
  source.text.message(from.cpu, record, text_);
  event_.clear();
  layout_of(source, record.id()).append(from.cpu, record, text_.view(), names, event_);
  last_ns_ = record.ts();
  if (event_.size() > RingBufferPages::kMaxEvent) {
    ++too_long_;
    return lose(from.cpu, *pages, 1);
  }
  pages->add(record.ts(), event_);
  ++accounts_[from.cpu].records;
}

void TraceDatWriter::lose(uint32_t cpu, RingBufferPages& pages, uint64_t count) {
  pages.lose(count);
  accounts_[cpu].lost += count;
}

void TraceDatWriter::on_loss(const LossItem& loss) {
  RingBufferPages* pages = pages_of(loss.cpu);
  if (pages == nullptr) return;
  lose(loss.cpu, *pages, loss.count);
  last_ns_ = std::max(last_ns_, loss.ts);
}

// The file has one name for each thread: the last one, as the kernel's own tracer has.
void TraceDatWriter::name_thread(const NameTable& names, RecordView record) {
  const TaskName* task = names.task_at(record.tid(), record.ts());
  if (task == nullptr) return;
  std::string& comm = comms_[record.tid()];
  if (comm != task->comm()) comm = task->comm();
}

// The flag of lost events belongs to a page with events.
void TraceDatWriter::mark_loss_at_end(uint32_t cpu, RingBufferPages& pages) {
  const EventLayout& layout =
      lay_out({.name = std::string(kLossEvent), .group = std::string(kLossGroup)});
  const ::record bare{.ts = last_ns_, .id = 0, .size = sizeof(::record), .tid = 0};
  const RecordView record(reinterpret_cast<const std::byte*>(&bare));
  event_.clear();
  layout.append(cpu, record, "", NameTable(), event_);
  pages.add(last_ns_, event_);
}

void TraceDatWriter::finish() {
  for (auto& [cpu, pages] : cpus_) {
    if (pages.ends_with_loss()) mark_loss_at_end(cpu, pages);
    pages.finish();
  }
}

// Behind a number without a name, readers of the file understand no other line.
std::string TraceDatWriter::comms() const {
  std::string lines;
  for (const auto& [tid, comm] : std::map(comms_.begin(), comms_.end()))
    if (comm.find_first_not_of(" \t") != std::string::npos)
      lines += fmt::format("{} {}\n", tid, printable(comm));
  return lines;
}

// In the form of per_cpu/cpuN/stats.
std::string TraceDatWriter::stats_of(uint32_t cpu) const {
  uint64_t overwritten = 0;
  for (const auto& source : sources_)
    for (const CpuAccount& account : source->trace.manifest.cpus)
      if (account.cpu == cpu) overwritten += account.total().overwritten;
  const auto found = accounts_.find(cpu);
  const EventAccount account = found == accounts_.end() ? EventAccount{} : found->second;
  return fmt::format(
      "CPU: {}\nentries: 0\noverrun: {}\ncommit overrun: 0\ndropped events: {}\nread events: {}\n",
      cpu, overwritten, account.lost, account.records);
}

std::string TraceDatWriter::header(const std::map<uint32_t, uint64_t>& bytes) const {
  TraceDatHeader header;
  for (const auto& [event, layout] : layouts_)
    header.formats[layout->group()].push_back(layout->format());
  header.comms = comms();
  if (!sources_.empty()) {
    const TraceOrigin& origin = sources_.front()->trace.manifest.origin;
    header.kernel = fmt::format("Linux {} {}", printable(origin.host), printable(origin.kernel));
  }
  const uint32_t cpus = cpus_.empty() ? 1 : cpus_.rbegin()->first + 1;
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
    header.cpu_stats.push_back(stats_of(cpu));
    const auto found = bytes.find(cpu);
    header.cpu_bytes.push_back(found == bytes.end() ? 0 : found->second);
  }
  return trace_dat_header(header);
}

}  // namespace ktraced

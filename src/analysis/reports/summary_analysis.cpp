// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/summary_analysis.h"

#include <algorithm>
#include <tuple>

namespace ktraced {

void SummaryAnalysis::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back({&schema, &names, {}});
}

SummaryAnalysis::Count& SummaryAnalysis::count_of(Source& source, uint32_t id) {
  const size_t at = std::min<size_t>(id, EVENT_ID_MAX);
  if (at >= source.counts.size()) source.counts.resize(at + 1);
  return source.counts[at];
}

void SummaryAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  if (!is_selected(from, record)) return;
  Source& source = sources_[from.source];
  if (Count& count = count_of(source, record.id()); count.events++ == 0)
    count.first_ns = record.ts();
  ++total_.events;
  Cpu& cpu = cpus_[from.cpu];
  if (cpu.count.events++ == 0) cpu.first_ns = record.ts();
  cpu.last_ns = record.ts();
  if (total_.events == 1) first_ns_ = record.ts();
  last_ns_ = record.ts();
  add_process(*source.names, record);
}

void SummaryAnalysis::add_process(const NameTable& names, RecordView record) {
  const Actor actor = actor_of(record, names);
  const auto number = numbers_.of(actor);
  if (!number) {
    ++other_events_;
    return;
  }
  if (*number == processes_.size()) processes_.emplace_back().first_ns = record.ts();
  Process& process = processes_[*number];
  ++process.events;
  process.learn(actor);
}

void SummaryAnalysis::on_loss(const LossItem& loss) {
  if (loss.count == 0 || !selects_loss(loss)) return;
  count_of(sources_[loss.source], loss.event_id).lost += loss.count;
  cpus_[loss.cpu].count.lost += loss.count;
  total_.lost += loss.count;
}

std::map<std::string, SummaryAnalysis::Count> SummaryAnalysis::events() const {
  std::map<std::string, Count> events;
  for (const Source& source : sources_)
    for (uint32_t id = 0; id < source.counts.size(); ++id) {
      const Count& count = source.counts[id];
      if (count.events == 0 && count.lost == 0) continue;
      Count& sum = events[event_name(*source.schema, id)];
      if (count.events != 0 && (sum.events == 0 || count.first_ns < sum.first_ns))
        sum.first_ns = count.first_ns;
      sum.events += count.events;
      sum.lost += count.lost;
    }
  return events;
}

std::vector<SummaryAnalysis::Process> SummaryAnalysis::processes() const {
  std::vector<Process> list = processes_;
  std::ranges::sort(list, [](const Process& a, const Process& b) {
    return std::tie(b.events, a.pid, a.start_ns) < std::tie(a.events, b.pid, b.start_ns);
  });
  return list;
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/trace_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/text/json_access.h"
#include "ctl/archive/open_history.h"
#include "ctl/input/config_caveats.h"
#include "ctl/input/report_text.h"
#include "ctl/input/trace_texts.h"
#include "ctl/input/traced_events.h"

namespace ktraced {
namespace {

using nlohmann::json;

json trace_facts(const TraceReader& trace) {
  const Manifest& manifest = trace.manifest();
  std::vector<std::string> reasons = manifest.incomplete_because;
  for (const Error& damage : trace.damage()) reasons.push_back(damage.message);
  return {{"path", trace.path().string()},
          {"kind", trace.unfinished()                     ? "unfinished trace"
                   : manifest.kind == TraceKind::snapshot ? "snapshot"
                                                          : "recording"},
          {"host", manifest.origin.host},
          {"kernel", manifest.origin.kernel},
          {"complete", !trace.unfinished() && manifest.complete() && trace.damage().empty()},
          {"incomplete_because", std::move(reasons)}};
}

json accounts_of(const History& history) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> sums;  // missed, overwritten
  for (const TraceReader& trace : history.traces()) {
    for (const auto& [event, missed] : trace.manifest().missed) sums[event].first += missed;
    for (const CpuAccount& cpu : trace.manifest().cpus)
      for (const auto& [event, account] : cpu.events) sums[event].second += account.overwritten;
  }
  json accounts = json::object();
  for (const auto& [event, sum] : sums)
    if (sum.first != 0 || sum.second != 0)
      accounts[event] = {{"missed", sum.first}, {"overwritten", sum.second}};
  return accounts;
}

// Reasons why a trace is incomplete, other than its losses and `missed`.
std::vector<std::string> other_reasons(const Manifest& manifest) {
  Manifest counted;
  counted.cpus = manifest.cpus;
  counted.missed = manifest.missed;
  add_losses(counted);
  std::vector<std::string> reasons;
  for (const std::string& reason : manifest.incomplete_because)
    if (std::ranges::find(counted.incomplete_because, reason) == counted.incomplete_because.end())
      reasons.push_back(reason);
  return reasons;
}

// The trace configs over all traces, which have these extents.
std::vector<ConfigSpan> history_spans(const History& history,
                                      const std::vector<TimeWindow>& extents) {
  std::vector<ConfigSpan> spans;
  for (size_t i = 0; i < extents.size(); ++i) {
    const Manifest& manifest = history.traces()[i].manifest();
    for (ConfigSpan& span : spans_of(manifest.config, extents[i].begin_ns, extents[i].end_ns)) {
      if (span.begin_ns > history.window().end_ns) continue;
      for (const auto& [event, hits] : manifest.missed)
        if (hits != 0) span.config.missed.insert(event);
      spans.push_back(std::move(span));
    }
  }
  std::ranges::stable_sort(spans, {}, &ConfigSpan::begin_ns);
  return spans;
}

// The spans in the window, cut where it begins and ends.
std::vector<ConfigSpan> in_window(std::vector<ConfigSpan> spans, const TimeWindow& window) {
  std::erase_if(spans, [&](const ConfigSpan& span) { return span.end_ns < window.begin_ns; });
  for (ConfigSpan& span : spans) {
    span.begin_ns = std::max(span.begin_ns, window.begin_ns);
    span.end_ns = std::min(span.end_ns, window.end_ns);
  }
  return spans;
}

// Is there a time between two successive traces of which no CPU has anything? A trace that
// continues another begins with the nanosecond after its last.
bool is_gap(const TraceReader& before, const TraceReader& after) {
  return after.begin_ns() > before.end_ns() + 1;
}

// These spans, and tracing as paused in the gaps: nothing is known of what happened there.
std::vector<ConfigSpan> paused_in(const std::vector<TimeWindow>& gaps,
                                  const std::vector<ConfigSpan>& spans) {
  const auto config_at = [&](uint64_t ns) {
    const auto next = std::ranges::upper_bound(spans, ns, {}, &ConfigSpan::begin_ns);
    return next == spans.begin() ? TraceConfig() : std::prev(next)->config;
  };
  std::vector<ConfigSpan> paused = spans;
  for (const TimeWindow& gap : gaps) {
    const uint64_t after_ns = gap.end_ns + 1;
    std::erase_if(paused, [&](const ConfigSpan& span) {
      return span.begin_ns >= gap.begin_ns && span.begin_ns <= after_ns;
    });
    paused.push_back(
        {.begin_ns = gap.begin_ns, .end_ns = gap.end_ns, .config = config_at(gap.begin_ns)});
    paused.back().config.running = false;
    // Resumed in the gap, so that what happens in the nanosecond after it is after that.
    paused.push_back({.begin_ns = gap.end_ns, .end_ns = after_ns, .config = config_at(after_ns)});
  }
  std::ranges::stable_sort(paused, {}, &ConfigSpan::begin_ns);
  return paused;
}

// Events of CPUs whose beginning was overwritten, unless that is in a gap: they may be missing
// before the first record of their trace. As losses with count 0.
std::vector<LossItem> beginning_of(const History& history, uint32_t source,
                                   const std::vector<TimeWindow>& gaps) {
  const TraceReader& trace = history.traces()[source];
  std::vector<LossItem> losses;
  for (const CpuAccount& cpu : trace.manifest().cpus) {
    if (cpu.total().overwritten == 0 || cpu.first_ns <= history.window().begin_ns) continue;
    if (std::ranges::any_of(gaps, [&](const TimeWindow& gap) {
          return cpu.first_ns >= gap.begin_ns && cpu.first_ns <= gap.end_ns + 1;
        }))
      continue;
    for (const auto& [name, account] : cpu.events)
      if (const Event* event = trace.schema().find(name); event != nullptr)
        losses.push_back({.cpu = cpu.cpu, .event_id = event->id, .count = 0, .source = source});
  }
  return losses;
}

// All events that the CPU may have had there, as losses with count 0.
std::vector<LossItem> losses_of(const TraceReader& trace, const History::Unreadable& what) {
  std::vector<LossItem> losses;
  for (const Event& event : trace.schema().events())
    losses.push_back(
        {.ts = what.ts, .cpu = what.cpu, .event_id = event.id, .count = 0, .source = what.source});
  return losses;
}

// Adds a caveat if there is a gap between two successive traces.
void caveat_gap(const TraceReader& before, const TraceReader& after, ReportFacts& facts) {
  if (!is_gap(before, after)) return;
  if (after.begin_ns() <= facts.begin_ns || before.end_ns() >= facts.end_ns) return;
  facts.caveat(
      fmt::format("nothing is in the traces for {:.3f} s before {}",
                  in_seconds(after.begin_ns() - before.end_ns()), after.path().filename().string()),
      after.begin_ns());
}

// The times that all CPUs have in a trace of this extent.
TimeWindow common_of(const TraceReader& trace, const TimeWindow& extent) {
  if (trace.unfinished()) return extent;
  return {.begin_ns = window_of(trace.manifest()).begin_ns, .end_ns = extent.end_ns};
}

// Adds caveats for CPUs whose ring begins later than that of another one. `of_trace` names the
// trace if there are several, and it begins at `begin_ns`.
void caveat_overwritten(const TraceReader& trace, uint64_t begin_ns, const std::string& of_trace,
                        ReportFacts& facts) {
  const uint64_t begin = std::max(begin_ns, facts.begin_ns);
  if (begin > facts.end_ns) return;
  for (const CpuAccount& cpu : trace.manifest().cpus)
    if (cpu.total().overwritten != 0 && cpu.first_ns > begin)
      facts.caveat(fmt::format("what CPU {} did in the first {:.3f} s{} was overwritten", cpu.cpu,
                               in_seconds(cpu.first_ns - begin), of_trace),
                   cpu.first_ns);
}

}  // namespace

Result<std::unique_ptr<ReportInput>> TraceInput::open(const std::vector<std::string>& directories,
                                                      bool partial, const TimeArgs& times) {
  auto history = open_history(directories, partial);
  if (!history) return propagate(history);
  if (auto selected = select_times(times, *history); !selected) return propagate(selected);
  print_previous(*history);
  auto input = std::make_unique<TraceInput>(std::move(*history), times);
  if (!times.since && !times.last_s) input->limit_to_all_cpus();
  return std::unique_ptr<ReportInput>(std::move(input));
}

void TraceInput::limit_to_all_cpus() {
  const uint64_t end_ns = history_.window().end_ns, begin_ns = common_ns();
  if (begin_ns > end_ns) return;
  of_all_cpus_ = true;
  const bool differs = std::ranges::any_of(
      extents(), [=](const TimeWindow& trace) { return trace.begin_ns < begin_ns; });
  if (differs) history_.set_window({.begin_ns = begin_ns, .end_ns = end_ns});
  history_.leave_out(gaps());
}

uint64_t TraceInput::common_ns() {
  uint64_t begin_ns = UINT64_MAX;
  for (size_t i = 0; i < extents().size(); ++i)
    begin_ns = std::min(begin_ns, common_of(history_.traces()[i], extents()[i]).begin_ns);
  return begin_ns == UINT64_MAX ? 0 : begin_ns;
}

TimeWindow TraceInput::covered(size_t source) {
  const TraceReader& trace = history_.traces()[source];
  const TimeWindow& extent = extents()[source];
  if (of_all_cpus_ || trace.unfinished()) return common_of(trace, extent);
  return {.begin_ns = std::min(extent.begin_ns, trace.begin_ns()), .end_ns = extent.end_ns};
}

std::vector<TimeWindow> TraceInput::gaps() {
  std::vector<TimeWindow> parts, between;
  for (size_t i = 0; i < extents().size(); ++i)
    if (const TimeWindow part = covered(i); part.begin_ns <= part.end_ns) parts.push_back(part);
  std::ranges::sort(parts, {}, &TimeWindow::begin_ns);
  uint64_t end_ns = parts.empty() ? 0 : parts.front().begin_ns;
  for (const TimeWindow& part : parts) {
    if (part.begin_ns > end_ns + 1)
      between.push_back({.begin_ns = end_ns + 1, .end_ns = part.begin_ns - 1});
    end_ns = std::max(end_ns, part.end_ns);
  }
  return between;
}

const std::vector<TimeWindow>& TraceInput::extents() {
  while (extents_.size() < history_.traces().size())
    extents_.push_back(history_.extent(extents_.size()));
  return extents_;
}

ReportFacts TraceInput::facts(const std::vector<std::string>& needed) {
  const auto& traces = history_.traces();
  ReportFacts facts{.begin_ns = UINT64_MAX, .caveats = {}, .sources = json::array()};
  for (size_t i = 0; i < traces.size(); ++i) {
    facts.begin_ns = std::min(facts.begin_ns, extents()[i].begin_ns);
    facts.end_ns = std::max(facts.end_ns, extents()[i].end_ns);
    facts.sources.push_back(trace_facts(traces[i]));
    facts.commands_complete = facts.commands_complete && traces[i].manifest().commands_complete;
  }
  facts.furthest_ns = facts.begin_ns;
  facts.common_ns = common_ns();
  facts.begin_ns = std::max(facts.begin_ns, history_.window().begin_ns);
  facts.end_ns = std::min(facts.end_ns, history_.window().end_ns);
  facts.begin_ns = std::min(facts.begin_ns, facts.end_ns);
  for (const TimeWindow& gap : gaps()) {
    if (gap.end_ns < facts.begin_ns || gap.begin_ns > facts.end_ns) continue;
    if (gap.end_ns >= facts.end_ns && gap.begin_ns > facts.begin_ns)
      facts.end_ns = gap.begin_ns - 1;  // nothing comes after it
    else
      facts.gaps.push_back({.begin_ns = std::max(gap.begin_ns, facts.begin_ns),
                            .end_ns = std::min(gap.end_ns, facts.end_ns)});
  }
  facts.clocks = clock_offsets(history_);
  facts.accounts = accounts_of(history_);
  if (!history_.verdict()) facts.caveat("a part of the traces could not be read");
  for (ConfigCaveat& caveat : caveats_of_config(needed))
    facts.caveat(std::move(caveat.text), caveat.until_ns);
  for (size_t i = 0; i < traces.size(); ++i) {
    const std::string name = traces[i].path().filename().string();
    caveat_overwritten(traces[i], std::min(extents()[i].begin_ns, traces[i].begin_ns()),
                       traces.size() > 1 ? " of " + name : "", facts);
    caveat_missed(needed, json(traces[i].manifest().missed), facts);
    for (std::string& reason : other_reasons(traces[i].manifest())) facts.caveat(std::move(reason));
    if (i != 0) caveat_gap(traces[i - 1], traces[i], facts);
  }
  return facts;
}

std::vector<ConfigCaveat> TraceInput::caveats_of_config(std::span<const std::string> needed,
                                                        Needed of_each) {
  const auto spans = in_window(history_spans(history_, extents()), history_.window());
  return config_caveats(spans, needed, of_each);
}

std::optional<std::set<std::string>> TraceInput::traced() const { return traced_events(history_); }

Result<std::vector<Selection>> TraceInput::select(const SelectionArgs& args) const {
  return selections_for(history_, args);
}

KnownTasks TraceInput::tasks() const { return known_tasks(history_); }

std::unique_ptr<TaskHistory> TraceInput::lives(bool always) const {
  if (history_.is_whole() && !always) return nullptr;
  auto tasks = std::make_unique<TaskHistory>(history_);
  const std::atomic<bool> never = false;
  static_cast<void>(tasks->read_events(never));
  return tasks;
}

std::string TraceInput::unmet_selection() const {
  return feed_ && !feed_->any_record() ? typed_times(times_) : "";
}

Result<> TraceInput::read(Analysis& analysis) {
  begin(analysis);
  while (read_more()) {
  }
  return {};
}

void TraceInput::begin(Analysis& analysis) {
  AnalysisFeed& feed = feed_.emplace(analysis);
  const std::vector<TimeWindow> between = gaps();
  for (uint32_t source = 0; source < history_.traces().size(); ++source) {
    const TraceReader& trace = history_.traces()[source];
    analysis.add_source(trace.schema(), trace.names());
    feed.add_beginning(source, beginning_of(history_, source, between));
  }
  for (ConfigSpan& span : paused_in(between, history_spans(history_, extents())))
    feed.add_change(span.begin_ns, std::move(span.config));
  history_.on_unreadable([this](const History::Unreadable& what) {
    for (const LossItem& loss : losses_of(history_.traces()[what.source], what))
      feed_->on_loss(loss);
  });
}

bool TraceInput::read_more() {
  if (history_.read(*feed_)) return true;
  feed_->finish();
  return false;
}

bool TraceInput::has_stacks() const {
  return std::ranges::any_of(history_.traces(),
                             [](const TraceReader& trace) { return trace.schema().stacks; });
}

void TraceInput::read_stacks(TraceStacks& stacks) {
  const std::atomic<bool> never = false;
  if (!history_.is_whole()) static_cast<void>(stacks.read_all(history_, never));
}

std::string_view TraceInput::symbol(uint64_t address) {
  for (const TraceReader& trace : history_.traces())
    if (auto found = trace.symbols().find(address); found != trace.symbols().end())
      return found->second;
  return {};
}

}  // namespace ktraced

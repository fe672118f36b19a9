// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/trace_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "ctl/json_access.h"
#include "ctl/report_text.h"
#include "ctl/scope_doubts.h"
#include "ctl/scope_marks.h"
#include "ctl/traced_events.h"

namespace ktraced {
namespace {

using nlohmann::json;

json trace_facts(const TraceReader& trace) {
  const Manifest& manifest = trace.manifest();
  return {{"path", trace.path().string()},
          {"kind", manifest.kind == TraceKind::snapshot ? "snapshot" : "recording"},
          {"host", manifest.origin.host},
          {"kernel", manifest.origin.kernel},
          {"complete", !trace.unfinished() && manifest.complete()},
          {"incomplete_because", manifest.incomplete_because}};
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

// Why a trace is not complete, but for what its losses and `missed` say.
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

// When what is known of a trace begins.
uint64_t window_begin(const TraceReader& trace) {
  return trace.unfinished() ? trace.begin_ns() : window_of(trace.manifest()).begin_ns;
}

// What was traced, over all traces.
std::vector<ScopeSpan> history_spans(const History& history) {
  std::vector<ScopeSpan> spans;
  for (const TraceReader& trace : history.traces())
    for (ScopeSpan& span : spans_of(trace.manifest().config, window_begin(trace), trace.end_ns()))
      spans.push_back(std::move(span));
  std::ranges::stable_sort(spans, {}, &ScopeSpan::begin_ns);
  return spans;
}

// Tells an analysis where a trace begins in the middle of things, as losses of an unknown number:
// CPUs whose beginning was overwritten, and all of a trace that does not continue the one before.
class Beginnings : public MergeSink {
 public:
  Beginnings(const History& history, MergeSink& sink)
      : history_(history), sink_(sink), begun_(history.traces().size()) {}
  void on_record(const RecordOrigin& from, RecordView record) override {
    if (!begun_[from.source]) begin(from.source, record.ts());
    sink_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override { sink_.on_loss(loss); }

 private:
  void begin(uint32_t source, uint64_t ts) {
    begun_[source] = true;
    const TraceReader& trace = history_.traces()[source];
    const bool after_gap = source != 0 && trace.begin_ns() > history_.traces()[source - 1].end_ns();
    for (const CpuAccount& cpu : trace.manifest().cpus) {
      if (!after_gap && cpu.total().overwritten == 0) continue;
      for (const auto& [name, account] : cpu.events)
        if (const Event* event = trace.schema().find(name); event != nullptr)
          sink_.on_loss(
              {.ts = ts, .cpu = cpu.cpu, .event_id = event->id, .count = 0, .source = source});
    }
  }

  const History& history_;
  MergeSink& sink_;
  std::vector<bool> begun_;
};

// Of two that follow each other: is there nothing of the time between them?
void doubt_gap(const TraceReader& before, const TraceReader& after, ReportFacts& facts) {
  if (after.begin_ns() <= before.end_ns()) return;
  facts.doubt(
      fmt::format("nothing was recorded for {:.3f} s before {}",
                  in_seconds(after.begin_ns() - before.end_ns()), after.path().filename().string()),
      after.begin_ns());
}

// CPUs whose ring begins later than that of another one. `of_trace` says of which trace, if there
// are several.
void doubt_overwritten(const TraceReader& trace, const std::string& of_trace, ReportFacts& facts) {
  const uint64_t begin = window_begin(trace);
  for (const CpuAccount& cpu : trace.manifest().cpus)
    if (cpu.total().overwritten != 0 && cpu.first_ns > begin)
      facts.doubt(fmt::format("what CPU {} did in the first {:.3f} s{} was overwritten", cpu.cpu,
                              in_seconds(cpu.first_ns - begin), of_trace),
                  cpu.first_ns);
}

}  // namespace

Result<std::unique_ptr<ReportInput>> TraceInput::open(const std::vector<std::string>& directories,
                                                      bool partial) {
  const std::vector<std::filesystem::path> paths(directories.begin(), directories.end());
  auto history = History::open(paths, partial);
  if (!history) return pass_on(history);
  return std::unique_ptr<ReportInput>(new TraceInput(std::move(*history)));
}

ReportFacts TraceInput::facts(const std::vector<std::string>& needed) {
  const auto& traces = history_.traces();
  ReportFacts facts{.begin_ns = UINT64_MAX, .doubts = {}, .sources = json::array()};
  for (const TraceReader& trace : traces) {
    facts.begin_ns = std::min(facts.begin_ns, window_begin(trace));
    facts.end_ns = std::max(facts.end_ns, trace.end_ns());
    facts.sources.push_back(trace_facts(trace));
  }
  facts.begin_ns = std::min(facts.begin_ns, facts.end_ns);
  facts.accounts = accounts_of(history_);
  if (!history_.verdict()) facts.doubt("a part of the traces could not be read");
  const auto spans = history_spans(history_);
  for (ScopeDoubt& doubt : scope_doubts(spans, needed))
    facts.doubt(std::move(doubt.text), doubt.until_ns);
  for (size_t i = 0; i < traces.size(); ++i) {
    const std::string name = traces[i].path().filename().string();
    doubt_overwritten(traces[i], traces.size() > 1 ? " of " + name : "", facts);
    doubt_missed(needed, json(traces[i].manifest().missed), facts);
    for (std::string& reason : other_reasons(traces[i].manifest())) facts.doubt(std::move(reason));
    if (i != 0) doubt_gap(traces[i - 1], traces[i], facts);
  }
  return facts;
}

std::optional<std::set<std::string>> TraceInput::traced() const { return traced_events(history_); }

Result<> TraceInput::read(Analysis& analysis) {
  for (const TraceReader& trace : history_.traces())
    analysis.add_source(trace.schema(), trace.names());
  ScopeMarks marks(analysis);
  for (ScopeSpan& span : history_spans(history_)) marks.add(span.begin_ns, std::move(span.scope));
  Beginnings sink(history_, marks);
  while (history_.read(sink)) {
  }
  marks.finish();
  return {};
}

std::string_view TraceInput::symbol(uint64_t address) {
  for (const TraceReader& trace : history_.traces())
    if (auto found = trace.symbols().find(address); found != trace.symbols().end())
      return found->second;
  return {};
}

}  // namespace ktraced

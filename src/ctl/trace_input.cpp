#include "ctl/trace_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "ctl/json_access.h"

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

// Tells an analysis where a trace begins in the middle of things, as losses of an unknown number:
// CPUs whose beginning was overwritten, and all of a trace that does not continue the one before.
class Beginnings : public MergeSink {
 public:
  Beginnings(const History& history, Analysis& analysis)
      : history_(history), analysis_(analysis), begun_(history.traces().size()) {}
  void on_record(const RecordOrigin& from, RecordView record) override {
    if (!begun_[from.source]) begin(from.source, record.ts());
    analysis_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override { analysis_.on_loss(loss); }

 private:
  void begin(uint32_t source, uint64_t ts) {
    begun_[source] = true;
    const TraceReader& trace = history_.traces()[source];
    const bool after_gap = source != 0 && trace.begin_ns() > history_.traces()[source - 1].end_ns();
    for (const CpuAccount& cpu : trace.manifest().cpus) {
      if (!after_gap && cpu.total().overwritten == 0) continue;
      for (const auto& [name, account] : cpu.events)
        if (const Event* event = trace.schema().find(name); event != nullptr)
          analysis_.on_loss(
              {.ts = ts, .cpu = cpu.cpu, .event_id = event->id, .count = 0, .source = source});
    }
  }

  const History& history_;
  Analysis& analysis_;
  std::vector<bool> begun_;
};

// Collects what is said against the traces.
class Doubts {
 public:
  explicit Doubts(ReportFacts& facts) : facts_(facts) {}

  void add(const TraceReader& trace, const std::vector<std::string>& needed) {
    const Manifest& manifest = trace.manifest();
    add_overwritten(trace);
    for (std::string& doubt :
         general_doubts(needed, member(manifest.config, "events"), json(manifest.missed),
                        member(manifest.config, "filter")))
      always(std::move(doubt));
    for (std::string& reason : other_reasons(manifest)) always(std::move(reason));
  }
  void add_damage() { always("a part of the traces could not be read"); }
  void add_gap(const TraceReader& before, const TraceReader& after) {
    if (after.begin_ns() <= before.end_ns()) return;
    since(after.begin_ns(),
          fmt::format("nothing was recorded for {:.3f} s before {}",
                      static_cast<double>(after.begin_ns() - before.end_ns()) / 1e9,
                      after.path().filename().string()));
  }

 private:
  // A flight ring has its own beginning on each CPU.
  void add_overwritten(const TraceReader& trace) {
    for (const CpuAccount& cpu : trace.manifest().cpus)
      if (cpu.total().overwritten != 0)
        since(
            cpu.first_ns,
            fmt::format(
                "what CPU {} did in the first {:.3f} s was overwritten", cpu.cpu,
                static_cast<double>(cpu.first_ns - std::min(cpu.first_ns, facts_.begin_ns)) / 1e9));
  }
  void since(uint64_t ns, std::string why) {
    if (ns <= facts_.begin_ns) return;
    facts_.whole_since_ns = std::max(facts_.whole_since_ns, ns);
    say(std::move(why));
  }
  void always(std::string why) {
    facts_.whole_since_ns = UINT64_MAX;
    say(std::move(why));
  }
  void say(std::string why) {
    if (std::ranges::find(facts_.doubts, why) == facts_.doubts.end())
      facts_.doubts.push_back(std::move(why));
  }

  ReportFacts& facts_;
};

}  // namespace

Result<std::unique_ptr<ReportInput>> TraceInput::open(const std::vector<std::string>& directories,
                                                      bool partial) {
  const std::vector<std::filesystem::path> paths(directories.begin(), directories.end());
  auto history = History::open(paths, partial);
  if (!history) return pass_on(history);
  return std::unique_ptr<ReportInput>(new TraceInput(std::move(*history)));
}

ReportFacts TraceInput::facts(const std::vector<std::string>& needed) {
  ReportFacts facts{.begin_ns = UINT64_MAX, .doubts = {}, .sources = json::array()};
  for (const TraceReader& trace : history_.traces()) {
    facts.begin_ns = std::min(facts.begin_ns, trace.begin_ns());
    facts.end_ns = std::max(facts.end_ns, trace.end_ns());
    facts.sources.push_back(trace_facts(trace));
  }
  facts.begin_ns = std::min(facts.begin_ns, facts.end_ns);
  facts.accounts = accounts_of(history_);
  Doubts doubts(facts);
  if (!history_.verdict()) doubts.add_damage();
  for (size_t i = 0; i < history_.traces().size(); ++i) {
    doubts.add(history_.traces()[i], needed);
    if (i != 0) doubts.add_gap(history_.traces()[i - 1], history_.traces()[i]);
  }
  return facts;
}

Result<> TraceInput::read(Analysis& analysis) {
  for (const TraceReader& trace : history_.traces())
    analysis.add_source(trace.schema(), trace.names());
  Beginnings sink(history_, analysis);
  while (history_.read(sink)) {
  }
  return {};
}

std::string_view TraceInput::symbol(uint64_t address) {
  for (const TraceReader& trace : history_.traces())
    if (auto found = trace.symbols().find(address); found != trace.symbols().end())
      return found->second;
  return {};
}

}  // namespace ktraced

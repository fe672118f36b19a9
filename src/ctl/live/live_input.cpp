// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/live_input.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "ctl/input/config_caveats.h"
#include "ctl/input/traced_events.h"
#include "ctl/live/open_session.h"
#include "ctl/live/read_ahead.h"
#include "ctl/live/rpc_client.h"
#include "trace/metadata/event_records.h"

namespace ktraced {

using nlohmann::json;

Result<std::unique_ptr<ReportInput>> LiveInput::subscribe(const std::string& socket,
                                                          std::optional<double> seconds,
                                                          const std::vector<std::string>& events,
                                                          const std::vector<std::string>& calls) {
  auto signals = StopSignals::catch_signals();
  if (!signals) return propagate(signals);
  auto client = RpcClient::connect(socket);
  if (!client) return propagate(client);
  auto source = open_session(std::move(*client), {.events = events}, {.syscalls = calls});
  if (!source) return propagate(source);
  return std::unique_ptr<ReportInput>(new LiveInput(socket, seconds, {calls.begin(), calls.end()},
                                                    std::move(*signals), std::move(*source)));
}

LiveInput::LiveInput(std::string socket, std::optional<double> seconds, std::set<std::string> calls,
                     StopSignals signals, LiveSource source)
    : socket_(std::move(socket)),
      seconds_(seconds),
      calls_(std::move(calls)),
      signals_(std::move(signals)),
      source_(std::move(source)),
      schema_(source_.schema()),
      symbols_(ask_daemon(socket_)),
      counts_(source_.schema()) {}

// Applies a metadata record: a name, a new event or a config change.
void LiveInput::apply_metadata(RecordView record, AnalysisFeed& feed) {
  if (names_.apply(record) || learn_event(schema_, record) != nullptr) return;
  const auto config = config_reader_.take(record);
  if (!config) return;
  TraceConfig traced = TraceConfig::of(*config);
  traced.missed = {"sys_enter"};  // counts_ has them at the end
  feed.add_change(record.ts(), std::move(traced));
  if (record.ts() <= source_.info().boottime_ns) {
    configs_ = *config;
  } else {
    configs_["changes"].push_back({{"ns", record.ts()}, {"config", *config}});
  }
}

void LiveInput::refresh_in(StreamLoop& loop, const BatchMerger& merger) {
  const auto next = [](bool is_seen) {
    return is_seen ? StreamLoop::Next::go_on : StreamLoop::Next::finish;
  };
  loop.every(refresh_->interval, [this, &merger, next] {
    end_ns_ = merger.whole_until();
    return next(refresh_->draw());
  });
  loop.watch_always(refresh_->signal_fd, [this, next] { return next(refresh_->on_signal()); });
}

Result<StreamLoop::End> LiveInput::run(BatchMerger& merger) {
  auto packets = ReadAhead::start(source_);
  if (!packets) return propagate(packets);
  StreamLoop loop(**packets, signals_.fd(), -1);
  if (refresh_) refresh_in(loop, merger);
  return loop.run(
      StreamLoop::duration_of(seconds_),
      {.on_packet =
           [this, &merger](const PacketView& packet, const std::shared_ptr<const void>& owner) {
             counts_.take(packet);
             merger.take(packet, owner);
             return Result<>();
           },
       .after_packets = [] { return Result<StreamLoop::Next>(StreamLoop::Next::go_on); }});
}

// Reports what was received, whatever ended the stream.
Result<> LiveInput::read(Analysis& analysis) {
  analysis.add_source(schema_, names_);
  AnalysisFeed feed(analysis);
  BatchMerger merger(feed, [&](RecordView record) { apply_metadata(record, feed); });
  const auto end = run(merger);
  ended_ = end ? StreamLoop::verdict_of(*end, counts_.end_reason())
               : Result<>(std::unexpected(end.error()));
  merger.finish();
  feed.finish();
  end_ns_ = merger.whole_until();
  at_end_ = true;
  return {};
}

ReportFacts LiveInput::facts(const std::vector<std::string>& needed) {
  ReportFacts facts{.begin_ns = source_.info().boottime_ns, .caveats = {}};
  facts.end_ns = std::max(end_ns_, facts.begin_ns);
  facts.commands_complete = counts_.lost_names().commands_read();
  if (source_.info().realtime_ns != 0)
    facts.clocks = {
        {.offset_ns = static_cast<int64_t>(source_.info().realtime_ns - facts.begin_ns)}};
  const json missed_hits = counts_.missed();
  facts.accounts = json::object();
  for (const auto& [name, count] : missed_hits.items()) facts.accounts[name] = {{"missed", count}};
  if (!ended_) facts.caveat(ended_.error().message);
  if (std::string lost = counts_.lost_names().text(); !lost.empty()) facts.caveat(std::move(lost));
  if (at_end_ && ended_ && !counts_.total())
    facts.caveat("the daemon did not report which hits the kernel missed");
  std::vector<ConfigSpan> spans = spans_of(configs_, facts.begin_ns, facts.end_ns);
  // Calls that the session was not opened for are missing on purpose: no caveat.
  for (ConfigSpan& span : spans)
    if (!calls_.empty() && std::ranges::includes(span.config.syscalls, calls_))
      span.config.syscalls.clear();
  for (ConfigCaveat& caveat : config_caveats(spans, needed))
    facts.caveat(std::move(caveat.text), caveat.until_ns);
  caveat_missed(needed, missed_hits, facts);
  facts.sources = json::array({{{"path", socket_},
                                {"kind", "live stream"},
                                {"kernel", source_.info().kernel},
                                {"host", "this machine"},
                                {"complete", facts.caveats.empty()},
                                {"incomplete_because", facts.caveats}}});
  return facts;
}

std::optional<std::set<std::string>> LiveInput::traced() const { return traced_events(configs_); }

Result<std::vector<Selection>> LiveInput::select(const SelectionArgs& args) const {
  auto selection = Selection::make(args, schema_);
  if (!selection) return propagate(selection);
  return std::vector{std::move(*selection)};
}

void LiveInput::find_symbols(const std::vector<uint64_t>& addresses) {
  for (const uint64_t address : addresses) symbols_.request(address);
  symbols_.fetch();
}

// The file of a frame is looked for at its path: of which process it is, is not known here.
void LiveInput::add_files(TraceStacks& stacks) {
  std::vector<MappedFile> files;
  stacks.mappings().for_each_file([&files](const MappedFile& file) {
    if (file.build_id.empty()) files.push_back(file);
  });
  if (files.empty()) return;
  if (!build_ids_) build_ids_.emplace();
  for (const MappedFile& file : files) build_ids_->ask(file, 0);
  build_ids_->wait();
  for (MappedFile& file : files)
    if (auto id = build_ids_->find(file.number); id && !id->empty()) {
      file.build_id = std::move(*id);
      stacks.add(std::move(file));
    }
}

std::string_view LiveInput::symbol(uint64_t address) {
  symbols_.request(address);
  symbols_.fetch();
  return symbols_.resolve(address);
}

Result<> LiveInput::verdict() const { return ended_; }

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live_input.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "ctl/json_access.h"
#include "ctl/read_ahead.h"
#include "ctl/rpc_client.h"
#include "ctl/scope_doubts.h"
#include "ctl/traced_events.h"
#include "trace/event_records.h"

namespace ktraced {

using nlohmann::json;

Result<std::unique_ptr<ReportInput>> LiveInput::subscribe(const std::string& socket,
                                                          std::optional<double> seconds) {
  auto signals = StopSignals::catch_signals();
  if (!signals) return pass_on(signals);
  auto client = RpcClient::connect(socket);
  if (!client) return pass_on(client);
  auto source = LiveSource::subscribe(std::move(*client));
  if (!source) return pass_on(source);
  return std::unique_ptr<ReportInput>(
      new LiveInput(socket, seconds, std::move(*signals), std::move(*source)));
}

LiveInput::LiveInput(std::string socket, std::optional<double> seconds, StopSignals signals,
                     LiveSource source)
    : socket_(std::move(socket)),
      seconds_(seconds),
      signals_(std::move(signals)),
      source_(std::move(source)),
      schema_(source_.schema()),
      symbols_(ask_daemon(socket_)) {}

// Null if the daemon cannot be asked.
json LiveInput::status() const {
  auto client = RpcClient::connect(socket_);
  if (!client) return nullptr;
  auto answer = client->call("status");
  return answer ? std::move(*answer) : json();
}

// Names, events that were defined meanwhile, and what is traced.
void LiveInput::take_name(RecordView record, ScopeMarks& marks) {
  if (names_.apply(record) || learn_event(schema_, record) != nullptr) return;
  const auto config = scope_of(record);
  if (!config) return;
  marks.add(record.ts(), TraceScope::of(*config));
  if (record.ts() <= source_.info().boottime_ns) {
    scopes_ = *config;
  } else {
    scopes_["changes"].push_back({{"ns", record.ts()}, {"config", *config}});
  }
}

Result<StreamLoop::End> LiveInput::run(PassMerger& merger) {
  auto packets = ReadAhead::start(source_);
  if (!packets) return pass_on(packets);
  before_ = status();
  StreamLoop loop(**packets, signals_.fd(), -1);
  return loop.run(
      StreamLoop::duration_of(seconds_),
      {.on_packet =
           [&merger](const PacketView& packet, const std::shared_ptr<const void>& owner) {
             merger.take(packet, owner);
             return Result<>();
           },
       .after_packets = [] { return Result<StreamLoop::Next>(StreamLoop::Next::go_on); }});
}

// Whatever ends the stream, what has come is reported.
Result<> LiveInput::read(Analysis& analysis) {
  analysis.add_source(schema_, names_);
  ScopeMarks marks(analysis);
  PassMerger merger(marks, [&](RecordView record) { take_name(record, marks); });
  const auto end = run(merger);
  ended_ = end ? StreamLoop::verdict_of(*end) : Result<>(std::unexpected(end.error()));
  merger.finish();
  marks.finish();
  end_ns_ = merger.whole_until();
  after_ = status();
  return {};
}

// Hits that the kernel has skipped meanwhile, by event; after a reset it counts anew.
json LiveInput::missed() const {
  json missed = json::object();
  for (const auto& [name, event] : member(after_, "events").items()) {
    const uint64_t count = number_at(event, "missed");
    const uint64_t earlier = number_at(member(member(before_, "events"), name), "missed");
    if (count > earlier) missed[name] = count - earlier;
  }
  return missed;
}

ReportFacts LiveInput::facts(const std::vector<std::string>& needed) {
  ReportFacts facts{.begin_ns = source_.info().boottime_ns, .doubts = {}};
  facts.end_ns = std::max(end_ns_, facts.begin_ns);
  const json missed_hits = missed();
  facts.accounts = json::object();
  for (const auto& [name, count] : missed_hits.items()) facts.accounts[name] = {{"missed", count}};
  if (!ended_) facts.doubt(ended_.error().message);
  if (before_.is_null() || after_.is_null()) facts.doubt("the daemon could not be asked");
  for (ScopeDoubt& doubt :
       scope_doubts(spans_of(scope_config(), facts.begin_ns, facts.end_ns), needed))
    facts.doubt(std::move(doubt.text), doubt.until_ns);
  doubt_missed(needed, missed_hits, facts);
  facts.sources = json::array({{{"path", socket_},
                                {"kind", "live stream"},
                                {"kernel", source_.info().kernel},
                                {"host", "this machine"},
                                {"complete", facts.doubts.empty()},
                                {"incomplete_because", facts.doubts}}});
  return facts;
}

// A daemon that does not tell in its stream what it traces was asked.
const json& LiveInput::scope_config() const { return scopes_.is_null() ? before_ : scopes_; }

std::optional<std::set<std::string>> LiveInput::traced() const {
  return traced_events(scope_config());
}

std::string_view LiveInput::symbol(uint64_t address) {
  symbols_.want(address);
  symbols_.fetch();
  return symbols_.resolve(address);
}

Result<> LiveInput::verdict() const { return ended_; }

}  // namespace ktraced

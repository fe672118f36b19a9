#include "ctl/live_input.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "ctl/json_access.h"
#include "ctl/pass_merger.h"
#include "ctl/read_ahead.h"
#include "ctl/rpc_client.h"
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

Result<> LiveInput::read(Analysis& analysis) {
  analysis.add_source(schema_, names_);
  auto packets = ReadAhead::start(source_);
  if (!packets) return pass_on(packets);
  before_ = status();
  PassMerger merger(analysis, [this](RecordView record) {
    if (!names_.apply(record)) learn_event(schema_, record);
  });
  StreamLoop loop(**packets, signals_.fd(), -1);
  auto end =
      loop.run(StreamLoop::duration_of(seconds_),
               {.on_packet =
                    [&merger](const PacketView& packet, const std::shared_ptr<const void>& owner) {
                      merger.take(packet, owner);
                      return Result<>();
                    },
                .after_packets = [] { return Result<StreamLoop::Next>(StreamLoop::Next::go_on); }});
  if (!end) return pass_on(end);
  merger.finish();
  end_ns_ = merger.whole_until();
  ended_ = *end;
  return {};
}

// Hits that the kernel has skipped, by event.
json LiveInput::missed_since(const json& before) const {
  const json after = status();
  json missed = json::object();
  for (const auto& [name, event] : member(after, "events").items()) {
    const uint64_t count = number_at(event, "missed");
    const uint64_t earlier = number_at(member(member(before, "events"), name), "missed");
    if (count > earlier) missed[name] = count - earlier;
  }
  return missed;
}

ReportFacts LiveInput::facts(const std::vector<std::string>& needed) {
  ReportFacts facts{.begin_ns = source_.info().boottime_ns, .doubts = {}};
  facts.end_ns = std::max(end_ns_, facts.begin_ns);
  json enabled = json::array();
  for (const auto& [name, event] : member(before_, "events").items())
    if (flag_at(event, "enabled")) enabled.push_back(name);
  const json missed = missed_since(before_);
  facts.accounts = json::object();
  for (const auto& [name, count] : missed.items()) facts.accounts[name] = {{"missed", count}};
  facts.doubts = before_.is_null()
                     ? std::vector<std::string>{"the daemon could not be asked"}
                     : general_doubts(needed, enabled, missed, member(before_, "filter"));
  if (!facts.doubts.empty()) facts.whole_since_ns = UINT64_MAX;
  facts.sources = json::array({{{"path", socket_},
                                {"kind", "live stream"},
                                {"kernel", source_.info().kernel},
                                {"host", "this machine"},
                                {"complete", facts.doubts.empty()},
                                {"incomplete_because", facts.doubts}}});
  return facts;
}

std::string_view LiveInput::symbol(uint64_t address) {
  symbols_.want(address);
  symbols_.fetch();
  return symbols_.resolve(address);
}

Result<> LiveInput::verdict() const {
  if (ended_ != StreamLoop::End::hung_up) return {};
  return fail(ExitCode::unavailable, "ktraced has ended the stream: it stopped, or see its log");
}

}  // namespace ktraced

#include "ctl/stream.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "ctl/event_counter.h"
#include "ctl/json_access.h"
#include "ctl/live_source.h"
#include "ctl/output.h"
#include "ctl/pass_printer.h"
#include "ctl/stop_signals.h"
#include "ctl/stream_loop.h"
#include "decoders/ftrace_decoder.h"
#include "decoders/json_decoder.h"

namespace ktraced {

namespace {

using nlohmann::json;
using Clock = StreamLoop::Clock;
using Next = StreamLoop::Next;

std::optional<Clock::duration> duration_of(const StreamCommand& command) {
  if (!command.duration_s) return std::nullopt;
  constexpr double kLongest = 100.0 * 365 * 86400;  // beyond, the clock would overflow
  std::chrono::duration<double> seconds(std::min(*command.duration_s, kLongest));
  return std::chrono::duration_cast<Clock::duration>(seconds);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<> hung_up() {
  return fail(ExitCode::unavailable, "ktraced has ended the stream: it stopped, or see its log");
}

// Says why nothing may be shown. Not being able to ask is no reason to stop.
void print_hints(const std::vector<std::string>& chosen, RpcClient& client) {
  auto answer = client.call("events.list");
  if (!answer) return;
  bool any = false;
  for (const json& event : list_at(*answer, "events")) {
    bool enabled = flag_at(event, "enabled");
    any |= enabled;
    std::string name = text_at(event, "name");
    if (enabled || std::ranges::find(chosen, name) == chosen.end()) continue;
    if (flag_at(event, "available"))
      fmt::print(stderr, "ktracectl: {0} is not enabled: 'ktracectl events enable {0}' does it\n",
                 name);
    else
      fmt::print(stderr, "ktracectl: {} is not available: {}\n", name, text_at(event, "reason"));
  }
  if (!any)
    fmt::print(stderr, "ktracectl: no event is enabled: see 'ktracectl events enable --help'\n");
  auto status = client.call("status");
  if (status && text_at(*status, "state") == "paused")
    fmt::print(stderr, "ktracectl: tracing is paused: 'ktracectl resume' goes on\n");
}

// A second connection, for questions while the first is a stream.
RemoteSymbols::Call asking(const std::string& socket) {
  auto client = std::make_shared<std::optional<RpcClient>>();
  return [client, socket](const json& params) -> Result<json> {
    if (client->has_value())
      if (auto answer = (*client)->call("symbols.resolve", params)) return answer;
    // The first time, or the daemon has closed a connection that was silent for long.
    auto connected = RpcClient::connect(socket);
    if (!connected) return pass_on(connected);
    client->emplace(std::move(*connected));
    return (*client)->call("symbols.resolve", params);
  };
}

Result<> run_count(const StreamCommand& command, LiveSource& source, const StopSignals& signals) {
  auto packets = ReadAhead::start(source);
  if (!packets) return pass_on(packets);
  EventCounter counter;
  StreamLoop loop(**packets, signals.fd(), STDOUT_FILENO);
  auto start = Clock::now();
  auto end = loop.run(duration_of(command),
                      {.on_packet = [&](const PacketView& packet, const auto&) -> Result<> {
                         counter.take(packet);
                         return {};
                       },
                       .after_packets = [] { return Result<Next>(Next::go_on); }});
  if (!end) return pass_on(end);
  auto written = write_all(STDOUT_FILENO,
                           counter.summary(source.schema(), seconds_since(start)).dump() + "\n");
  if (!written) return pass_on(written);
  return *end == StreamLoop::End::hung_up ? hung_up() : Result<>();
}

std::unique_ptr<Decoder> make_decoder(OutputFormat format, const DecoderSources& sources) {
  if (format == OutputFormat::json) return std::make_unique<JsonDecoder>(sources);
  return std::make_unique<FtraceDecoder>(sources);
}

// Standard output as the end of a stream.
class Screen {
 public:
  // Writes and empties `text` if there is enough of it.
  Result<> write(TextBuffer& text, size_t at_least) {
    if (text.size() < at_least || gone_) return {};
    auto written = write_all(STDOUT_FILENO, text.view());
    if (!written) return pass_on(written);
    gone_ = !*written;
    text.clear();
    return {};
  }
  // Nobody reads it any more.
  [[nodiscard]] bool gone() const { return gone_; }

 private:
  bool gone_ = false;
};

Result<StreamLoop::End> print_all(PassPrinter& printer, StreamLoop& loop,
                                  std::optional<Clock::duration> duration) {
  constexpr size_t kLargePiece = 256U << 10;
  Screen screen;
  auto enough = [&] { return screen.gone() || printer.full(); };
  auto end =
      loop.run(duration, {.on_packet = [&](const PacketView& packet,
                                           const std::shared_ptr<const void>& owner) -> Result<> {
                            if (enough()) return {};
                            printer.take(packet, owner);
                            return screen.write(printer.out(), kLargePiece);
                          },
                          .after_packets = [&]() -> Result<Next> {
                            if (auto written = screen.write(printer.out(), 1); !written)
                              return pass_on(written);
                            return enough() ? Next::stop : Next::go_on;
                          }});
  if (end && *end != StreamLoop::End::stopped) printer.finish();
  if (auto written = screen.write(printer.out(), 1); end && !written) return pass_on(written);
  return end;
}

Result<> run_printing(const StreamCommand& command, const Options& options,
                      const Selection& selection, LiveSource& source, const StopSignals& signals) {
  NameTable names;
  RemoteSymbols symbols(asking(options.socket));
  auto decoder = make_decoder(
      command.format.value_or(options.json ? OutputFormat::json : OutputFormat::ftrace),
      {source.schema(), names, &symbols});
  PassPrinter printer(source.schema(), selection, names, &symbols, *decoder, command.count);
  decoder->header(printer.out());
  auto packets = ReadAhead::start(source);
  if (!packets) return pass_on(packets);
  StreamLoop loop(**packets, signals.fd(), STDOUT_FILENO);
  auto start = Clock::now();
  auto end = print_all(printer, loop, duration_of(command));
  fmt::print(stderr, "ktracectl: {} events shown, {} lost, in {:.3f} s\n", printer.totals().shown,
             printer.totals().lost, seconds_since(start));
  if (!end) return pass_on(end);
  return *end == StreamLoop::End::hung_up ? hung_up() : Result<>();
}

}  // namespace

Result<> run_stream(const StreamCommand& command, const Options& options) {
  auto signals = StopSignals::catch_signals();
  if (!signals) return pass_on(signals);
  auto client = RpcClient::connect(options.socket);
  if (!client) return pass_on(client);
  auto source = LiveSource::subscribe(std::move(*client));
  if (!source) return pass_on(source);
  auto selection = Selection::make(command.selection, source->schema());
  if (!selection) return pass_on(selection);
  if (auto questions = RpcClient::connect(options.socket))
    print_hints(selection->chosen_events(), *questions);
  if (command.count_only) return run_count(command, *source, *signals);
  return run_printing(command, options, *selection, *source, *signals);
}

}  // namespace ktraced

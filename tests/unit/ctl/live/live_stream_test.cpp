// SPDX-License-Identifier: BSD-2-Clause
// From a daemon's socket to lines: LiveSource, StreamLoop and BatchPrinter together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "ctl/live/live_source.h"
#include "ctl/live/stream_loop.h"
#include "ctl/printing/batch_printer.h"
#include "ctl/printing/event_counter.h"
#include "decoders/json/json_decoder.h"
#include "schema/schema_json.h"
#include "unit/ctl/live/fake_daemon.h"
#include "unit/support/packets.h"
#include "unit/support/schema.h"

namespace ktraced::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using End = StreamLoop::End;
using Next = StreamLoop::Next;

// Answers a subscription.
void subscribe(Peer& peer) {
  peer.answer([](const json& request) {
    EXPECT_EQ(request["method"], "stream.subscribe");
    return json{{"result", {{"schema", schema_to_json(built_schema())}}}};
  });
}

Bytes kfree_by(uint32_t tid, uint64_t ts) { return make_record(EVENT_kfree, ts, tid, rec_kfree{}); }

class LiveStream : public ::testing::Test {
 protected:
  // Runs a stream against `serve`, which is called after the subscription.
  Result<End> run(const std::function<void(Peer&)>& serve) {
    FakeDaemon daemon([&](Peer& peer) {
      subscribe(peer);
      serve(peer);
    });
    auto client = RpcClient::connect(daemon.socket());
    if (!client) return propagate(client);
    auto source = LiveSource::subscribe(std::move(*client));
    if (!source) return propagate(source);
    auto selection = Selection::make(args_, source->schema());
    if (!selection) return propagate(selection);
    NameTable names;
    Schema schema = source->schema();
    JsonDecoder decoder({schema, names});
    BatchPrinter printer(schema, *selection, names, nullptr, decoder, count_);
    auto packets = ReadAhead::start(*source, max_bytes_);
    if (!packets) return propagate(packets);
    StreamLoop loop(**packets, stop_.get(), -1);
    auto end = loop.run(duration_, {.on_packet =
                                        [&](const PacketView& packet, const auto& owner) {
                                          printer.take(packet, owner);
                                          return Result<>();
                                        },
                                    .after_packets = [&]() -> Result<Next> {
                                      return printer.full() ? Next::stop : Next::go_on;
                                    }});
    if (end && *end != End::stopped) printer.finish();
    text_ = printer.out().view();
    totals_ = printer.totals();
    return end;
  }
  // Lines as "tid@ts comm", losses as "-count@ts".
  std::string lines() {
    std::string out;
    std::istringstream text(text_);
    for (std::string line; std::getline(text, line);) {
      json event = json::parse(line);
      if (event.contains("lost"))
        out += fmt::format("-{}@{};", event["lost"].get<int>(), event["ts"].get<int>());
      else
        out += fmt::format("{}@{} {};", event["tid"].get<int>(), event["ts"].get<int>(),
                           event["comm"].is_null() ? "?" : event["comm"].get<std::string>());
    }
    return out;
  }
  void ask_to_stop() { ::eventfd_write(stop_.get(), 1); }

  SelectionArgs args_;
  size_t max_bytes_ = ReadAhead::kMaxBytes;
  std::optional<uint64_t> count_;
  std::optional<StreamLoop::Clock::duration> duration_;
  Fd stop_{::eventfd(0, EFD_CLOEXEC)};
  std::string text_;
  BatchPrinter::Totals totals_;
};

TEST_F(LiveStream, ShowsABatchInTimeOrderWithItsNames) {
  auto end = run([&](Peer& peer) {
    peer.write(metadata_packet(5));
    peer.write(make_packet({.cpu = 1, .records = {kfree_by(8, 20), kfree_by(8, 40)}}));
    peer.write(make_packet({.cpu = 0, .records = {kfree_by(9, 10), kfree_by(9, 30)}}));
    peer.write(metadata_packet(35, {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine")}));
    ask_to_stop();
    peer.wait_for_end();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, End::finished);
  EXPECT_EQ(lines(), "9@10 nine;8@20 eight;9@30 nine;8@40 eight;");
  EXPECT_EQ(totals_.shown, 4U);
}

TEST_F(LiveStream, ShowsEventsSentAfterTheEndWasRequested) {
  ask_to_stop();
  auto end = run([&](Peer& peer) {
    peer.wait_for_end();
    peer.write(make_packet({.cpu = 0, .records = {kfree_by(1, 10)}}));
    peer.write(metadata_packet(11, {task_name(1, 1, 1, "late")}));
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, End::finished);
  EXPECT_EQ(lines(), "1@10 late;");
}

TEST_F(LiveStream, EndsCleanlyAfterTheDuration) {
  duration_ = std::chrono::milliseconds(50);
  auto end = run([&](Peer& peer) {
    peer.write(make_packet({.cpu = 0, .records = {kfree_by(1, 10)}}));
    peer.wait_for_end();
    peer.write(metadata_packet(11));
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, End::finished);
  EXPECT_EQ(lines(), "1@10 ?;");
}

TEST_F(LiveStream, EndsExactlyAtTheCount) {
  count_ = 3;
  auto end = run([&](Peer& peer) {
    for (uint64_t ts = 10; ts < 20; ++ts)
      peer.write(make_packet({.cpu = 0, .records = {kfree_by(1, ts)}}));
    peer.write(metadata_packet(20));
    peer.wait_for_end();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, End::stopped);
  EXPECT_EQ(lines(), "1@10 ?;1@11 ?;1@12 ?;");
}

TEST_F(LiveStream, ReportsThatTheDaemonEndedTheStream) {
  auto end = run([&](Peer& peer) { peer.write(metadata_packet(5)); });
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, End::hung_up);
}

TEST_F(LiveStream, LosesNothingWithASmallReadAhead) {
  max_bytes_ = 1;
  constexpr uint64_t kPackets = 2000;
  auto end = run([&](Peer& peer) {
    for (uint64_t ts = 1; ts <= kPackets; ++ts) {
      peer.write(make_packet({.cpu = 0, .records = {kfree_by(1, ts)}}));
      peer.write(metadata_packet(ts));
    }
    ask_to_stop();
    peer.wait_for_end();
  });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(totals_.shown, kPackets);
}

TEST_F(LiveStream, ShowsLossesForEverySelectionOfTasks) {
  args_.pids = {77};
  auto serve = [&](Peer& peer) {
    peer.write(make_packet({.cpu = 0, .records = {kfree_by(1, 10)}}));
    peer.write(make_packet({.cpu = 0,
                            .records = {kfree_by(77, 30)},
                            .lost = {{.count = 5, .event_id = EVENT_kfree},
                                     {.count = 6, .event_id = EVENT_kmalloc}}}));
    peer.write(metadata_packet(50));
    ask_to_stop();
    peer.wait_for_end();
  };
  ASSERT_TRUE(run(serve));
  EXPECT_EQ(lines(), "-5@10;-6@10;77@30 ?;");
  EXPECT_EQ(totals_.lost, 11U);

  args_.events = {"kfree"};
  ASSERT_TRUE(run(serve));
  EXPECT_EQ(lines(), "-5@10;77@30 ?;") << "losses of other events are not shown";
  EXPECT_EQ(totals_.lost, 5U);
}

TEST_F(LiveStream, ReportsGarbageAsDataErrorAndAnEndWithinAPacketAsUnavailable) {
  auto end = run([&](Peer& peer) { peer.write(std::string(500, 'x')); });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ExitCode::data);
  end = run([&](Peer& peer) {
    Bytes packet = make_packet({.cpu = 0, .records = {kfree_by(1, 10)}});
    peer.write(std::span(packet).first(packet.size() - 1));
  });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ExitCode::unavailable);
  EXPECT_THAT(end.error().message, HasSubstr("the stream breaks off: ktraced has died"));
}

TEST_F(LiveStream, KeepsPacketsThatArriveWithTheAnswer) {
  FakeDaemon daemon([](Peer& peer) {
    peer.read_line();
    json reply{
        {"jsonrpc", "2.0"}, {"id", 2}, {"result", {{"schema", schema_to_json(built_schema())}}}};
    Bytes packet = make_packet({.cpu = 0, .records = {kfree_by(1, 10)}});
    std::string all = reply.dump() + "\n";
    all.append(reinterpret_cast<const char*>(packet.data()), packet.size());
    peer.write(all);
  });
  auto source = LiveSource::subscribe(*RpcClient::connect(daemon.socket()));
  ASSERT_TRUE(source) << source.error().message;
  int packets = 0;
  auto count = [&](const auto&, const auto&) { return ++packets, Result<>(); };
  while (source->read(count).value_or(false)) {
  }
  EXPECT_EQ(packets, 1);
}

TEST(LiveSource, SendsItsRequestAndKnowsItsSession) {
  const json request = {{"events", {"kmem"}}, {"filter", {{"pid", {7}}}}};
  FakeDaemon daemon([&](Peer& peer) {
    peer.answer([&](const json& asked) {
      EXPECT_EQ(asked["params"], request);
      return json{
          {"result", {{"session", "client-1"}, {"schema", schema_to_json(built_schema())}}}};
    });
  });
  auto source = LiveSource::subscribe(*RpcClient::connect(daemon.socket()), request);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->info().session, "client-1");
}

TEST(LiveSource, RefusesAnAnswerWithoutAUsableSchema) {
  for (const char* result : {"{}", "7", R"({"schema":7})", R"({"schema":{"events":[{}]}})"}) {
    FakeDaemon daemon([&](Peer& peer) {
      peer.answer([&](const json&) { return json{{"result", json::parse(result)}}; });
    });
    auto source = LiveSource::subscribe(*RpcClient::connect(daemon.socket()));
    ASSERT_FALSE(source) << result;
    EXPECT_EQ(source.error().code, ExitCode::data) << result;
  }
}

TEST(BatchPrinter, ResolvesAllAddressesOfABatchWithOneRequest) {
  Schema schema = built_schema();
  auto selection = Selection::make({}, schema);
  NameTable names;
  int requests = 0;
  RemoteSymbols symbols([&](const json& params) -> Result<json> {
    ++requests;
    json found = json::object();
    for (const json& address : params["addresses"])
      if (address != "0xffffffff81000003") found[address.get<std::string>()] = "f+0x1/0x2";
    return json{{"symbols", found}};
  });
  JsonDecoder decoder({schema, names, &symbols});
  BatchPrinter printer(schema, *selection, names, &symbols, decoder, std::nullopt);
  auto send_batch = [&](uint64_t ts) {
    std::vector<Bytes> records;
    for (uint64_t i = 0; i < 4; ++i)
      records.push_back(make_record(
          EVENT_kfree, ts + i, 1,
          rec_kfree{.call_site = 0xffffffff81000000 + i, .ptr = 0xffff888100000000 + i}));
    auto events = std::make_shared<Bytes>(make_packet({.cpu = 0, .records = records}));
    printer.take(*PacketView::parse(*events), events);
    Bytes end = metadata_packet(ts + 10);
    printer.take(*PacketView::parse(end), nullptr);
  };
  send_batch(10);
  send_batch(20);
  EXPECT_EQ(requests, 1) << "each code address is requested once, heap addresses never";
  std::string text(printer.out().view());
  EXPECT_THAT(text,
              HasSubstr(R"("call_site":"0xffffffff81000002","call_site_symbol":"f+0x1/0x2")"));
  EXPECT_THAT(text, HasSubstr(R"("call_site":"0xffffffff81000003","ptr")"));
}

TEST(RemoteSymbols, HasThatOfTheByteBeforeIfTheDaemonSaysSo) {
  RemoteSymbols symbols([](const json&) -> Result<json> {
    return json{{"symbols",
                 {{"0xffffffff81000040", "behind+0x0/0x9"},
                  {"0xffffffff8100003f", "calls_panic+0x3e/0x3f"}}}};
  });
  symbols.request(0xffffffff81000040);
  symbols.fetch();
  EXPECT_EQ(symbols.resolve(0xffffffff81000040), "behind+0x0/0x9");
  EXPECT_EQ(symbols.resolve(0xffffffff8100003f), "calls_panic+0x3e/0x3f");
}

TEST(RemoteSymbols, GivesUpAfterAFailure) {
  int requests = 0;
  RemoteSymbols symbols([&](const json&) -> Result<json> {
    ++requests;
    return fail(ExitCode::unavailable, "gone");
  });
  for (uint64_t address : {0xffffffff81000000, 0xffffffff81000010}) {
    symbols.request(address);
    symbols.fetch();
    EXPECT_EQ(symbols.resolve(address), "");
  }
  EXPECT_EQ(requests, 1);
}

TEST(RemoteSymbols, SplitsRequestsToTheDaemonsLimit) {
  std::vector<size_t> sizes;
  RemoteSymbols symbols([&](const json& params) -> Result<json> {
    sizes.push_back(params["addresses"].size());
    return json{{"symbols", 7}};
  });
  for (uint64_t i = 0; i < 5000; ++i) symbols.request(0xffffffff81000000 + i);
  symbols.fetch();
  EXPECT_EQ(sizes, (std::vector<size_t>{4096, 904}));
}

TEST(EventCounter, CountsWithoutDecoding) {
  Schema schema = built_schema();
  EventCounter counter;
  Bytes packet = make_packet(
      {.cpu = 0,
       .records = {stack_record_of(10, {.number = 1}), kfree_by(1, 10),
                   with_stacks(kfree_by(1, 11), {.kernel = 1, .user = 0}), bare_record(12, 1999)},
       .lost = {{.count = 5, .event_id = EVENT_kfree}}});
  counter.take(*PacketView::parse(packet));
  Bytes names = metadata_packet(20, {task_name(1, 1, 1, "a")});
  counter.take(*PacketView::parse(names));
  EXPECT_EQ(
      counter.summary(schema, 0.5),
      json::parse(R"({"events":3,"lost":5,"seconds":0.5,"by_event":{"kfree":2,"event_1999":1}})"));
}

}  // namespace
}  // namespace ktraced::test

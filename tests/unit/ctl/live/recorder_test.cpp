// SPDX-License-Identifier: BSD-2-Clause
// From a daemon's socket to a trace directory: Recorder and the command it runs.
#include "ctl/live/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ctl/commands/child_command.h"
#include "ctl/live/session_counts.h"
#include "ctl/live/stream_loop.h"
#include "ctl/terminal/progress.h"
#include "schema/schema_json.h"
#include "trace/merge/history.h"
#include "trace/metadata/event_records.h"
#include "unit/ctl/live/fake_daemon.h"
#include "unit/support/never.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kAddress = 0xffffffff81000001;

class RecorderTest : public ::testing::Test {
 protected:
  Bytes packet(PacketSpec spec, uint64_t sequence, uint64_t discarded) const {
    Bytes bytes = packet_of(spec, origin_);
    std::memcpy(bytes.data() + offsetof(PacketHeader, packet_seq_num), &sequence, 8);
    std::memcpy(bytes.data() + offsetof(PacketHeader, events_discarded), &discarded, 8);
    return bytes;
  }
  static Bytes kfree_at(uint64_t ts) {
    return make_record(EVENT_kfree, ts, 7, rec_kfree{.call_site = kAddress, .ptr = 1});
  }
  // Records what a daemon sends.
  Result<Manifest> record(const std::vector<Bytes>& packets) {
    FakeDaemon daemon([&](Peer& peer) {
      peer.answer([&](const json&) {
        return json{{"result",
                     {{"uuid", uuid_text(origin_.uuid)},
                      {"schema", schema_to_json(built_schema())},
                      {"kernel", origin_.kernel},
                      {"clock", {{"boottime_ns", 5}, {"realtime_ns", 1005}}}}}};
      });
      for (const Bytes& bytes : packets) peer.write(bytes);
    });
    auto source = LiveSource::subscribe(*RpcClient::connect(daemon.socket()));
    if (!source) return propagate(source);
    auto recorder = Recorder::create(path_, *source);
    if (!recorder) return propagate(recorder);
    for (;;) {
      auto more =
          source->read([&](const PacketView& view, const auto&) { return recorder->take(view); });
      if (!more) return propagate(more);
      if (!*more) break;
    }
    return recorder->finish("a test", [](const json& params) {
      EXPECT_EQ(params["addresses"], json::array({"0xffffffff81000001"}));
      return Result<json>(json{{"symbols", {{"0xffffffff81000001", "put_pid+0x1/0x2"}}}});
    });
  }

  TempDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "t";
  TraceOrigin origin_ = test_origin();
};

TEST_F(RecorderTest, WritesTheStreamAndMarksItComplete) {
  auto manifest = record({metadata_packet(5, {task_name(7, 1, 7, "seven")}),
                          packet({.cpu = 1, .records = {kfree_at(10), kfree_at(20)}}, 40, 900),
                          packet({.cpu = 0, .records = {kfree_at(15)}}, 3, 0), metadata_packet(30),
                          packet({.cpu = 1, .records = {kfree_at(35)}}, 41, 900),
                          metadata_packet(40, {cache_name(9, "dentry")})});
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_THAT(manifest->incomplete_because, IsEmpty());
  EXPECT_EQ(manifest->total().records, 4U);
  EXPECT_EQ(manifest->begin_ns, 5U);
  EXPECT_EQ(manifest->end_ns, 40U);
  EXPECT_EQ(manifest->origin.clock_offset_ns, 1000);

  auto trace = TraceReader::open(path_);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->manifest().kind, TraceKind::recording);
  EXPECT_EQ(trace->manifest().reason, "a test");
  EXPECT_EQ(trace->names().task_at(7, 10)->comm(), "seven");
  EXPECT_EQ(trace->names().cache_name(9), "dentry");
  EXPECT_EQ(trace->symbols().at(kAddress), "put_pid+0x1/0x2");
}

TEST_F(RecorderTest, IsIncompleteAfterLosses) {
  auto manifest = record(
      {packet({.cpu = 1, .records = {kfree_at(10)}}, 0, 100),
       packet(
           {.cpu = 1, .records = {kfree_at(20)}, .lost = {{.count = 5, .event_id = EVENT_kfree}}},
           4, 105),
       metadata_packet(30)});
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_THAT(manifest->incomplete_because, ElementsAre("CPU 1: 5 kfree events were lost"));
  EXPECT_EQ(manifest->cpus.at(0).events.at("kfree"), (EventAccount{.records = 2, .lost = 5}));
}

TEST_F(RecorderTest, IsIncompleteAfterUnreportedGaps) {
  auto first = packet({.cpu = 1, .records = {kfree_at(10)}}, 0, 0);
  auto skipped = packet({.cpu = 1, .records = {kfree_at(20)}}, 2, 0);
  auto miscounted = packet({.cpu = 1, .records = {kfree_at(30)}}, 3, 8);
  auto manifest = record({first, skipped, miscounted, metadata_packet(40)});
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_THAT(manifest->incomplete_because, ElementsAre("CPU 1: 2 unreported gaps in the stream"));
}

TEST_F(RecorderTest, RefusesAPacketOfAnotherTrace) {
  TraceOrigin other = origin_;
  other.uuid[0] ^= 1;
  auto manifest = record({packet_of({.cpu = 1, .records = {kfree_at(10)}}, other)});
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().code, ExitCode::data);
}

TEST_F(RecorderTest, RefusesAPlaceInATrace) {
  const std::filesystem::path trace = path_;
  ASSERT_TRUE(record({packet({.cpu = 1, .records = {kfree_at(10)}}, 0, 0), metadata_packet(30)}));
  path_ = trace / "ctf" / "inner";
  auto manifest = record({metadata_packet(30)});
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().code, ExitCode::usage);
  EXPECT_THAT(manifest.error().message, HasSubstr("t is a trace, which nobody may add files to"));
}

TEST(ChildCommand, WaitsUntilItIsReleased) {
  TempDirectory directory;
  auto file = directory.path() / "ran";
  auto child = ChildCommand::prepare({"sh", "-c", "touch '" + file.string() + "'; exit 7"});
  ASSERT_TRUE(child) << child.error().message;
  ::usleep(20'000);
  EXPECT_FALSE(std::filesystem::exists(file));
  ASSERT_TRUE(child->go());
  pollfd ended{child->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, test::kNeverMs), 1);
  EXPECT_EQ(child->wait(), 7);
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(ChildCommand, NeverRunsIfItIsNotReleased) {
  TempDirectory directory;
  auto file = directory.path() / "ran";
  {
    auto child = ChildCommand::prepare({"touch", file.string()});
  }
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(ChildCommand, ReportsItsEndLikeAShell) {
  auto end_of = [](std::vector<std::string> words) {
    auto child = ChildCommand::prepare(std::move(words));
    auto started = child->go();
    return started ? child->wait() : static_cast<int>(started.error().code);
  };
  EXPECT_EQ(end_of({"true"}), 0);
  EXPECT_EQ(end_of({"sh", "-c", "kill -9 $$"}), 137);
  EXPECT_EQ(end_of({"/nonexistent/program"}), 127);
  EXPECT_EQ(end_of({"/"}), 126);
  auto sleeper = ChildCommand::prepare({"sleep", "100"});
  ASSERT_TRUE(sleeper->go());
  sleeper->terminate();
  EXPECT_EQ(sleeper->wait(), 143);
}

TEST(SessionCounts, AreInTheLastRecordsOfTheStream) {
  SessionCounts counts(built_schema());
  const auto take = [&](const std::vector<Bytes>& records) {
    const Bytes bytes = metadata_packet(5, records);
    counts.take(*PacketView::parse(bytes));
  };
  take({task_name(7, 1, 7, "seven")});
  EXPECT_FALSE(counts.total());
  EXPECT_EQ(counts_text(counts), "");
  const HitAccount kfree{.recorded = 1, .filtered = 20, .dropped = 300, .missed = 4};
  const HitAccount kmalloc{.recorded = 5, .filtered = 60, .dropped = 0, .missed = 0};
  HitAccount sum = kfree;
  sum += kmalloc;
  take({account_record({.event = EVENT_kfree, .hits = kfree}, 5),
        account_record({.event = EVENT_kmalloc, .hits = kmalloc}, 5),
        account_record({.event = 0, .hits = sum}, 5)});
  ASSERT_TRUE(counts.total());
  EXPECT_EQ(*counts.total(), sum);
  EXPECT_EQ(counts.missed(), (std::map<std::string, uint64_t>{{"kfree", 4}}));
  EXPECT_EQ(counts.counts(&HitAccount::filtered),
            (std::map<std::string, uint64_t>{{"kfree", 20}, {"kmalloc", 60}}));
  EXPECT_EQ(counts_text(counts), ", 80 filtered, 4 missed");
  take({account_record({.event = 0, .hits = sum, .reset_ns = 4}, 5)});
  EXPECT_EQ(counts_text(counts), "; since the reset of the session: 80 filtered, 4 missed");
}

TEST(StreamLoop, CallsWatchersAndTicks) {
  FakeDaemon daemon([](Peer& peer) {
    peer.answer(
        [](const json&) { return json{{"result", {{"schema", schema_to_json(built_schema())}}}}; });
    peer.wait_for_end();
  });
  auto source = LiveSource::subscribe(*RpcClient::connect(daemon.socket()));
  ASSERT_TRUE(source);
  auto packets = ReadAhead::start(*source);
  StreamLoop loop(**packets, -1, -1);
  Fd event(::eventfd(1, EFD_CLOEXEC));
  int calls = 0, ticks = 0;
  loop.watch(event.get(), [&] { return ++calls, StreamLoop::Next::go_on; });
  loop.every(std::chrono::milliseconds(5),
             [&] { return ++ticks == 3 ? StreamLoop::Next::finish : StreamLoop::Next::go_on; });
  auto end =
      loop.run(std::nullopt,
               {.on_packet = [](const auto&, const auto&) { return Result<>(); },
                .after_packets = [] { return Result<StreamLoop::Next>(StreamLoop::Next::go_on); }});
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, StreamLoop::End::finished);
  EXPECT_EQ(calls, 1) << "called once, although the descriptor stays readable";
  EXPECT_GE(ticks, 3);
}

TEST(Progress, IsOneLine) {
  EXPECT_EQ(Progress::text({.records = 1234567, .lost = 89}, 45678.9, 3U << 20),
            "1,234,567 events (45,678/s), 89 lost, 3 MiB");
}

// The trace config and the times of its changes.
TEST_F(RecorderTest, KeepsTraceConfigsOfTheStream) {
  const json running = {{"state", "running"}}, paused = {{"state", "paused"}};
  const auto manifest =
      record({metadata_packet(10, {config_records(running, 0), config_records(paused, 8)})});
  ASSERT_TRUE(manifest) << manifest.error().message;
  json expected = running;
  expected["changes"] = {{{"ns", 8}, {"config", paused}}};
  EXPECT_EQ(manifest->config, expected);
}

}  // namespace
}  // namespace ktraced::test

// SPDX-License-Identifier: BSD-2-Clause
// Reports on a live stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "schema/schema_json.h"
#include "trace/metadata/account_record.h"
#include "trace/metadata/event_records.h"
#include "trace/metadata/lost_names.h"
#include "unit/ctl/live/fake_daemon.h"
#include "unit/ctl/reports/report_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// A daemon that streams the events of spec(), and has missed hits of kfree.
class LiveReport : public ReportTest {
 protected:
  // `stays`: it streams until the client ends the stream.
  json live(uint64_t missed, bool stays = true, const std::vector<Bytes>& first_names = {},
            const std::vector<std::string>& events = {}) {
    bool subscribed = false;
    std::thread waiting;
    FakeDaemon daemon(
        [&](Peer& peer) {
          if (!std::exchange(subscribed, true)) {
            stream(peer, first_names);
            if (stays)
              waiting = std::thread([missed, kept = std::move(peer)]() mutable {
                kept.wait_for_end();
                kept.write(metadata_packet(3 * kSecond, account(missed)));
              });
            return;
          }
          peer.answer([&](const json& request) {
            EXPECT_EQ(request["method"], "symbols.resolve");
            addresses_ = request["params"]["addresses"];
            return json::parse(
                R"({"result":{"symbols":{"0xffffffff81000001":"put_pid+0x1/0x2"}}})");
          });
        },
        2);
    ReportCommand report = command(kind_, {});
    report.live = true;
    report.selection.events = events;
    if (stays) report.duration_s = 0.001;
    Options options;
    options.socket = daemon.socket();
    options.json = true;
    ::testing::internal::CaptureStdout();
    result_ = run_report(report, options);
    out_ = ::testing::internal::GetCapturedStdout();
    if (waiting.joinable()) waiting.join();
    return json::parse(out_);
  }
  void stream(Peer& peer, const std::vector<Bytes>& first_names) {
    peer.answer([this](const json& request) {
      request_ = request["params"];
      return json{{"result",
                   {{"session", "client-1"},
                    {"schema", schema_to_json(built_schema())},
                    {"kernel", "6.18.44"},
                    {"clock", {{"boottime_ns", kSecond}, {"realtime_ns", 1}}}}}};
    });
    peer.write(metadata_packet(kSecond, first_names));
    for (const PacketSpec& packet : spec().packets) peer.write(make_packet(packet));
    for (const PacketSpec& packet : more_) peer.write(make_packet(packet));
    peer.write(metadata_packet(3 * kSecond, spec().names));
  }
  // The account of the session.
  static std::vector<Bytes> account(uint64_t missed) {
    return {account_record({.event = EVENT_kmalloc, .hits = {.recorded = 2}}, 3 * kSecond),
            account_record({.event = EVENT_kfree, .hits = {.missed = missed}}, 3 * kSecond),
            account_record({.event = 0, .hits = {.recorded = 2, .missed = missed}}, 3 * kSecond)};
  }

  ReportCommand::Kind kind_ = ReportCommand::Kind::kmem;
  std::vector<PacketSpec> more_;  // packets after those of spec()
  json request_;                  // of the subscription
  json addresses_;                // whose symbols were asked for
};

TEST_F(LiveReport, EqualsTheReportOfATrace) {
  const json actual = live(0);
  EXPECT_TRUE(result_);
  EXPECT_EQ(actual["sources"][0]["complete"], true);
  const json& use = actual["types"]["kmalloc"];
  EXPECT_EQ(use["count"], 2);
  EXPECT_EQ(use["freed_elsewhere"], 1);
  EXPECT_EQ(use["held"], 1);
  EXPECT_EQ(use["uncertain"], 0);
  EXPECT_EQ(actual["call_sites"]["rows"][0]["symbol"], "put_pid+0x1/0x2");
  EXPECT_EQ(actual["tasks"]["rows"][0]["comm"], "eight");
  EXPECT_EQ(actual["window"]["seconds"], 2.0);
  EXPECT_EQ(actual["sources"][0]["kind"], "live stream");
  EXPECT_EQ(actual["caveats"], json::array());
}

TEST_F(LiveReport, AsksForAllSymbolsAtOnce) {
  more_ = {{.cpu = 0,
            .records = {kmalloc_at(kSecond + 200, 0x3000, kSite + 16),
                        kmalloc_at(kSecond + 300, 0x4000, kSite + 32)}}};
  const json actual = live(0);
  EXPECT_EQ(actual["call_sites"]["of"], 3);
  EXPECT_THAT(addresses_, UnorderedElementsAre("0xffffffff81000001", "0xffffffff81000011",
                                               "0xffffffff81000021"));
}

TEST_F(LiveReport, CountsOnlyChosenEvents) {
  const json report = live(3, true, {}, {"kmallo?"});
  EXPECT_EQ(request_, json::parse(R"({"events":["kmallo?"]})"));
  EXPECT_EQ(report["types"]["kmalloc"]["count"], 2);
  EXPECT_EQ(report["types"]["kmalloc"]["frees"]["seen"], 0);
  EXPECT_THAT(report["caveats"], ElementsAre("--event leaves out kfree"));
}

TEST_F(LiveReport, HasCaveatsForHitsMissedWhileItRuns) {
  const json actual = live(3);
  EXPECT_THAT(actual["caveats"], ElementsAre("the kernel skipped 3 hits of kfree"));
  EXPECT_EQ(actual["types"]["kmalloc"]["uncertain"], 1);
}

TEST_F(LiveReport, IsIncompleteIfTheDaemonEndsTheStream) {
  const json actual = live(0, false);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::unavailable);
  EXPECT_EQ(actual["types"]["kmalloc"]["count"], 2) << "the events received are reported";
  EXPECT_EQ(actual["sources"][0]["complete"], false);
  EXPECT_THAT(actual["caveats"], ElementsAre(HasSubstr("the stream breaks off: ktraced has died")));
}

TEST_F(LiveReport, ReportsTheTraceConfigWhileItRuns) {
  const json running = {{"state", "running"}, {"events", {"kmalloc", "kfree"}}};
  json paused = running;
  paused["state"] = "paused";
  const json actual = live(0, true,
                           {config_records(running, 0), config_records(paused, kSecond + 10),
                            config_records(running, kSecond + 20)});
  EXPECT_THAT(actual["caveats"], ElementsAre("tracing was paused from +0.000 s to +0.000 s"));
  EXPECT_EQ(actual["types"]["kmalloc"]["freed_elsewhere"], 0) << "allocated before the pause";
}

TEST_F(LiveReport, SaysThatCommandLinesMayBeMissing) {
  kind_ = ReportCommand::Kind::processes;
  const json all = live(0);
  EXPECT_THAT(all["caveats"].get<std::vector<std::string>>(),
              Not(Contains(HasSubstr("command lines"))));
  const json report = live(0, true, {unread_commands_record()});
  EXPECT_THAT(report["caveats"].get<std::vector<std::string>>(),
              Contains("command lines of processes may be missing: they were not read in time"));
  EXPECT_EQ(report["sources"][0]["complete"], all["sources"][0]["complete"])
      << "no event is missing";
}

TEST_F(LiveReport, NeedsADaemon) {
  ReportCommand report = command(ReportCommand::Kind::summary, {});
  report.live = true;
  Options options;
  options.socket = directory_.path() / "none";
  result_ = run_report(report, options);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::unavailable);
}

}  // namespace
}  // namespace ktraced::test

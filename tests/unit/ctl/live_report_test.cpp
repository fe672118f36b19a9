// Reports on what happens now.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/schema_json.h"
#include "unit/ctl/fake_daemon.h"
#include "unit/ctl/report_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;

// A daemon that streams the events of spec(), with `status` before and afterwards.
class LiveReport : public ReportTest {
 protected:
  json live(const json& before, const json& after) {
    int connection = 0;
    FakeDaemon daemon(
        [&](Peer& peer) {
          switch (++connection) {
            case 1:
              return stream(peer);
            case 2:
              peer.answer([&](const json&) { return json{{"result", before}}; });
              return;
            case 3:
              peer.answer([&](const json&) { return json{{"result", after}}; });
              return;
            default:
              peer.answer([](const json& request) {
                EXPECT_EQ(request["method"], "symbols.resolve");
                return json::parse(
                    R"({"result":{"symbols":{"0xffffffff81000001":"put_pid+0x1/0x2"}}})");
              });
          }
        },
        4);
    ReportCommand wanted = command(ReportCommand::Kind::kmem, {});
    wanted.live = true;
    Options options;
    options.socket = daemon.socket();
    options.json = true;
    ::testing::internal::CaptureStdout();
    result_ = run_report(wanted, options);
    out_ = ::testing::internal::GetCapturedStdout();
    return json::parse(out_);
  }
  static void stream(Peer& peer) {
    peer.answer([](const json&) {
      return json{{"result",
                   {{"schema", schema_to_json(built_schema())},
                    {"kernel", "6.18.44"},
                    {"clock", {{"boottime_ns", kSecond}, {"realtime_ns", 1}}}}}};
    });
    for (const PacketSpec& packet : spec().packets) peer.write(make_packet(packet));
    peer.write(names_packet(3 * kSecond, spec().names));
  }
  static json status(int missed) {
    return {{"events",
             {{"kmalloc", {{"enabled", true}, {"missed", 7}}},
              {"kfree", {{"enabled", true}, {"missed", missed}}}}}};
  }
};

TEST_F(LiveReport, IsThatOfATrace) {
  const json told = live(status(5), status(5));
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::unavailable) << "the daemon has ended the stream";
  const json& use = told["types"]["kmalloc"];
  EXPECT_EQ(use["count"], 2);
  EXPECT_EQ(use["freed_elsewhere"], 1);
  EXPECT_EQ(use["held"], 1);
  EXPECT_EQ(use["unsure"], 0);
  EXPECT_EQ(told["call_sites"]["rows"][0]["symbol"], "put_pid+0x1/0x2");
  EXPECT_EQ(told["tasks"]["rows"][0]["comm"], "eight");
  EXPECT_EQ(told["window"]["seconds"], 2.0);
  EXPECT_EQ(told["sources"][0]["kind"], "live stream");
  EXPECT_EQ(told["doubts"], json::array());
}

TEST_F(LiveReport, DoubtsWhatTheKernelHasSkippedMeanwhile) {
  const json told = live(status(5), status(8));
  EXPECT_THAT(told["doubts"], ElementsAre("the kernel skipped 3 hits of kfree"));
  EXPECT_EQ(told["types"]["kmalloc"]["unsure"], 1);
}

TEST_F(LiveReport, NeedsADaemon) {
  ReportCommand wanted = command(ReportCommand::Kind::summary, {});
  wanted.live = true;
  Options options;
  options.socket = directory_.path() / "none";
  result_ = run_report(wanted, options);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::unavailable);
}

}  // namespace
}  // namespace ktraced::test

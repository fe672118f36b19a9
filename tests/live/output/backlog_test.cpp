// SPDX-License-Identifier: BSD-2-Clause
// A stream begins now; `--backlog` first shows unread records, marked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "harness/client/stream.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A daemon that was killed while it had a reader and was restarted, and the calls in between, which
// no client has read.
class Backlog : public testing::Test {
 protected:
  void leave_unread() {
    Stream interrupted(daemon_);
    daemon_.end(SIGKILL);
    during_.act();
    daemon_.start();
  }

  Daemon daemon_{json{{"events", numbered_calls()}}};
  WaitingTruth during_{{"numbered", "2000"}};
  WaitingTruth after_{{"numbered", "1000"}};
};

TEST_F(Backlog, IsSentOnlyWhenRequested) {
  leave_unread();
  Stream stream(daemon_);
  after_.act();
  const Trace trace = stream.finish();
  EXPECT_THAT(call_numbers(trace, during_.pid()), IsEmpty());
  EXPECT_EQ(call_numbers(trace, after_.pid()), from_to(1, 1000));
  EXPECT_EQ(trace.lost(), 0);
  EXPECT_TRUE(daemon_.logged("discarded what an earlier daemon's readers had not read yet"));
  // It was discarded.
  Stream second(daemon_, {"--backlog"});
  EXPECT_THAT(call_numbers(second.finish(), during_.pid()), IsEmpty());
}

TEST_F(Backlog, IsMarkedWhereItBeginsAndEnds) {
  leave_unread();
  Stream stream(daemon_, {"--backlog"});
  after_.act();
  const Trace trace = stream.finish();
  const auto& lines = trace.lines();
  ASSERT_FALSE(lines.empty());
  ASSERT_EQ(lines.front().value("backlog", ""), "begin") << lines.front();
  const auto until = lines.front()["until_ns"].get<uint64_t>();
  size_t marks = 0;
  bool ended = false;
  for (const json& line : lines) {
    if (line.contains("backlog")) {
      ++marks;
      ended = line["backlog"] == "end";
      EXPECT_EQ(line["until_ns"], until);
    } else {
      EXPECT_EQ(line["ts"].get<uint64_t>() >= until, ended) << line;
    }
  }
  EXPECT_EQ(marks, 2U);
  EXPECT_TRUE(ended);
  EXPECT_EQ(call_numbers(trace, during_.pid()), from_to(1, 2000));
  EXPECT_EQ(call_numbers(trace, after_.pid()), from_to(1, 1000));
}

TEST_F(Backlog, IsMarkedInText) {
  leave_unread();
  const std::string text =
      daemon_.ctl_ok({"stream", "--backlog", "--event", "sys_enter", "--duration", "0.5"});
  const size_t begin = text.find("# backlog: "), end = text.find("# end of the backlog");
  ASSERT_NE(begin, std::string::npos) << text.substr(0, 1000);
  ASSERT_NE(end, std::string::npos);
  EXPECT_LT(begin, text.find("sys_enter"));
  EXPECT_LT(begin, end);
}

TEST_F(Backlog, IsReportedAsEmptyWhenThereIsNone) {
  const Finished finished = daemon_.ctl({"stream", "--backlog", "--duration", "0.2"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("there is no backlog"));
  EXPECT_THAT(finished.out, Not(HasSubstr("backlog")));
}

// The rings still hold records that were not sent to other subscribers.
TEST(Stream, BeginsNowBesideAnotherReader) {
  Daemon daemon({{"events", numbered_calls()}, {"stream", {{"max_latency_ms", 10'000}}}});
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  Stream first(daemon);
  before.act();
  Stream second(daemon);
  after.act();
  const Trace late = second.finish(), whole = first.finish();
  EXPECT_THAT(call_numbers(late, before.pid()), IsEmpty());
  EXPECT_EQ(call_numbers(late, after.pid()), from_to(1, 500));
  EXPECT_EQ(call_numbers(whole, before.pid()), from_to(1, 1000));
  EXPECT_EQ(call_numbers(whole, after.pid()), from_to(1, 500));
}

}  // namespace
}  // namespace ktraced::live

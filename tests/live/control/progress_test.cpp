// SPDX-License-Identifier: BSD-2-Clause
// The progress line of `ktracectl record` on a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <regex>

#include "harness/client/daemon.h"
#include "harness/machine/terminal.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

// The numbers of the last line of progress: events, events/s, lost.
struct Progress {
  uint64_t events = 0, per_second = 0, lost = 0;
};

Progress last_progress(const std::string& text) {
  static const std::regex kForm(R"(([0-9,]+) events \(([0-9,]+)/s\), ([0-9,]+) lost, [0-9.]+ )");
  auto number = [](std::string digits) {
    std::erase(digits, ',');
    return std::stoull(digits);
  };
  Progress last;
  for (std::sregex_iterator match(text.begin(), text.end(), kForm), end; match != end; ++match)
    last = {number((*match)[1]), number((*match)[2]), number((*match)[3])};
  return last;
}

json small_rings() {
  json config = {{"events", numbered_calls()}};
  config["stream"]["buffer_kb"] = 64;
  return config;
}

TEST(CommandLine, RecordReportsEventsAndLossesOnATerminal) {
  Daemon daemon(small_rings());
  Terminal terminal;
  const std::string path = daemon.directory() / "recording";
  Process recording(terminal.on_terminal(daemon.ctl_command({"record", "-o", path})));
  ASSERT_TRUE(eventually([&] { return terminal.text().find(" events (") != std::string::npos; }));

  // Calls continue until a line shows a rate, which covers the time since the previous line.
  WaitingTruth caller({"numbered", "0", "1000"});
  caller.go();
  EXPECT_TRUE(eventually([&] { return last_progress(terminal.text()).per_second > 0; }));
  caller.finish();

  daemon.send(SIGSTOP);  // so the rings fill up for sure
  run_truth({"numbered", "20000"});
  daemon.send(SIGCONT);
  EXPECT_TRUE(eventually([&] { return last_progress(terminal.text()).lost > 0; }));
  recording.send(SIGINT);
  ASSERT_EQ(recording.wait().exit_code, 0);
  // Each line replaces the one before, and the last one is erased.
  const std::string text = terminal.text();
  EXPECT_THAT(text, HasSubstr("\r\x1b[K"));
  const size_t summary = text.find("ktracectl: " + path);
  ASSERT_NE(summary, std::string::npos) << text;
  EXPECT_EQ(text.substr(summary - 4, 4), "\r\x1b[K");
  const json manifest = manifest_of(path);
  const Progress expected = last_progress(text.substr(summary));
  EXPECT_EQ(expected.events, manifest["records"]);
  EXPECT_EQ(expected.lost, manifest["lost"]);
  EXPECT_GT(expected.lost, 0U);
}

}  // namespace
}  // namespace ktraced::live

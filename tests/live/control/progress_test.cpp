// SPDX-License-Identifier: BSD-2-Clause
// The progress line of `ktracectl record` on a terminal.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <regex>

#include "harness/client/daemon.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;

// A private terminal.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    char name[64] = {};
    if (!master_ || ::grantpt(master_.get()) != 0 || ::unlockpt(master_.get()) != 0 ||
        ::ptsname_r(master_.get(), name, sizeof(name)) != 0)
      throw std::runtime_error("no pseudo-terminal: is /dev/pts mounted?");
    name_ = name;
    other_side_ = Fd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));  // keeps what is written
  }
  // Runs the command with its standard error on this terminal.
  [[nodiscard]] Command on_terminal(const Command& command) const {
    Command words = {"sh", "-c", "exec \"$@\" 2>" + name_, "sh"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  // All that was written to it so far.
  const std::string& text() {
    char bytes[4096];
    for (ssize_t got; (got = ::read(master_.get(), bytes, sizeof(bytes))) > 0;)
      text_.append(bytes, static_cast<size_t>(got));
    return text_;
  }

 private:
  Fd master_, other_side_;
  std::string name_, text_;
};

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

TEST(CommandLine, RecordWritesNoProgressToAFile) {
  Daemon daemon(small_rings());
  const std::string path = daemon.directory() / "recording";
  // Longer than the interval of progress lines.
  Finished recorded = daemon.ctl({"record", "-o", path, "--", "sleep", "2"});
  EXPECT_EQ(recorded.exit_code, 0);
  EXPECT_THAT(recorded.err, Not(HasSubstr("\r")));
  EXPECT_THAT(recorded.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(recorded.err, HasSubstr(path + ": "));
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// Reports that are drawn repeatedly on a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <csignal>
#include <cstring>
#include <regex>

#include "harness/client/daemon.h"
#include "harness/machine/terminal.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kEnterScreen = "\x1b[?1049h";
constexpr const char* kLeaveScreen = "\x1b[?1049l";
constexpr const char* kFrameBegin = "\x1b[H";

size_t times_in(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The numbers of calls that the frames, or the final report, have shown.
std::vector<uint64_t> totals_in(const std::string& text) {
  static const std::regex kTotal(R"(total +([0-9,]+) )");
  std::vector<uint64_t> totals;
  for (std::sregex_iterator match(text.begin(), text.end(), kTotal), end; match != end; ++match) {
    std::string digits = (*match)[1];
    std::erase(digits, ',');
    totals.push_back(std::stoull(digits));
  }
  return totals;
}

void set_rows(const Terminal& terminal, unsigned short rows) {
  const winsize size{.ws_row = rows, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::ioctl(terminal.fd(), TIOCSWINSZ, &size), 0);
}

TEST(LiveReport, IsDrawnRepeatedlyOnATerminalUntilCtrlC) {
  Daemon daemon(json{{"events", numbered_calls()}});
  Terminal terminal;
  set_rows(terminal, 50);
  termios before{}, after{};
  ASSERT_EQ(::tcgetattr(terminal.fd(), &before), 0);
  Process report(terminal.on_terminal(
      daemon.ctl_command({"report", "summary", "--live", "--interval", "200ms"}), STDOUT_FILENO));
  WaitingTruth caller({"numbered", "0", "1000"});
  caller.go();
  EXPECT_TRUE(eventually([&] {
    const auto totals = totals_in(terminal.text());
    return totals.size() >= 3 && totals.back() > totals.front();
  })) << terminal.text();
  EXPECT_TRUE(std::ranges::is_sorted(totals_in(terminal.text())));

  EXPECT_THAT(terminal.text(), Not(HasSubstr("more lines")));
  set_rows(terminal, 5);
  report.send(SIGWINCH);
  EXPECT_TRUE(eventually([&] { return terminal.text().find("more lines") != std::string::npos; }));
  report.send(SIGINT);
  EXPECT_EQ(report.wait().exit_code, 0);
  caller.finish();

  const std::string text = terminal.text();
  EXPECT_EQ(times_in(text, kEnterScreen), 1U);
  ASSERT_EQ(times_in(text, kLeaveScreen), 1U);
  const std::string last = text.substr(text.find(kLeaveScreen));
  EXPECT_THAT(last, Not(HasSubstr(kFrameBegin)));
  EXPECT_EQ(totals_in(last).size(), 1U) << "the whole report, as on no terminal: " << last;
  EXPECT_EQ(times_in(text, "\x1b[?25l"), times_in(text, "\x1b[?25h")) << "the cursor is back";
  ASSERT_EQ(::tcgetattr(terminal.fd(), &after), 0);
  EXPECT_EQ(std::memcmp(&before, &after, sizeof(before)), 0);
}

TEST(LiveReport, IsPrintedOnceIfItIsNotForATerminal) {
  Daemon daemon(json{{"events", numbered_calls()}});
  const Command words = {"report", "summary",    "--live", "--interval",
                         "100ms",  "--duration", "500ms"};
  EXPECT_THAT(daemon.ctl_ok(words), Not(HasSubstr("\x1b")));
  Command as_json = words;
  as_json.insert(as_json.begin(), "--json");
  Terminal terminal;
  Process report(terminal.on_terminal(daemon.ctl_command(as_json), STDOUT_FILENO));
  EXPECT_EQ(report.wait().exit_code, 0);
  EXPECT_THAT(terminal.text(), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// The arguments of processes that were there before the trace.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "harness/client/process_rows.h"

namespace ktraced::live {
namespace {

constexpr const char* kEcho = "echo ready; while read line; do echo $line; done";

// A shell that runs since before the trace, and echoes lines.
class Old {
 public:
  explicit Old(const std::string& script) : shell_({"sh", "-c", script, "it's old", "\x1b[31m"}) {
    if (!eventually([&] { return shell_.out().ends_with('\n'); }))
      throw std::runtime_error("the shell does not run");
  }
  ~Old() { shell_.close_input(); }
  // Returns when it has ended.
  void end() {
    shell_.close_input();
    ASSERT_EQ(shell_.wait().exit_code, 0);
  }
  Old(const Old&) = delete;
  Old& operator=(const Old&) = delete;

  [[nodiscard]] pid_t pid() const { return shell_.pid(); }
  // Returns when it has read a line, and has written another one.
  void wake() {
    const size_t before = shell_.out().size();
    shell_.write_input("line\n");
    ASSERT_TRUE(eventually([&] { return shell_.out().size() > before; }));
  }

 private:
  Process shell_;
};

class Commands : public testing::Test {
 protected:
  json reported(const std::string& trace, pid_t pid) { return process_row(daemon_, trace, pid); }
  // Empty while the daemon has not read it.
  std::string queried(const std::string& trace, pid_t pid) {
    const json argv = process_column(daemon_, trace, pid, "argv");
    return argv.is_null() ? "" : argv.get<std::string>();
  }
  std::string snapshot() {
    return json::parse(daemon_.ctl_ok({"--json", "snapshot", "take"}))["path"];
  }

  // Both before the daemon.
  Old echo_{kEcho}, later_{"echo ready; read line; exec sh -c 'echo again; read line' later"};
  Daemon daemon_{
      json{{"events", {{"sched", true}, {"process", true}}}, {"flight", {{"enabled", true}}}}};
};

TEST_F(Commands, AreKnownOfProcessesThatDoNotExec) {
  const std::string expected = "sh -c '" + std::string(kEcho) + "' 'it'\\''s old' ";
  // The daemon waits a while for the command lines of all processes. A later snapshot has the rest.
  std::string trace;
  ASSERT_TRUE(eventually([&] {
    echo_.wake();
    trace = snapshot();
    return !queried(trace, echo_.pid()).empty();
  }));
  EXPECT_EQ(queried(trace, echo_.pid()), expected + "$'\\033[31m'");
  const json row = reported(trace, echo_.pid());
  EXPECT_EQ(row["execs"], 0);
  EXPECT_GT(row["argv_read_ns"], row["start_ns"]);
  EXPECT_EQ(row["argv"], expected + "$'\\033[31m'");
  EXPECT_EQ(row["parent"]["pid"], ::getpid());
  EXPECT_EQ(process_column(daemon_, trace, echo_.pid(), "parent_pid"), ::getpid());
}

// When the snapshot is written, /proc has nothing of it any more.
TEST_F(Commands, AreKnownOfAProcessThatEndsBeforeTheSnapshot) {
  ASSERT_TRUE(eventually([&] { return !queried(snapshot(), echo_.pid()).empty(); }));
  const pid_t pid = echo_.pid();
  echo_.end();
  const json row = reported(snapshot(), pid);
  EXPECT_EQ(row["end"]["how"], "exited");
  EXPECT_EQ(row["argv"], "sh -c '" + std::string(kEcho) + "' 'it'\\''s old' $'\\033[31m'");
  EXPECT_EQ(row["parent"]["pid"], ::getpid());
}

TEST_F(Commands, OfARecordingAreThoseOfItsBeginUntilAnExec) {
  const std::string trace = daemon_.directory() / "recording";
  Process recording(daemon_.ctl_command({"record", "-o", trace, "--all", "--", "cat"}));
  recording.write_input("begun\n");
  ASSERT_TRUE(eventually([&] { return recording.out().contains("begun"); }));
  later_.wake();
  recording.close_input();
  ASSERT_EQ(recording.wait().exit_code, 0);
  EXPECT_EQ(queried(trace, later_.pid()), "sh -c 'echo again; read line' later");
}

}  // namespace
}  // namespace ktraced::live

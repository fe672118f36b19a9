// SPDX-License-Identifier: BSD-2-Clause
// The parents of processes that were there before the trace.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "harness/client/process_rows.h"

namespace ktraced::live {
namespace {

// A shell that waits for a child, which prints its pid and then reads lines.
class Family {
 public:
  Family() : shell_({"sh", "-c", kShell}) {
    if (!eventually([&] { return shell_.out().ends_with('\n'); }))
      throw std::runtime_error("the child does not run");
  }
  ~Family() { shell_.close_input(); }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  [[nodiscard]] pid_t parent() const { return shell_.pid(); }
  [[nodiscard]] pid_t child() const { return std::stoi(shell_.out()); }
  // Returns when the child has read another line.
  void wake_child() {
    const size_t before = shell_.out().size();
    shell_.write_input("line\n");
    ASSERT_TRUE(eventually([&] { return shell_.out().size() > before; }));
  }
  void end_parent() {
    shell_.send(SIGKILL);
    ASSERT_TRUE(eventually([&] { return !shell_.running(); }));
  }

 private:
  static constexpr const char* kShell =
      "exec 3<&0; sh -c 'echo $$; while read line; do echo $line; done' <&3 & wait";
  Process shell_;
};

class Parents : public testing::Test {
 protected:
  std::string snapshot() {
    return json::parse(daemon_.ctl_ok({"--json", "snapshot", "take"}))["path"];
  }
  // As the report has it; null if there is no such row, or its parent is not known.
  json reported(const std::string& trace, pid_t pid) {
    const json row = process_row(daemon_, trace, pid);
    return row.is_null() ? row : row["parent"];
  }
  json queried(const std::string& trace, pid_t pid) {
    return process_column(daemon_, trace, pid, "parent_pid");
  }

  Family family_;  // before the daemon
  Daemon daemon_{json{{"events", {{"sched", true}}}, {"flight", {{"enabled", true}}}}};
};

TEST_F(Parents, AreKnownOfProcessesThatAreOlderThanTheDaemonAlsoWhenTheyEnd) {
  family_.wake_child();
  std::string trace = snapshot();
  EXPECT_EQ(reported(trace, family_.child()), (json{{"pid", family_.parent()}, {"comm", "sh"}}));
  EXPECT_EQ(queried(trace, family_.child()), family_.parent());
  EXPECT_EQ(queried(trace, family_.parent()), ::getpid());
  family_.end_parent();
  family_.wake_child();
  trace = snapshot();
  EXPECT_EQ(reported(trace, family_.child())["pid"], family_.parent());
  EXPECT_EQ(queried(trace, family_.child()), family_.parent());
}

}  // namespace
}  // namespace ktraced::live

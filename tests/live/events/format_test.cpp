// SPDX-License-Identifier: BSD-2-Clause
// The process format of forks and ends, compared with the ground truth. Unit tests have its other
// lines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>

#include <algorithm>
#include <sstream>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::Contains;

// A recording of the ground truth, and the output of `show` for it.
class Recorded {
 public:
  Recorded(const json& config, const Command& words) : daemon_(config) {
    Command command{"record", "-o", path(), "--", kTruthProgram};
    command.insert(command.end(), words.begin(), words.end());
    const Finished recorded = daemon_.ctl(command);
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
    expected_ = truth_of(recorded);
  }
  [[nodiscard]] const json& expected() const { return expected_; }

  // The lines of thread `tid` in the process format, without their prefix.
  [[nodiscard]] std::vector<std::string> acts_of(pid_t tid) const {
    std::vector<std::string> acts;
    const std::string thread = fmt::format("truth {} ", tid);
    std::istringstream text(daemon_.ctl_ok({"show", path(), "--format", "process"}));
    for (std::string line; std::getline(text, line);)
      if (line.starts_with(thread)) acts.push_back(line.substr(line.find("  ") + 2));
    return acts;
  }

 private:
  [[nodiscard]] std::string path() const { return daemon_.directory() / "recording"; }

  Daemon daemon_;
  json expected_;
};

json process_events() {
  return {{"events", {{"process", true}, {"tracepoints", {"task:task_newtask"}}}}};
}

// The flags of the only fork line with that child; 0 if there is none.
unsigned long flags_of_fork(const std::vector<std::string>& acts, pid_t child) {
  const std::string begin = fmt::format("fork {} flags 0x", child);
  unsigned long flags = 0;
  for (const std::string& act : acts)
    if (act.starts_with(begin)) {
      EXPECT_EQ(flags, 0U) << "named twice: " << act;
      flags = std::stoul(act.substr(begin.size()), nullptr, 16);
    }
  return flags;
}

TEST(ProcessFormat, ShowsExitsAndForksWithTheirFlags) {
  const Recorded recorded(process_events(), {"fork", "3", "2"});
  const json& expected = recorded.expected();
  const auto acts = recorded.acts_of(expected["pid"]);
  for (const json& child : expected["children"]) {
    const unsigned long flags = flags_of_fork(acts, child["pid"]);
    EXPECT_NE(flags & CLONE_CHILD_SETTID, 0U) << "the C library's fork() sets it: " << child;
    EXPECT_EQ(flags & (CLONE_VM | CLONE_THREAD), 0U) << child;
    EXPECT_THAT(recorded.acts_of(child["pid"]),
                Contains(fmt::format("exit {}", child["wait_status"].get<int>())));
  }
  for (const json& thread : expected["threads"])
    EXPECT_EQ(flags_of_fork(acts, thread) & (CLONE_VM | CLONE_THREAD),
              static_cast<unsigned long>(CLONE_VM | CLONE_THREAD));
  const auto forks =
      std::ranges::count_if(acts, [](const std::string& act) { return act.starts_with("fork "); });
  EXPECT_EQ(static_cast<size_t>(forks), expected["children"].size() + expected["threads"].size());
}

}  // namespace
}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// The kmemtrace and process formats, compared with the ground truth.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>

#include <csignal>
#include <sstream>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::Contains;
using testing::ElementsAreArray;
using testing::StartsWith;

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

  [[nodiscard]] std::vector<std::string> lines(const std::string& format,
                                               const Command& options = {}) const {
    Command command{"show", path(), "--format", format};
    command.insert(command.end(), options.begin(), options.end());
    std::istringstream text(daemon_.ctl_ok(command));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  // The lines of thread `tid` in the process format, without their prefix.
  [[nodiscard]] std::vector<std::string> acts_of(pid_t tid, const Command& options = {}) const {
    std::vector<std::string> acts;
    const std::string thread = fmt::format("truth {} ", tid);
    for (const std::string& line : lines("process", options))
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

TEST(ProcessFormat, ShowsForksWithoutTheTracepoint) {
  const Recorded recorded(json{{"events", {{"process", true}}}}, {"fork", "2", "0"});
  const auto acts = recorded.acts_of(recorded.expected()["pid"]);
  for (const json& child : recorded.expected()["children"])
    EXPECT_THAT(acts, Contains(fmt::format("fork {} flags ?", child["pid"].get<int>())));
}

TEST(ProcessFormat, ShowsSystemCalls) {
  const Recorded recorded(json{{"events", {{"syscalls", true}}}}, {"syscalls"});
  std::vector<std::string> expected, expected_names;
  for (const json& call : recorded.expected()["calls"]) {
    std::string arguments;
    for (const json& argument : call["args"])
      arguments +=
          fmt::format("{}{:#x}", arguments.empty() ? "" : " ", argument.get<unsigned long>());
    const std::string name = call["name"], number = std::to_string(call["nr"].get<long>());
    const long ret = call["ret"], error = ret < 0 && ret >= -4095 ? ret : 0;
    expected.push_back(fmt::format("syscall {} [{}]", number, arguments));
    expected.push_back(fmt::format("syscall rc {} error {}", ret, error));
    expected_names.push_back(
        fmt::format("syscall {} [{}]", name.empty() ? number : name, arguments));
  }
  const pid_t pid = recorded.expected()["pid"];
  // Other lines come before and after.
  auto known = [&](std::vector<std::string> acts, size_t count) {
    const auto first = std::ranges::find(acts, expected[0]);
    acts.erase(acts.begin(), first);
    acts.resize(std::min(acts.size(), count));
    return acts;
  };
  EXPECT_THAT(known(recorded.acts_of(pid), expected.size()), ElementsAreArray(expected));
  auto named = known(recorded.acts_of(pid, {"--names"}), expected.size());
  std::erase_if(named, [](const std::string& act) { return act.starts_with("syscall rc"); });
  EXPECT_THAT(named, ElementsAreArray(expected_names));
}

TEST(ProcessFormat, ShowsDeliveredSignals) {
  const Recorded recorded(json{{"events", {{"signal", true}}}}, {"signal"});
  std::vector<std::string> expected;
  for (const json& signal : recorded.expected()["delivered"])
    expected.push_back(fmt::format("signal {} errno 0 code {:#x}", signal["sig"].get<int>(),
                                   static_cast<unsigned>(signal["code"].get<int>())));
  EXPECT_THAT(recorded.acts_of(recorded.expected()["pid"]), ElementsAreArray(expected));
}

unsigned long number(const json& event, const char* field) {
  return static_cast<unsigned long>(number_of(event, field));
}

// The line that the original kmemtrace would have written.
std::string original_line(const json& event) {
  const std::string name = event["event"];
  const bool pages = name.starts_with("mm_page"), is_alloc = name.find("alloc") < name.npos;
  const int type = pages ? 2 : name.starts_with("kmem_cache") ? 1 : 0;
  std::string line =
      fmt::format("type_id {} call_site {} ptr {}", type, pages ? 0 : number(event, "call_site"),
                  number(event, pages ? "page" : "ptr"));
  if (!is_alloc) return line;
  const unsigned long bytes = pages ? 4096UL << number(event, "order") : 0;
  return line + fmt::format(" bytes_req {} bytes_alloc {} gfp_flags {} node {}",
                            pages ? bytes : number(event, "bytes_req"),
                            pages ? bytes : number(event, "bytes_alloc"),
                            number(event, "gfp_flags"), pages ? -1 : number_of(event, "node"));
}

TEST(KmemtraceFormat, ShowsEveryAllocationAndFree) {
  const Recorded recorded(json{{"events", {{"kmem", true}}}, {"stream", {{"buffer_kb", 16384}}}},
                          {"kmem", "50"});
  std::vector<std::string> expected;
  for (const std::string& line : recorded.lines("json")) {
    const json event = json::parse(line);
    ASSERT_FALSE(event.contains("lost")) << line;
    expected.push_back(original_line(event));
  }
  EXPECT_THAT(recorded.lines("kmemtrace"), ElementsAreArray(expected));
  for (const json& size : recorded.expected()["message_sizes"])
    EXPECT_THAT(expected,
                Contains(testing::HasSubstr(fmt::format(" bytes_req {} ", size.get<int>()))));

  const auto table = recorded.lines("kmemtrace-minimal");
  constexpr size_t kHeader = 5;
  ASSERT_EQ(table.size(), expected.size() + kHeader);
  EXPECT_THAT(table[1], StartsWith("# ALLOC  TYPE  "));
  const size_t pointer = table[1].find("POINTER"), caller = table[1].find("CALLER");
  for (size_t i = kHeader; i < table.size(); ++i) {
    EXPECT_EQ(table[i].substr(pointer, 2), "0x") << table[i];
    EXPECT_EQ(table[i].at(caller - 1), ' ') << table[i];
    EXPECT_NE(table[i].at(caller), ' ') << table[i];
  }
}

}  // namespace
}  // namespace ktraced::live

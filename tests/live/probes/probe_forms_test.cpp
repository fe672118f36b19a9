// SPDX-License-Identifier: BSD-2-Clause
// Hits of kernel probes as text, and as read by other programs.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "harness/client/probes.h"
#include "harness/machine/kernel_trace.h"
#include "harness/traces/flight.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Probe, ShowsItsPlaceInTheProcessFormat) {
  Daemon daemon(flight_config());
  add(daemon, kNumbered);
  add(daemon, kReturn);
  WaitingTruth truth({"numbered", "1"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  const std::string text = daemon.ctl_ok({"show", taken["path"], "--format", "process"});
  EXPECT_THAT(text, HasSubstr("  @__x64_sys_getpriority+0 n=1\n"));
  EXPECT_THAT(text, HasSubstr("  <-__x64_sys_getpriority+0 ret="));
}

// Definitions that every kernel of the matrix supports, in its own tracer as well.
const std::vector<std::string> kComparable = {
    "open do_sys_openat2 dfd=$arg1:s32 path=+0($arg2):ustring same=+u0(%si):string c=$comm "
    "bits=%di:b4@4/32 low=%di:x16 at=$stack:x64",
    "inside do_sys_openat2 i=\\42 n=\\-1:s8 bad=+0(%di):string",
};

// Attaches probes in the kernel's own tracer, which all users of this machine share, under a group
// of this process.
class KernelProbes {
 public:
  explicit KernelProbes(const std::vector<std::string>& definitions) {
    for (const std::string& definition : definitions) {
      write(fmt::format("p:{}/{}", group_, definition));
      names_.push_back(definition.substr(0, definition.find(' ')));
    }
  }
  ~KernelProbes() {
    for (const std::string& name : names_) write(fmt::format("-:{}/{}", group_, name));
  }
  KernelProbes(const KernelProbes&) = delete;
  KernelProbes& operator=(const KernelProbes&) = delete;

  [[nodiscard]] const std::string& group() const { return group_; }

 private:
  static void write(const std::string& line) {
    const Fd file(::open("/sys/kernel/tracing/kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC));
    const ssize_t written = ::write(file.get(), line.data(), line.size());
    EXPECT_EQ(written, static_cast<ssize_t>(line.size())) << line << ": " << errno_text(errno);
  }
  const std::string group_ = fmt::format("ktraced_test_{}", ::getpid());
  std::vector<std::string> names_;
};

std::vector<std::string> texts_of(const std::vector<TraceLine>& lines, pid_t tid) {
  std::vector<std::string> texts;
  for (const TraceLine& line : lines)
    if (line.tid == tid) texts.push_back(line.event + ": " + line.text);
  std::ranges::sort(texts);
  return texts;
}

TEST(Probe, IsPrintedAsTheKernelPrintsIt) {
  Daemon daemon(flight_config());
  WaitingTruth truth({"syscalls"});
  std::vector<std::string> kernel;
  daemon.set_filter({{"pid", {truth.pid()}}});
  {
    const KernelProbes probes(kComparable);
    KernelTrace trace({probes.group() + ":*"}, {truth.pid()});
    for (const std::string& definition : kComparable) add(daemon, "p:" + definition);
    truth.act();
    kernel = texts_of(trace.stop(), truth.pid());
  }
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  const std::string path = taken["path"];
  const auto ours = texts_of(
      trace_lines(daemon.ctl_ok({"show", path, "--format", "ftrace", "--event", "kprobes:*"})),
      truth.pid());
  EXPECT_GE(kernel.size(), 4U);
  EXPECT_EQ(ours, kernel);
}

TEST(Probe, CanBeReadFromASnapshotByOtherPrograms) {
  Daemon daemon(flight_config());
  add(daemon, kOpen);
  WaitingTruth truth({"syscalls"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  const Finished read = run({"babeltrace2", taken["path"].get<std::string>() + "/ctf"});
  EXPECT_EQ(read.exit_code, 0);
  EXPECT_EQ(read.err, "");
  EXPECT_THAT(read.out, AllOf(HasSubstr("kprobes:open"), HasSubstr("dfd = -100"),
                              HasSubstr("/nonexistent/ktraced-truth")));
}
}  // namespace
}  // namespace ktraced::live

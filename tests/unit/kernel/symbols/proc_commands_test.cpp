// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/proc_commands.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

#include "base/clock.h"
#include "base/files/read_file.h"
#include "bpf/records.h"
#include "kernel/symbols/proc_threads.h"

namespace ktraced {
namespace {

using namespace std::string_literals;

TEST(CommandText, SeparatesArgumentsAsAnExecDoes) {
  EXPECT_EQ(command_text("make\0-j4\0"s), "make -j4");
  EXPECT_EQ(command_text("sh\0-c\0a b\0"s),
            "sh -c a\x1f"
            "b"s);
  EXPECT_EQ(command_text("sh\0\0x\0"s), "sh  x") << "an empty one in the middle";
  EXPECT_EQ(command_text("\xff\x1b[31m\n\0"s), "\xff\x1b[31m\n"s) << "readers make it safe";
  EXPECT_EQ(command_text(""), "");
}

TEST(CommandText, LeavesOutWhatATitleHasLeftBehind) {
  EXPECT_EQ(command_text("nginx: worker process\0\0\0\0"s), "nginx:\x1fworker\x1fprocess");
  EXPECT_EQ(command_text("\0\0"s), "");
}

TEST(CommandText, IsNoLongerThanThatOfAnExec) {
  EXPECT_EQ(command_text(std::string(ARGV_MAX + 1, 'x')), std::string(ARGV_MAX, 'x'));
}

TEST(ProcCommand, IsThatOfTheProcess) {
  const auto own = proc_command(static_cast<uint32_t>(::getpid()));
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->text.contains("unit_kernel")) << own->text;
  EXPECT_EQ(own->uid, ::getuid());
  EXPECT_EQ(own->parent, static_cast<uint32_t>(::getppid()));
  EXPECT_LE(own->read_ns, boottime_ns());
  EXPECT_LE(own->start_ns, own->read_ns);
  uint64_t start = 0;
  ASSERT_TRUE(for_each_proc_thread([&](uint32_t tid, const task_info& info) {
    if (tid == static_cast<uint32_t>(::getpid())) start = info.start_time;
  }));
  EXPECT_EQ(own->start_ns, start);
}

TEST(ProcCommand, IsMissingOfAProcessThatHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(proc_command(static_cast<uint32_t>(child))) << "a zombie";
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(proc_command(static_cast<uint32_t>(child)));
}

TEST(ProcCommand, IsEmptyOfAProgramWhoseOnlyArgumentIsEmpty) {
  int input[2], output[2];
  ASSERT_EQ(::pipe2(input, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(output, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char empty[] = "";
    char* const words[] = {empty, nullptr};
    ::dup2(input[0], STDIN_FILENO);
    ::dup2(output[1], STDOUT_FILENO);
    ::execv("/bin/cat", words);
    ::_exit(1);
  }
  ::close(output[1]);
  char echo = 'x';
  EXPECT_EQ(::write(input[1], &echo, 1), 1);
  EXPECT_EQ(::read(output[0], &echo, 1), 1) << "the program has not begun";
  const auto command = proc_command(static_cast<uint32_t>(child));
  for (const int fd : {input[0], input[1], output[0]}) ::close(fd);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(command);
  EXPECT_EQ(command->text, "");
  EXPECT_FALSE(command->cut);
}

TEST(ProcProgram, IsAnotherOneAfterARename) {
  const auto own = [] { return proc_program(static_cast<uint32_t>(::getpid())).value(); };
  const ProcProgram before = own();
  EXPECT_EQ(before.start_ns, proc_command(static_cast<uint32_t>(::getpid()))->start_ns);
  EXPECT_EQ(before, own());
  // To the name of a process belongs its main thread, in which this runs.
  ASSERT_EQ(::prctl(PR_SET_NAME, "a) R (b"), 0);
  EXPECT_EQ(own(), (ProcProgram{.start_ns = before.start_ns, .comm = "a) R (b"}));
  ASSERT_EQ(::prctl(PR_SET_NAME, before.comm.c_str()), 0);
  EXPECT_EQ(before, own());
}

TEST(ProcProgram, IsMissingOfAKernelThread) {
  constexpr uint32_t kThreadDaemon = 2;  // kthreadd, unless this is a container
  const auto comm = read_file("/proc/2/comm", kProcBytesMax);
  if (!comm || *comm != "kthreadd\n") GTEST_SKIP() << "it sees no kernel threads";
  EXPECT_FALSE(proc_program(kThreadDaemon));
}

TEST(ProcProgram, IsMissingOfAProcessThatHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(proc_program(static_cast<uint32_t>(child)));
}

TEST(ProcCommand, VisitsProcessesUntilItIsEnough) {
  std::set<uint32_t> pids;
  for_each_proc_process([&](uint32_t pid) { return pids.insert(pid).second; });
  EXPECT_TRUE(pids.contains(static_cast<uint32_t>(::getpid())));
  size_t visits = 0;
  for_each_proc_process([&](uint32_t) { return ++visits < 1; });
  EXPECT_EQ(visits, 1U);
}

}  // namespace
}  // namespace ktraced

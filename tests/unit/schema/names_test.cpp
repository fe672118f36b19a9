// SPDX-License-Identifier: BSD-2-Clause
#include "schema/names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

#include "bpf/records.h"

namespace ktraced {
namespace {

enum : uint32_t { kNative, kIa32, kX32 };

TEST(SyscallNames, ResolveNumbersOfEachAbi) {
  EXPECT_EQ(syscall_name(kNative, SYS_getppid), "getppid");
  EXPECT_EQ(syscall_name(kNative, 257), "openat");
  EXPECT_EQ(syscall_name(kIa32, 11), "execve");
  EXPECT_EQ(syscall_name(kIa32, 295), "openat");
  EXPECT_EQ(syscall_name(kX32, 0x40000000 | 520), "execve");
  EXPECT_EQ(syscall_name(kX32, 520), "execve");
}

TEST(SyscallNames, AreEmptyForUnknownNumbers) {
  EXPECT_EQ(syscall_name(kNative, -1), "");
  EXPECT_EQ(syscall_name(kNative, 1023), "");
  EXPECT_EQ(syscall_name(kNative, 1 << 20), "");
  EXPECT_EQ(syscall_name(kNative, 0x40000000 | 1), "");
  EXPECT_EQ(syscall_name(3, 0), "");
}

TEST(SyscallNames, ConvertToNumbers) {
  EXPECT_EQ(syscall_number(kNative, "openat"), 257);
  EXPECT_EQ(syscall_number(kIa32, "openat"), 295);
  EXPECT_EQ(syscall_number(kX32, "execve"), 520) << "without the x32 bit";
  // libseccomp gives calls that socketcall() multiplexes numbers of its own.
  EXPECT_EQ(syscall_number(kIa32, "socket"), 359);
  EXPECT_EQ(syscall_number(kNative, "socketcall"), std::nullopt);
  EXPECT_EQ(syscall_number(kNative, "no_such_call"), std::nullopt);
  EXPECT_EQ(syscall_number(kNative, ""), std::nullopt);
}

TEST(SyscallNames, IncludeRecentCalls) {
  EXPECT_EQ(syscall_name(kNative, 462), "mseal");
  EXPECT_EQ(syscall_name(kIa32, 457), "statmount");
  EXPECT_EQ(syscall_name(kNative, 335), "uretprobe");
  EXPECT_EQ(syscall_name(kIa32, 335), "rt_tgsigqueueinfo")
      << "this ABI has another call with that number";
}

TEST(SyscallNames, NameAbis) {
  EXPECT_EQ(syscall_abi_name(kNative), "x86_64");
  EXPECT_EQ(syscall_abi_name(kIa32), "i386");
  EXPECT_EQ(syscall_abi_name(kX32), "x32");
  EXPECT_EQ(syscall_abi_name(7), "");
}

TEST(ErrnoNames, IncludeThoseOfTheCLibraryAndOfTheKernel) {
  EXPECT_EQ(errno_name(ENOENT), "ENOENT");
  EXPECT_EQ(errno_name(EAGAIN), "EAGAIN");
  EXPECT_EQ(errno_name(512), "ERESTARTSYS");
  EXPECT_EQ(errno_name(0), "");
  EXPECT_EQ(errno_name(-2), "");
  EXPECT_EQ(errno_name(4000), "");
}

TEST(SignalNames, IncludeStandardAndRealTimeSignals) {
  EXPECT_EQ(signal_name(SIGUSR1), "SIGUSR1");
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGSYS), "SIGSYS");
  EXPECT_EQ(signal_name(SIGRTMIN), "SIGRTMIN");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
  EXPECT_EQ(signal_name(64), "SIGRTMIN+30");
  EXPECT_EQ(signal_name(33), "SIG33");
  for (int signal = 1; signal <= 64; signal++) EXPECT_NE(signal_name(signal), "") << signal;
  for (int signal : {0, -1, 65, 1000}) EXPECT_EQ(signal_name(signal), "") << signal;
}

TEST(SignalNames, ResolveCodesBySignal) {
  EXPECT_EQ(signal_code_name(SIGUSR1, SI_USER), "SI_USER");
  EXPECT_EQ(signal_code_name(SIGSEGV, SI_KERNEL), "SI_KERNEL");
  EXPECT_EQ(signal_code_name(SIGUSR1, SI_TKILL), "SI_TKILL");
  EXPECT_EQ(signal_code_name(SIGSEGV, SEGV_MAPERR), "SEGV_MAPERR");
  EXPECT_EQ(signal_code_name(SIGCHLD, CLD_KILLED), "CLD_KILLED");
  EXPECT_EQ(signal_code_name(SIGFPE, FPE_INTDIV), "FPE_INTDIV");
  EXPECT_EQ(signal_code_name(SIGUSR1, 1), "") << "positive codes of this signal have no meaning";
}

TEST(SignalNames, KnowWhichCodesAreOfTheKernel) {
  for (const int code :
       std::initializer_list<int>{SI_KERNEL, SEGV_MAPERR, CLD_EXITED, POLL_IN, SI_TIMER, SI_SIGIO})
    EXPECT_TRUE(sent_by_kernel(code)) << code;
  for (const int code :
       std::initializer_list<int>{SI_USER, SI_QUEUE, SI_TKILL, SI_MESGQ, SI_ASYNCIO})
    EXPECT_FALSE(sent_by_kernel(code)) << code;
}

TEST(SignalNames, NameResults) {
  EXPECT_EQ(signal_result_name(0), "delivered");
  EXPECT_EQ(signal_result_name(1), "ignored");
  EXPECT_EQ(signal_result_name(2), "already_pending");
  EXPECT_EQ(signal_result_name(3), "overflow_fail");
  EXPECT_EQ(signal_result_name(4), "lose_info");
  EXPECT_EQ(signal_result_name(5), "");
  EXPECT_EQ(signal_result_name(-1), "");
}

TEST(Names, MatchPatternsOfNamesAndBeginnings) {
  EXPECT_TRUE(comm_matches("nginx", "nginx"));
  EXPECT_TRUE(comm_matches("nginx", "ng*"));
  EXPECT_FALSE(comm_matches("nginx", "ng"));
  EXPECT_FALSE(comm_matches("nginx", "nginx2*"));
}

TEST(TaskState, HasTheLettersOfFtrace) {
  EXPECT_EQ(task_state_letters(0), "R");
  EXPECT_EQ(task_state_letters(0x100), "R+");
  EXPECT_EQ(task_state_letters(0x1), "S");
  EXPECT_EQ(task_state_letters(0x2), "D");
  EXPECT_EQ(task_state_letters(0x80), "I");
  EXPECT_EQ(task_state_letters(0x3), "S|D");
  EXPECT_EQ(task_state_letters(0x121), "S|Z+");
}

TEST(SampleModes, HaveNames) {
  EXPECT_EQ(sample_mode_name(SAMPLE_USER), "user");
  EXPECT_EQ(sample_mode_name(SAMPLE_KERNEL), "kernel");
  EXPECT_EQ(sample_mode_name(SAMPLE_KERNEL_THREAD), "kernel_thread");
  EXPECT_EQ(sample_mode_name(SAMPLE_IDLE), "idle");
  EXPECT_EQ(sample_mode_name(SAMPLE_GUEST), "guest");
  EXPECT_EQ(sample_mode_name(0), "");
  EXPECT_EQ(sample_mode_name(UINT32_MAX), "");
}

TEST(Contexts, HaveTheNamesAndFlagsOfTheKernelsTracer) {
  const auto text = [](record_context context) {
    return fmt::format("{} {:#x} {}", context_name(context), context_flags(context),
                       context_letter(context));
  };
  EXPECT_EQ(text(CONTEXT_UNKNOWN), " 0x0 .");
  EXPECT_EQ(text(CONTEXT_TASK), "task 0x0 .");
  EXPECT_EQ(text(CONTEXT_SOFTIRQ), "softirq 0x10 s");
  EXPECT_EQ(text(CONTEXT_HARDIRQ), "hardirq 0x8 h");
  EXPECT_EQ(text(CONTEXT_HARDIRQ_IN_SOFTIRQ), "hardirq 0x18 H");
  EXPECT_EQ(text(CONTEXT_NMI_IN_HARDIRQ), "nmi 0x48 Z");
  EXPECT_EQ(text(CONTEXT_NMI_IN_NESTED_HARDIRQ), "nmi 0x58 Z");
  EXPECT_EQ(text(CONTEXT_NMI), "nmi 0x40 z");
}

TEST(ExitCode, IsAWaitStatus) {
  EXPECT_EQ(decode_exit_code(3 << 8), (ExitStatus{.status = 3}));
  EXPECT_EQ(decode_exit_code(SIGKILL), (ExitStatus{.signal = SIGKILL}));
  EXPECT_EQ(decode_exit_code(SIGSEGV | 0x80), (ExitStatus{.signal = SIGSEGV, .core = true}));
  EXPECT_EQ(exit_code_text(0), "exit 0");
  EXPECT_EQ(exit_code_text(255 << 8), "exit 255");
  EXPECT_EQ(exit_code_text(SIGTERM), "SIGTERM");
  EXPECT_EQ(exit_code_text(SIGSEGV | 0x80), "SIGSEGV, core dumped");
}

TEST(CloneFlags, IncludeTheExitSignal) {
  EXPECT_EQ(clone_flag_names(0), "");
  EXPECT_EQ(clone_flag_names(SIGCHLD), "SIGCHLD");
  EXPECT_EQ(clone_flag_names(0x1200011), "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD");
  EXPECT_EQ(clone_flag_names(0x200000080), "CLONE_NEWTIME|CLONE_INTO_CGROUP");
  EXPECT_EQ(clone_flag_names(uint64_t{1} << 40), "0x10000000000");
}

TEST(GfpNames, EqualThoseTheKernelPrints) {
  const std::vector<FlagName> table = {{0x140cca, "GFP_HIGHUSER_MOVABLE"},
                                       {0xcc0, "GFP_KERNEL"},
                                       {0xc00, "__GFP_RECLAIM"},
                                       {0x40, "__GFP_IO"},
                                       {0x100, "__GFP_ZERO"},
                                       {0x400, "__GFP_DIRECT"}};
  EXPECT_EQ(gfp_names(0, table), "none");
  EXPECT_EQ(gfp_names(0xcc0, table), "GFP_KERNEL");
  EXPECT_EQ(gfp_names(0xdc0, table), "GFP_KERNEL|__GFP_ZERO");
  EXPECT_EQ(gfp_names(0x540, table), "__GFP_IO|__GFP_ZERO|__GFP_DIRECT");
  EXPECT_EQ(gfp_names(0x140cca, table), "GFP_HIGHUSER_MOVABLE");
  EXPECT_EQ(gfp_names(0x80000cc0, table), "GFP_KERNEL|0x80000000") << "bits without a name";
  EXPECT_EQ(gfp_names(0x6, table), "0x6");
  EXPECT_EQ(gfp_names(0xcc0, {}), "0xcc0");
}

}  // namespace
}  // namespace ktraced

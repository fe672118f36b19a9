// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "schema/names.h"

namespace ktraced {

namespace {

constexpr int32_t kSignals = 64;
// The kernel's real-time signals begin at 32; the C library keeps the first two.
constexpr int32_t kFirstRealTime = 34;

std::string make_signal_name(int32_t signal) {
  if (signal == kFirstRealTime) return "SIGRTMIN";
  if (signal > kFirstRealTime) return fmt::format("SIGRTMIN+{}", signal - kFirstRealTime);
  if (const char* name = ::sigabbrev_np(signal); name != nullptr && signal > 0)
    return fmt::format("SIG{}", name);
  return signal == 32 || signal == 33 ? fmt::format("SIG{}", signal) : std::string();
}

using SignalTable = std::array<std::string, kSignals + 1>;

SignalTable make_signal_table() {
  SignalTable table;
  for (int32_t signal = 1; signal <= kSignals; signal++) table[signal] = make_signal_name(signal);
  return table;
}

// si_code, from include/uapi/asm-generic/siginfo.h.
constexpr SignalCode kCodes[] = {
    {0, 0, "SI_USER"},
    {0, 0x80, "SI_KERNEL"},
    {0, -1, "SI_QUEUE"},
    {0, -2, "SI_TIMER"},
    {0, -3, "SI_MESGQ"},
    {0, -4, "SI_ASYNCIO"},
    {0, -5, "SI_SIGIO"},
    {0, -6, "SI_TKILL"},
    {0, -7, "SI_DETHREAD"},
    {0, -60, "SI_ASYNCNL"},
    {SIGILL, 1, "ILL_ILLOPC"},
    {SIGILL, 2, "ILL_ILLOPN"},
    {SIGILL, 3, "ILL_ILLADR"},
    {SIGILL, 4, "ILL_ILLTRP"},
    {SIGILL, 5, "ILL_PRVOPC"},
    {SIGILL, 6, "ILL_PRVREG"},
    {SIGILL, 7, "ILL_COPROC"},
    {SIGILL, 8, "ILL_BADSTK"},
    {SIGILL, 9, "ILL_BADIADDR"},
    {SIGFPE, 1, "FPE_INTDIV"},
    {SIGFPE, 2, "FPE_INTOVF"},
    {SIGFPE, 3, "FPE_FLTDIV"},
    {SIGFPE, 4, "FPE_FLTOVF"},
    {SIGFPE, 5, "FPE_FLTUND"},
    {SIGFPE, 6, "FPE_FLTRES"},
    {SIGFPE, 7, "FPE_FLTINV"},
    {SIGFPE, 8, "FPE_FLTSUB"},
    {SIGFPE, 14, "FPE_FLTUNK"},
    {SIGFPE, 15, "FPE_CONDTRAP"},
    {SIGSEGV, 1, "SEGV_MAPERR"},
    {SIGSEGV, 2, "SEGV_ACCERR"},
    {SIGSEGV, 3, "SEGV_BNDERR"},
    {SIGSEGV, 4, "SEGV_PKUERR"},
    {SIGSEGV, 5, "SEGV_ACCADI"},
    {SIGSEGV, 6, "SEGV_ADIDERR"},
    {SIGSEGV, 7, "SEGV_ADIPERR"},
    {SIGSEGV, 8, "SEGV_MTEAERR"},
    {SIGSEGV, 9, "SEGV_MTESERR"},
    {SIGSEGV, 10, "SEGV_CPERR"},
    {SIGBUS, 1, "BUS_ADRALN"},
    {SIGBUS, 2, "BUS_ADRERR"},
    {SIGBUS, 3, "BUS_OBJERR"},
    {SIGBUS, 4, "BUS_MCEERR_AR"},
    {SIGBUS, 5, "BUS_MCEERR_AO"},
    {SIGTRAP, 1, "TRAP_BRKPT"},
    {SIGTRAP, 2, "TRAP_TRACE"},
    {SIGTRAP, 3, "TRAP_BRANCH"},
    {SIGTRAP, 4, "TRAP_HWBKPT"},
    {SIGTRAP, 5, "TRAP_UNK"},
    {SIGTRAP, 6, "TRAP_PERF"},
    {SIGCHLD, 1, "CLD_EXITED"},
    {SIGCHLD, 2, "CLD_KILLED"},
    {SIGCHLD, 3, "CLD_DUMPED"},
    {SIGCHLD, 4, "CLD_TRAPPED"},
    {SIGCHLD, 5, "CLD_STOPPED"},
    {SIGCHLD, 6, "CLD_CONTINUED"},
    {SIGPOLL, 1, "POLL_IN"},
    {SIGPOLL, 2, "POLL_OUT"},
    {SIGPOLL, 3, "POLL_MSG"},
    {SIGPOLL, 4, "POLL_ERR"},
    {SIGPOLL, 5, "POLL_PRI"},
    {SIGPOLL, 6, "POLL_HUP"},
    {SIGSYS, 1, "SYS_SECCOMP"},
    {SIGSYS, 2, "SYS_USER_DISPATCH"},
};

// enum in include/trace/events/signal.h of the kernel.
constexpr std::array<std::string_view, 5> kResults = {"delivered", "ignored", "already_pending",
                                                      "overflow_fail", "lose_info"};

}  // namespace

std::string_view signal_name(int32_t signal) {
  static const SignalTable table = make_signal_table();
  return signal >= 0 && signal <= kSignals ? table[signal] : std::string_view();
}

std::span<const SignalCode> signal_codes() { return kCodes; }

std::string_view signal_code_name(int32_t signal, int32_t code) {
  auto found = std::ranges::find_if(kCodes, [signal, code](const SignalCode& entry) {
    return entry.code == code && (entry.signal == signal || entry.signal == 0);
  });
  return found == std::end(kCodes) ? std::string_view() : found->name;
}

// Of the codes that are not positive the kernel itself sends SI_TIMER, from an interrupt, and
// SI_SIGIO, which stands for a code of SIGPOLL in signals that have codes of their own.
bool sent_by_kernel(int32_t code) { return code > 0 || code == SI_TIMER || code == SI_SIGIO; }

// From include/uapi/asm-generic/signal-defs.h, and SA_RESTORER of x86.
const std::vector<FlagName>& sa_flag_table() {
  static const std::vector<FlagName> flags = {
      {0x1, "SA_NOCLDSTOP"},        {0x2, "SA_NOCLDWAIT"},        {0x4, "SA_SIGINFO"},
      {0x400, "SA_UNSUPPORTED"},    {0x800, "SA_EXPOSE_TAGBITS"}, {0x4000000, "SA_RESTORER"},
      {0x8000000, "SA_ONSTACK"},    {0x10000000, "SA_RESTART"},   {0x40000000, "SA_NODEFER"},
      {0x80000000, "SA_RESETHAND"},
  };
  return flags;
}

std::string_view signal_result_name(int32_t result) {
  if (result < 0 || static_cast<size_t>(result) >= kResults.size()) return {};
  return kResults[static_cast<size_t>(result)];
}

}  // namespace ktraced

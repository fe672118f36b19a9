// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/call_functions.h"

#include <bpf/btf.h>

#include <array>
#include <ranges>
#include <string_view>

#include "bpf/shared_state.h"
#include "kernel/programs/kernel_btf.h"
#include "schema/names.h"

namespace ktraced {
namespace {

// In both tables of the kernel (arch/x86/entry/syscalls) the entry point of these is sys_NAME or
// compat_sys_NAME.
constexpr std::string_view kPlainCalls =
    "accept accept4 access acct add_key bind bpf brk capget capset chdir chmod chroot close "
    "close_range connect copy_file_range creat delete_module dup dup2 dup3 epoll_create "
    "epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd eventfd2 execve execveat "
    "faccessat faccessat2 fanotify_init fchdir fchmod fchmodat fchownat fdatasync fgetxattr "
    "finit_module flock fsetxattr fstatfs fsync ftruncate getcwd getdents getdents64 "
    "getpeername getpriority getrandom getsockname getsockopt getxattr init_module "
    "inotify_add_watch "
    "inotify_init1 inotify_rm_watch io_uring_enter io_uring_register io_uring_setup ioctl "
    "kexec_load keyctl kill lgetxattr link linkat listen lseek lsetxattr madvise membarrier "
    "memfd_create mkdir mkdirat mknod mknodat mlock mount move_mount mprotect mremap munlock "
    "munmap name_to_handle_at open openat openat2 perf_event_open pidfd_getfd pidfd_open "
    "pidfd_send_signal pipe pipe2 pivot_root poll prctl preadv preadv2 prlimit64 "
    "process_vm_readv process_vm_writev ptrace pwritev pwritev2 read readlink readlinkat "
    "readv reboot recvfrom recvmsg removexattr rename renameat renameat2 request_key rmdir "
    "seccomp sendmmsg sendmsg sendto sethostname setns setpgid setpriority setsockopt setxattr "
    "shutdown "
    "socket socketpair splice statfs statx swapoff swapon symlink syncfs tee tgkill tkill "
    "truncate unlink unlinkat unshare userfaultfd wait4 waitid write writev ";

const std::set<std::string, std::less<>>& plain_calls() {
  static const auto calls = [] {
    std::set<std::string, std::less<>> names;
    for (const auto name : std::views::split(kPlainCalls, ' '))
      if (!name.empty()) names.emplace(name.begin(), name.end());
    return names;
  }();
  return calls;
}

// The values of syscall_abi_t.
constexpr uint32_t kNative = 0, kIa32 = 1;

// Functions of 32-bit programs, in the order of the kernel's table: it may name either.
std::array<std::string, 2> ia32_functions(std::string_view call) {
  return {fmt::format("__ia32_compat_sys_{}", call), fmt::format("__ia32_sys_{}", call)};
}

std::string native_function(std::string_view call) { return fmt::format("__x64_sys_{}", call); }

}  // namespace

Result<CallFunctions> CallFunctions::of_kernel() {
  auto btf = load_kernel_btf();
  if (!btf) return propagate(btf);
  std::set<std::string> names;
  for (uint32_t id = 1; id < btf__type_cnt(btf->get()); ++id) {
    const btf_type* type = btf__type_by_id(btf->get(), id);
    if (!btf_is_func(type)) continue;
    const std::string_view name = btf__name_by_offset(btf->get(), type->name_off);
    if (name.starts_with("__x64_") || name.starts_with("__ia32_") || name == kSecureComputing ||
        name == kSeccompPermit)
      names.emplace(name);
  }
  return CallFunctions(std::move(names));
}

Result<> CallFunctions::add_call(const std::string& call, std::set<std::string>& functions) const {
  if (!plain_calls().contains(call))
    return fail(ExitCode::unavailable, "{} may run or return outside of its function", call);
  const bool native = syscall_number(kNative, call).has_value();
  const bool ia32 = syscall_number(kIa32, call) && names_.contains("__ia32_sys_read");
  bool found = false, found_ia32 = false;
  if (native && names_.contains(native_function(call))) {
    functions.insert(native_function(call));
    found = true;
  }
  for (const std::string& function : ia32_functions(call))
    if (ia32 && names_.contains(function)) {
      functions.insert(function);
      found_ia32 = true;
    }
  if ((native && !found) || (ia32 && !found_ia32) || (!native && !ia32))
    return fail(ExitCode::unavailable, "this kernel does not show all functions for {}", call);
  return {};
}

Result<> CallFunctions::add_seccomp(std::set<std::string>& functions) const {
  for (const char* function : {kSecureComputing, kSeccompPermit})
    if (names_.contains(function)) {
      functions.insert(function);
      return {};
    }
  if (!names_.contains("__x64_sys_seccomp")) return {};
  return fail(ExitCode::unavailable, "calls that seccomp refuses cannot be seen on this kernel");
}

Result<std::set<std::string>> CallFunctions::of(const std::vector<std::string>& calls) const {
  if (calls.empty()) return fail(ExitCode::unavailable, "all calls are selected");
  if (calls.size() > kCallsAtFunctionsMax)
    return fail(ExitCode::unavailable, "more than {} calls are selected", kCallsAtFunctionsMax);
  if (names_.contains("__x64_compat_sys_ioctl"))
    return fail(ExitCode::unavailable, "this kernel runs x32 programs");
  std::set<std::string> functions;
  for (const std::string& call : calls)
    if (auto added = add_call(call, functions); !added) return propagate(added);
  if (auto added = add_seccomp(functions); !added) return propagate(added);
  return functions;
}

std::vector<std::string> CallFunctions::possible() {
  std::vector<std::string> all = {kSecureComputing, kSeccompPermit};
  for (const std::string& call : plain_calls()) {
    all.push_back(native_function(call));
    for (std::string& function : ia32_functions(call)) all.push_back(std::move(function));
  }
  return all;
}

}  // namespace ktraced

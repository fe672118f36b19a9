// SPDX-License-Identifier: BSD-2-Clause
#include <seccomp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "bpf/shared_state.h"
#include "schema/names.h"

namespace ktraced {

namespace {

constexpr int32_t kX32Bit = 0x40000000;
constexpr uint32_t kNativeAbi = 0, kX32Abi = 2;

struct Abi {
  std::string_view name;
  uint32_t seccomp_arch;
  int32_t number_bit;  // bit that libseccomp expects in the number
};
constexpr std::array<Abi, SYSCALL_ABIS> kAbis = {
    {{"x86_64", SCMP_ARCH_X86_64, 0}, {"i386", SCMP_ARCH_X86, 0}, {"x32", SCMP_ARCH_X32, kX32Bit}}};

// Calls younger than the libseccomp of Debian 12 and 13. From 424 on a call has
// the same number in all ABIs; the first two are for 64-bit programs alone.
struct NewerCall {
  int32_t number;
  const char* name;
};
constexpr NewerCall kNewerNativeCalls[] = {{335, "uretprobe"}, {336, "uprobe"}};
constexpr NewerCall kNewerCalls[] = {
    {451, "cachestat"},         {452, "fchmodat2"},        {453, "map_shadow_stack"},
    {454, "futex_wake"},        {455, "futex_wait"},       {456, "futex_requeue"},
    {457, "statmount"},         {458, "listmount"},        {459, "lsm_get_self_attr"},
    {460, "lsm_set_self_attr"}, {461, "lsm_list_modules"}, {462, "mseal"},
    {463, "setxattrat"},        {464, "getxattrat"},       {465, "listxattrat"},
    {466, "removexattrat"},     {467, "open_tree_attr"},   {468, "file_getattr"},
    {469, "file_setattr"},      {470, "listns"},           {471, "rseq_slice_yield"},
};

// Caches all names of all ABIs, because libseccomp searches and allocates at each call.
class SyscallTable {
 public:
  SyscallTable() {
    for (uint32_t abi = 0; abi < kAbis.size(); abi++) {
      for (int32_t number = 0; number < SYSCALL_MAX; number++)
        names_[abi][number] = ask_seccomp(kAbis[abi], number);
      for (const NewerCall& call : kNewerCalls) add(abi, call);
    }
    for (const NewerCall& call : kNewerNativeCalls) add(kNativeAbi, call);
  }

  [[nodiscard]] std::string_view name(uint32_t abi, int32_t number) const {
    if (abi == kX32Abi && number > 0) number &= ~kX32Bit;
    if (abi >= names_.size() || number < 0 || number >= SYSCALL_MAX) return {};
    return names_[abi][number];
  }

  [[nodiscard]] std::optional<int32_t> number(uint32_t abi, std::string_view name) const {
    if (abi >= names_.size() || name.empty()) return std::nullopt;
    auto found = std::ranges::find(names_[abi], name);
    if (found == names_[abi].end()) return std::nullopt;
    return static_cast<int32_t>(found - names_[abi].begin());
  }

 private:
  static std::string ask_seccomp(const Abi& abi, int32_t number) {
    std::unique_ptr<char, decltype(&std::free)> name(
        seccomp_syscall_resolve_num_arch(abi.seccomp_arch, number | abi.number_bit), &std::free);
    return name ? name.get() : std::string();
  }
  void add(uint32_t abi, const NewerCall& call) {
    std::string& name = names_[abi][call.number];
    if (name.empty()) name = call.name;
  }

  std::array<std::array<std::string, SYSCALL_MAX>, SYSCALL_ABIS> names_;
};

const SyscallTable& syscall_table() {
  static const auto table = std::make_unique<const SyscallTable>();
  return *table;
}

// include/linux/errno.h of the kernel: programs never see these, but tracers do.
std::string_view kernel_errno_name(int32_t error) {
  switch (error) {
    case 512:
      return "ERESTARTSYS";
    case 513:
      return "ERESTARTNOINTR";
    case 514:
      return "ERESTARTNOHAND";
    case 515:
      return "ENOIOCTLCMD";
    case 516:
      return "ERESTART_RESTARTBLOCK";
    case 517:
      return "EPROBE_DEFER";
    case 518:
      return "EOPENSTALE";
    case 519:
      return "ENOPARAM";
    case 524:
      return "ENOTSUPP";
    default:
      return {};
  }
}

}  // namespace

std::string_view syscall_name(uint32_t abi, int32_t number) {
  return syscall_table().name(abi, number);
}

std::optional<int32_t> syscall_number(uint32_t abi, std::string_view name) {
  return syscall_table().number(abi, name);
}

std::string_view syscall_abi_name(uint32_t abi) {
  return abi < kAbis.size() ? kAbis[abi].name : std::string_view();
}

std::string_view errno_name(int32_t error) {
  if (error <= 0) return {};
  const char* name = ::strerrorname_np(error);
  return name != nullptr ? name : kernel_errno_name(error);
}

}  // namespace ktraced

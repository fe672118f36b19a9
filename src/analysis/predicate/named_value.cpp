// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/named_value.h"

#include "schema/names.h"

namespace ktraced {
namespace {

constexpr int32_t kCallMax = 1024;  // no ABI has as many system calls
constexpr uint64_t kErrnoMax = 4095, kSignalMax = 64, kResultMax = 15, kStateMax = 0x1ff;

// The first number from `first` to `last` with this name.
template <class NameOf>
std::optional<uint64_t> search(uint64_t first, uint64_t last, std::string_view name,
                               NameOf name_of) {
  for (uint64_t number = first; number <= last; ++number)
    if (name_of(number) == name) return number;
  return std::nullopt;
}

std::optional<uint64_t> gfp_mask(std::string_view name, const Schema& schema) {
  for (const FlagName& flag : schema.gfp_flags)
    if (flag.name == name) return flag.mask;
  return std::nullopt;
}

std::optional<uint64_t> clone_flag(std::string_view name) {
  for (unsigned bit = 8; bit < 64; ++bit)
    if (clone_flag_names(1ULL << bit) == name) return 1ULL << bit;
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> named_value(Meaning meaning, std::string_view name, const Schema& schema) {
  const auto of = [](auto function) {
    return [function](uint64_t number) { return function(static_cast<int32_t>(number)); };
  };
  switch (meaning) {
    case Meaning::syscall_ret:
    case Meaning::errno_nr:
      return search(1, kErrnoMax, name, of(errno_name));
    case Meaning::signo:
      return search(1, kSignalMax, name, of(signal_name));
    case Meaning::sig_result:
      return search(0, kResultMax, name, of(signal_result_name));
    case Meaning::task_state:
      return search(0, kStateMax, name, of(task_state_letters));
    case Meaning::syscall_abi:
      return search(0, 2, name, of(syscall_abi_name));
    case Meaning::boolean:
      return search(0, 1, name, [](uint64_t value) { return value != 0 ? "true" : "false"; });
    case Meaning::gfp_flags:
      return gfp_mask(name, schema);
    case Meaning::clone_flags:
      return clone_flag(name);
    default:
      return std::nullopt;
  }
}

std::vector<std::string> value_names(Meaning meaning, const Schema& schema) {
  std::vector<std::string> names;
  const auto add = [&names](std::string_view name) {
    if (!name.empty()) names.emplace_back(name);
  };
  switch (meaning) {
    case Meaning::syscall_nr:
      for (uint32_t abi = 0; abi < 3; ++abi)
        for (int32_t number = 0; number < kCallMax; ++number) add(syscall_name(abi, number));
      break;
    case Meaning::syscall_ret:
    case Meaning::errno_nr:
      for (int32_t error = 1; error <= static_cast<int32_t>(kErrnoMax); ++error)
        add(errno_name(error));
      break;
    case Meaning::signo:
      for (int32_t signal = 1; signal <= static_cast<int32_t>(kSignalMax); ++signal)
        add(signal_name(signal));
      break;
    case Meaning::gfp_flags:
      for (const FlagName& flag : schema.gfp_flags) add(flag.name);
      break;
    default:
      break;
  }
  return names;
}

bool has_named_values(Meaning meaning) {
  switch (meaning) {
    case Meaning::syscall_ret:
    case Meaning::syscall_nr:
    case Meaning::errno_nr:
    case Meaning::signo:
    case Meaning::sig_result:
    case Meaning::task_state:
    case Meaning::syscall_abi:
    case Meaning::boolean:
    case Meaning::gfp_flags:
    case Meaning::clone_flags:
      return true;
    default:
      return false;
  }
}

}  // namespace ktraced

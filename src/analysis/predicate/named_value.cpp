// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/named_value.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "bpf/records.h"
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

std::optional<uint64_t> mask_named(std::string_view name, const std::vector<FlagName>& table) {
  for (const FlagName& flag : table)
    if (flag.name == name) return flag.mask;
  return std::nullopt;
}

// The distinct names of the numbers from `first` to `last`.
template <class NameOf>
std::vector<std::string> names_in(uint64_t first, uint64_t last, NameOf name_of) {
  std::vector<std::string> names;
  for (uint64_t number = first; number <= last; ++number)
    if (std::string name(name_of(number)); !name.empty()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> names_in(const std::vector<FlagName>& table) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const FlagName& flag : table) names.push_back(flag.name);
  return names;
}

std::vector<std::string> call_names() {
  std::vector<std::string> names;
  for (uint32_t abi = 0; abi < 3; ++abi)
    for (int32_t number = 0; number < kCallMax; ++number)
      if (const auto name = syscall_name(abi, number); !name.empty()) names.emplace_back(name);
  return names;
}

std::vector<std::string> code_names() {
  std::vector<std::string> names;
  for (const SignalCode& code : signal_codes()) names.emplace_back(code.name);
  return names;
}

// A function of a number as int32_t.
template <class Function>
auto of(Function function) {
  return [function](uint64_t number) { return function(static_cast<int32_t>(number)); };
}

// Names by which programs know an error that errno_name() names otherwise.
constexpr auto kOtherErrors = std::to_array<std::pair<std::string_view, int>>(
    {{"EWOULDBLOCK", EWOULDBLOCK}, {"ENOTSUP", ENOTSUP}, {"EDEADLOCK", EDEADLOCK}});

std::optional<uint64_t> error_named(std::string_view name) {
  for (const auto& [other, number] : kOtherErrors)
    if (other == name) return number;
  return search(1, kErrnoMax, name, of(errno_name));
}

std::vector<std::string> error_names() {
  std::vector<std::string> names = names_in(1, kErrnoMax, of(errno_name));
  for (const auto& [other, number] : kOtherErrors) names.emplace_back(other);
  return names;
}

std::string_view boolean_name(uint64_t value) { return value != 0 ? "true" : "false"; }

}  // namespace

std::optional<uint64_t> named_value(Meaning meaning, std::string_view name, const Schema& schema) {
  switch (meaning) {
    case Meaning::syscall_ret:
    case Meaning::errno_nr:
      return error_named(name);
    case Meaning::signo:
    case Meaning::exit_code:
      return search(1, kSignalMax, name, of(signal_name));
    case Meaning::sig_result:
      return search(0, kResultMax, name, of(signal_result_name));
    case Meaning::sample_mode:
      return search(SAMPLE_USER, SAMPLE_KERNEL_THREAD, name, of(sample_mode_name));
    case Meaning::task_state:
      return search(0, kStateMax, name, of(task_state_letters));
    case Meaning::syscall_abi:
      return search(0, 2, name, of(syscall_abi_name));
    case Meaning::boolean:
      return search(0, 1, name, boolean_name);
    case Meaning::gfp_flags:
      return mask_named(name, schema.gfp_flags);
    case Meaning::clone_flags:
      return mask_named(name, clone_flag_table());
    case Meaning::sa_flags:
      return mask_named(name, sa_flag_table());
    default:
      return std::nullopt;
  }
}

std::vector<std::string> value_names(Meaning meaning, const Schema& schema) {
  switch (meaning) {
    case Meaning::syscall_nr:
      return call_names();
    case Meaning::syscall_ret:
    case Meaning::errno_nr:
      return error_names();
    case Meaning::signo:
    case Meaning::exit_code:
      return names_in(1, kSignalMax, of(signal_name));
    case Meaning::sig_code:
      return code_names();
    case Meaning::sig_result:
      return names_in(0, kResultMax, of(signal_result_name));
    case Meaning::sample_mode:
      return names_in(SAMPLE_USER, SAMPLE_KERNEL_THREAD, of(sample_mode_name));
    case Meaning::task_state:
      return names_in(0, kStateMax, of(task_state_letters));
    case Meaning::syscall_abi:
      return names_in(0, 2, of(syscall_abi_name));
    case Meaning::boolean:
      return names_in(0, 1, boolean_name);
    case Meaning::gfp_flags:
      return names_in(schema.gfp_flags);
    case Meaning::clone_flags:
      return names_in(clone_flag_table());
    case Meaning::sa_flags:
      return names_in(sa_flag_table());
    default:
      return {};
  }
}

bool has_named_values(Meaning meaning) {
  return meaning == Meaning::gfp_flags || !value_names(meaning, {}).empty();
}

}  // namespace ktraced

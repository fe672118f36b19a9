// SPDX-License-Identifier: BSD-2-Clause
#include "schema/path_arguments.h"

#include <algorithm>
#include <ranges>

#include "schema/names.h"
#include "schema/string_arguments.h"

namespace ktraced {
namespace {

bool is_one_of(std::string_view name, std::string_view names) {
  return std::ranges::any_of(std::views::split(names, ' '), [name](const auto& each) {
    return std::string_view(each.begin(), each.end()) == name;
  });
}

// The arguments that are strings but no paths.
uint32_t other_strings(std::string_view name) {
  constexpr uint32_t kAll = ~0U;
  if (is_one_of(name,
                "delete_module fgetxattr fremovexattr fsconfig fsetxattr fsopen memfd_create "
                "mq_open mq_unlink"))
    return kAll;
  if (is_one_of(name, "getxattr lgetxattr lremovexattr lsetxattr removexattr setxattr"))
    return 1U << 1;
  if (is_one_of(name, "getxattrat removexattrat setxattrat")) return 1U << 3;
  return name == "mount" ? 1U << 2 : 0;
}

PathRole role_of(std::string_view name, bool is_first) {
  using enum PathRole;
  if (is_one_of(name, "link linkat move_mount rename renameat renameat2"))
    return is_first ? old_path : new_path;
  if (name == "pivot_root") return is_first ? new_path : old_path;
  if (is_one_of(name, "symlink symlinkat")) return is_first ? link_target : new_path;
  return name == "mount" && is_first ? mount_source : path;
}

// The descriptor of a directory is the argument before its path.
std::optional<uint8_t> directory_of(std::string_view name, uint32_t strings, uint8_t arg) {
  if (arg == 0 || (strings & 1U << (arg - 1U)) != 0) return std::nullopt;
  if (is_one_of(name, "bind connect inotify_add_watch quotactl")) return std::nullopt;
  return static_cast<uint8_t>(arg - 1);
}

}  // namespace

PathArguments::Call PathArguments::by_name(uint32_t abi, std::string_view name) {
  Call call{.known = true};
  uint32_t strings = string_arguments(abi, name);
  call.has_address = strings == STRING_ADDRESS;
  if (call.has_address) strings = 1U << 1;
  const uint32_t paths = strings & ~other_strings(name);
  call.has_path = paths != 0 && !call.has_address;
  call.opens = is_one_of(name, "creat open openat openat2");
  bool is_first = true;
  for (uint8_t arg = 0; arg < kArguments; ++arg) {
    if ((paths & 1U << arg) == 0) continue;
    call.paths[arg] = {.role = role_of(name, is_first),
                       .directory = directory_of(name, strings, arg)};
    is_first = false;
  }
  return call;
}

const PathArguments::Call& PathArguments::call_of(uint32_t abi, int32_t nr) {
  static const Call kNone{};
  constexpr int32_t kX32Bit = 0x40000000;
  const auto number = static_cast<uint32_t>(nr & ~kX32Bit);
  if (abi >= kAbis || number >= kNumbers) return kNone;
  Call& call = calls_[abi * kNumbers + number];
  if (!call.known) call = by_name(abi, syscall_name(abi, nr));
  return call;
}

std::optional<PathArgument> PathArguments::of(uint32_t abi, int32_t nr, uint32_t arg) {
  if (arg >= kArguments) return std::nullopt;
  return call_of(abi, nr).paths[arg];
}

}  // namespace ktraced

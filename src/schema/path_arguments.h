// SPDX-License-Identifier: BSD-2-Clause
// Which string arguments of system calls are paths.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ktraced {

// What a path is to its call.
enum class PathRole : uint8_t {
  path,          // the only one
  old_path,      // of rename, link, move_mount and pivot_root
  new_path,      // of rename, link, move_mount and pivot_root
  link_target,   // of symlink: what the link will contain
  mount_source,  // of mount: a device, or any text
};

// The name of a role in reports and queries.
[[nodiscard]] constexpr std::string_view name_of(PathRole role) {
  switch (role) {
    case PathRole::path:
      return "path";
    case PathRole::old_path:
      return "old_path";
    case PathRole::new_path:
      return "new_path";
    case PathRole::link_target:
      return "link_target";
    case PathRole::mount_source:
      return "mount_source";
  }
  return "";
}

// The path at an argument of a call.
struct PathArgument {
  PathRole role = PathRole::path;
  std::optional<uint8_t> directory;  // argument with the descriptor that a relative path is from
};

// Looks up the calls that get paths, each of which is searched by name once.
class PathArguments {
 public:
  // Nothing if the argument is no string, or a string that is no path, as the name of an attribute.
  // The address of a socket is a path if it begins with '/'.
  [[nodiscard]] std::optional<PathArgument> of(uint32_t abi, int32_t nr, uint32_t arg);
  // True if an argument of the call is a path; of a call with a socket address, if it may be one.
  [[nodiscard]] bool may_have_path(uint32_t abi, int32_t nr) {
    return call_of(abi, nr).has_path || call_of(abi, nr).has_address;
  }
  [[nodiscard]] bool has_address(uint32_t abi, int32_t nr) { return call_of(abi, nr).has_address; }
  // True if the call opens the file that its path names.
  [[nodiscard]] bool opens(uint32_t abi, int32_t nr) { return call_of(abi, nr).opens; }

 private:
  static constexpr uint32_t kAbis = 4, kNumbers = 1024, kArguments = 5;

  struct Call {
    bool known = false, has_path = false, has_address = false, opens = false;
    std::array<std::optional<PathArgument>, kArguments> paths;
  };
  static Call by_name(uint32_t abi, std::string_view name);
  const Call& call_of(uint32_t abi, int32_t nr);

  std::array<Call, size_t{kAbis} * kNumbers> calls_;
};

}  // namespace ktraced

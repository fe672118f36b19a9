// SPDX-License-Identifier: BSD-2-Clause
#include "schema/string_arguments.h"

#include <map>
#include <ranges>

namespace ktraced {
namespace {

struct Calls {
  uint8_t strings;  // enum string_args
  std::string_view names;
};

constexpr uint8_t arguments(auto... numbers) {
  return static_cast<uint8_t>(((1U << static_cast<unsigned>(numbers)) | ...));
}

// The calls that get paths, names of files, and addresses of sockets. The names of both tables of
// the kernel: arch/x86/entry/syscalls.
constexpr Calls kCalls[] = {
    {arguments(0),
     "access acct chdir chmod chown chown32 chroot creat delete_module execve fsopen lchown "
     "lchown32 listxattr llistxattr lstat lstat64 memfd_create mkdir mknod mq_open mq_unlink "
     "oldlstat oldstat open readlink rmdir stat stat64 statfs statfs64 swapoff swapon truncate "
     "truncate64 umount umount2 unlink uselib utime utimes"},
    {arguments(1),
     "execveat faccessat faccessat2 fchmodat fchmodat2 fchownat fgetxattr file_getattr "
     "file_setattr fremovexattr fsetxattr fspick fstatat64 futimesat inotify_add_watch listxattrat "
     "mkdirat mknodat mount_setattr name_to_handle_at newfstatat open_tree open_tree_attr openat "
     "openat2 quotactl readlinkat statx unlinkat utimensat utimensat_time64"},
    {arguments(2), "fsconfig"},
    {arguments(0, 1),
     "getxattr lgetxattr link lremovexattr lsetxattr pivot_root removexattr rename setxattr "
     "symlink"},
    {arguments(0, 2), "symlinkat"},
    {arguments(1, 3), "getxattrat linkat move_mount removexattrat renameat renameat2 setxattrat"},
    {arguments(0, 1, 2), "mount"},
    {STRING_ADDRESS, "bind connect"},
};

std::map<std::string_view, uint8_t> make_table() {
  std::map<std::string_view, uint8_t> table;
  for (const Calls& calls : kCalls)
    for (const auto name : std::views::split(calls.names, ' '))
      table.emplace(std::string_view(name.begin(), name.end()), calls.strings);
  return table;
}

const std::map<std::string_view, uint8_t>& table() {
  static const auto all = make_table();
  return all;
}

}  // namespace

uint8_t string_arguments(uint32_t abi, std::string_view name) {
  constexpr uint32_t kIa32 = 1;
  // Its third argument takes two registers of a 32-bit program.
  if (name == "fanotify_mark") return abi == kIa32 ? 0 : arguments(4);
  const auto found = table().find(name);
  return found == table().end() ? 0 : found->second;
}

}  // namespace ktraced

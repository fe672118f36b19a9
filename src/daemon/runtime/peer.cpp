// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/peer.h"

#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

template <class T>
bool contains(const std::vector<T>& values, T value) {
  return std::ranges::find(values, value) != values.end();
}

constexpr size_t kGroupEntryMax = 1U << 20;  // with the names of all its members

// Nothing: there is no such group.
Result<std::optional<gid_t>> gid_of(const std::string& group) {
  std::vector<char> text(4096);
  struct group entry{};
  struct group* found = nullptr;
  int error = ERANGE;
  while ((error = ::getgrnam_r(group.c_str(), &entry, text.data(), text.size(), &found)) ==
             ERANGE &&
         text.size() < kGroupEntryMax)
    text.resize(text.size() * 2);
  if (found != nullptr) return found->gr_gid;
  // POSIX allows several error numbers for a missing group.
  if (error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM)
    return std::nullopt;
  return fail(ExitCode::config, "control.group: cannot look up the group '{}': {}", group,
              errno_text(error));
}

Result<std::vector<gid_t>> peer_groups(int fd) {
  std::vector<gid_t> groups(32);
  auto bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
  int result = ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes);
  if (result < 0 && errno == ERANGE) {  // `bytes` has the required size now
    groups.resize(bytes / sizeof(gid_t));
    result = ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes);
  }
  if (result < 0)
    return fail(ExitCode::os, "cannot read the groups of a client: {}", errno_text(errno));
  groups.resize(bytes / sizeof(gid_t));
  return groups;
}

}  // namespace

Result<AccessRules> make_access_rules(const std::string& group, std::vector<uint32_t> admin_uids) {
  AccessRules rules{.read_group = std::nullopt, .admin_uids = std::move(admin_uids)};
  if (group.empty()) return rules;
  auto gid = gid_of(group);
  if (!gid) return propagate(gid);
  if (!*gid && group != kDefaultGroup)
    return fail(ExitCode::config,
                "control.group: there is no group '{0}'; create it with 'groupadd --system {0}' or "
                "name another",
                group);
  rules.read_group = *gid;
  return rules;
}

Error no_role_error() {
  return {ExitCode::no_permission,
          "only root and members of the group control.group of the configuration may use this "
          "socket"};
}

Role role_of(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, const AccessRules& rules) {
  if (uid == 0 || uid == ::geteuid() || contains(rules.admin_uids, uid)) return Role::admin;
  if (rules.read_group && (gid == *rules.read_group || contains(groups, *rules.read_group)))
    return Role::read;
  return Role::none;
}

Result<Peer> peer_of(int fd, const AccessRules& rules) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
    return fail(ExitCode::os, "cannot read the credentials of a client: {}", errno_text(errno));
  auto groups = peer_groups(fd);
  if (!groups) return propagate(groups);
  return Peer{.pid = credentials.pid,
              .uid = credentials.uid,
              .gid = credentials.gid,
              .role = role_of(credentials.uid, credentials.gid, *groups, rules)};
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The process at the other end of a control connection, and its role.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/runtime/priority.h"

namespace ktraced {

// The role that a method requires. An admin may also read.
enum class Role { none, read, admin };

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  Role role = Role::none;
};

// The priority of what this client requests.
[[nodiscard]] inline Priority priority_of(const Peer& peer) {
  return peer.role == Role::admin ? Priority::normal : Priority::low;
}

// Which users have which role.
struct AccessRules {
  std::optional<gid_t> read_group;   // members may read
  std::vector<uint32_t> admin_uids;  // have full control, as uid 0 and the daemon's own uid have
};

// The group whose members may read by default, if the machine has it.
inline constexpr const char* kDefaultGroup = "ktrace";

// Rules from the configuration; an unknown group is ExitCode::config, but for the default one.
[[nodiscard]] Result<AccessRules> make_access_rules(const std::string& group,
                                                    std::vector<uint32_t> admin_uids);

// The error for a client without a role.
[[nodiscard]] Error no_role_error();

// The role of a process with these credentials; `groups` are its supplementary ones.
[[nodiscard]] Role role_of(uid_t uid, gid_t gid, const std::vector<gid_t>& groups,
                           const AccessRules& rules);

// The process that has connected to a Unix socket, with its credentials at that time. Fails with
// ExitCode::os.
[[nodiscard]] Result<Peer> peer_of(int fd, const AccessRules& rules);

}  // namespace ktraced

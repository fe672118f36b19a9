// SPDX-License-Identifier: BSD-2-Clause
// A view of /sys that nobody else has.
#pragma once

#include <string>

#include "harness/process.h"

namespace ktraced::live {

// The beginning of a command that runs `script` in a mount namespace of its own; the words that
// follow are the script's $0, $1 …. Only /sys is made private: in a plain chroot, / is no mount.
inline Command with_private_sys(const std::string& script) {
  return {"unshare",
          "--mount",
          "--propagation",
          "unchanged",
          "sh",
          "-c",
          "mount --make-rprivate /sys && " + script};
}

}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
// A private view of /sys.
#pragma once

#include <string>

#include "harness/machine/process.h"

namespace ktraced::live {

// Prefix of a command that runs `script` in a private mount namespace. The words after it are the
// script's $0, $1 …. Only /sys is made private: in a plain chroot, / is no mount.
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

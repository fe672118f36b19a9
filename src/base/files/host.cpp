// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/host.h"

#include <sys/utsname.h>

#include "base/files/read_file.h"

namespace ktraced {

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "";
}

std::string boot_id() {
  const auto text = read_file("/proc/sys/kernel/random/boot_id", 4096);
  return text ? text->substr(0, text->find('\n')) : "";
}

}  // namespace ktraced

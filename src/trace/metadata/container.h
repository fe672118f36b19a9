// SPDX-License-Identifier: BSD-2-Clause
// Containers, recognized by the paths of their control groups.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ktraced {

// A container, as its runtime has named its control group.
struct Container {
  std::string runtime;  // "docker", "containerd", "cri-o", "podman", …; empty: the path has no name
  std::string id;       // 64 hexadecimal digits of most runtimes; the name of others
  std::string pod;      // uid of its Kubernetes pod; empty: none

  bool operator==(const Container&) const = default;
};

// The container whose control group has this path, or contains it; the innermost one. Nothing for a
// path outside of all containers. Knows the paths of Docker, containerd, nerdctl, CRI-O, Podman,
// LXC and systemd-nspawn, below system.slice or as Kubernetes arranges them, with the drivers
// "systemd" and "cgroupfs".
[[nodiscard]] std::optional<Container> container_of(std::string_view cgroup_path);

}  // namespace ktraced

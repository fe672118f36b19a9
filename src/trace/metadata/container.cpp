// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/container.h"

#include <algorithm>
#include <ranges>

#include "base/text/c_text.h"

namespace ktraced {
namespace {

constexpr size_t kIdDigits = 64;
constexpr std::string_view kTransientUnit = ".scope", kSlice = ".slice", kService = ".service";

bool is_id_char(char c) { return is_digit_char(c) || (c >= 'a' && c <= 'f'); }

bool is_hexadecimal(std::string_view text) { return std::ranges::all_of(text, is_id_char); }

bool is_id(std::string_view text) { return text.size() == kIdDigits && is_hexadecimal(text); }

// What stands between the two, if the name has both and something between them.
std::optional<std::string_view> between(std::string_view name, std::string_view begin,
                                        std::string_view end) {
  if (name.size() <= begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end))
    return std::nullopt;
  return name.substr(begin.size(), name.size() - begin.size() - end.size());
}

struct Form {
  std::string_view prefix, runtime;
};

// Names with an id behind a prefix: scopes of systemd, and directories of Podman and CRI-O.
constexpr Form kIdForms[] = {
    {"docker-", "docker"},
    {"cri-containerd-", "containerd"},
    {"containerd-", "containerd"},
    {"nerdctl-", "nerdctl"},
    {"crio-", "cri-o"},
    {"libpod-", "podman"},
};

// Containers with names of their own.
struct NamedForm {
  std::string_view prefix, suffix, runtime;
};
constexpr NamedForm kNamedForms[] = {
    {"lxc.payload.", "", "lxc"},
    {"machine-", kTransientUnit, "systemd"},
    {"systemd-nspawn@", kService, "systemd"},
};

// The uid of a pod: "kubepods-burstable-pod1b2c_3d.slice" or "pod1b2c-3d" below a group "kubepods".
std::string pod_of(std::string_view name, bool in_kubernetes) {
  std::string_view uid;
  if (const auto slice = between(name, "kubepods-", kSlice)) {
    const size_t pod = slice->rfind("pod");
    if (pod == std::string_view::npos || (pod != 0 && (*slice)[pod - 1] != '-')) return {};
    uid = slice->substr(pod + 3);
  } else if (in_kubernetes && name.starts_with("pod")) {
    uid = name.substr(3);
  }
  std::string text(uid);
  std::ranges::replace(text, '_', '-');
  const bool is_uid = std::ranges::all_of(text, [](char c) { return is_id_char(c) || c == '-'; });
  return is_uid ? text : std::string();
}

// The runtime of a container whose directory is named by nothing but the id: the name of the parent
// directory shows who made it.
std::string_view runtime_of_parent(std::string_view parent) {
  for (const auto& [name, runtime] :
       {Form{"docker", "docker"}, Form{"default", "containerd"}, Form{"k8s.io", "containerd"},
        Form{"moby", "docker"}, Form{"crio", "cri-o"}, Form{"libpod_parent", "podman"}})
    if (parent == name) return runtime;
  return {};
}

std::optional<Container> container_named(std::string_view name, std::string_view parent) {
  if (is_id(name)) return Container{std::string(runtime_of_parent(parent)), std::string(name), {}};
  const bool is_unit = name.ends_with(kTransientUnit);
  const std::string_view stem =
      is_unit ? name.substr(0, name.size() - kTransientUnit.size()) : name;
  for (const Form& form : kIdForms)
    if (stem.starts_with(form.prefix) && is_id(stem.substr(form.prefix.size())))
      return Container{std::string(form.runtime), std::string(stem.substr(form.prefix.size())), {}};
  for (const NamedForm& form : kNamedForms)
    if (const auto id = between(name, form.prefix, form.suffix))
      return Container{std::string(form.runtime), std::string(*id), {}};
  if (parent == "lxc" && !name.empty()) return Container{"lxc", std::string(name), {}};
  return std::nullopt;
}

}  // namespace

std::optional<Container> container_of(std::string_view cgroup_path) {
  std::optional<Container> innermost;
  std::string pod;
  std::string_view parent;
  bool in_kubernetes = false;
  for (const auto part : std::views::split(cgroup_path, '/')) {
    const std::string_view name(part.begin(), part.end());
    if (name.empty()) continue;
    in_kubernetes = in_kubernetes || name == "kubepods" || name == "kubepods.slice";
    if (std::string found = pod_of(name, in_kubernetes); !found.empty()) pod = std::move(found);
    if (auto found = container_named(name, parent)) innermost = std::move(found);
    parent = name;
  }
  if (innermost) innermost->pod = std::move(pod);
  return innermost;
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_text.h"

#include <sys/un.h>

#include <algorithm>
#include <climits>
#include <filesystem>

#include "schema/names.h"

namespace ktraced {
namespace {

constexpr size_t kPathBytes = PATH_MAX - 1;  // without the NUL
constexpr std::string_view kParentComponent = "(^|/)\\.\\.(/|$)";
static_assert(kCommBytes == 15, "is also in the pattern of kCommText");

bool has_parent_component(std::string_view path) {
  const std::filesystem::path components(path);
  return std::ranges::any_of(components, [](const auto& component) { return component == ".."; });
}

std::string directory_problem(std::string_view text) {
  const std::filesystem::path path(text);
  if (has_parent_component(text)) return "must not contain '..'";
  return path.is_absolute() && path.lexically_normal() != "/"
             ? ""
             : "must be the absolute path of a directory";
}

std::string socket_problem(std::string_view path) {
  const bool is_socket = path.starts_with('/') && !path.ends_with('/');
  return is_socket ? "" : "must be the absolute path of a socket";
}

std::string cgroup_problem(std::string_view path) {
  if (path.empty() || path.size() > kPathBytes)
    return fmt::format("must be the path of a control group, of 1 to {} bytes", kPathBytes);
  return has_parent_component(path) ? "must not contain '..'" : "";
}

}  // namespace

// Without '..', a component other than '.' has another character than '.' or more than two of them.
constinit const TextRule kDirectoryText{.pattern = R"(^/[^\u0000]*([^/.\u0000]|\.\.\.)[^\u0000]*$)",
                                        .not_pattern = kParentComponent,
                                        .max_bytes = kPathBytes,
                                        .problem_of = directory_problem};

constinit const TextRule kSocketText{.pattern = R"(^/[^\u0000]*[^/\u0000]$)",
                                     .not_pattern = {},
                                     .max_bytes = sizeof(sockaddr_un::sun_path) - 1,
                                     .problem_of = socket_problem};

constinit const TextRule kCommText{.pattern = R"(^[^*\u0000]{1,15}\*?$)",
                                   .not_pattern = {},
                                   .max_bytes = SIZE_MAX,
                                   .problem_of = comm_problem};

constinit const TextRule kCgroupText{.pattern = R"(^[^\u0000]+$)",
                                     .not_pattern = kParentComponent,
                                     .max_bytes = kPathBytes,
                                     .problem_of = cgroup_problem};

}  // namespace ktraced

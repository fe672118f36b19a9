// SPDX-License-Identifier: BSD-2-Clause
// Probes on all functions that a pattern matches.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/files/lines.h"
#include "kernel/probes/probes.h"

namespace ktraced {
namespace {

constexpr const char* kTraceableList = "/sys/kernel/tracing/available_filter_functions";

// Limit for patterns that are attached one by one: each function takes a file descriptor, and
// milliseconds to attach.
constexpr size_t kOneByOneMax = 512;

std::string with_module(const KernelFunction& function) {
  return function.module.empty() ? function.name : function.module + ":" + function.name;
}

// Functions that the kernel can trace, as "NAME" or "MODULE:NAME"; none if the kernel does not list
// them. Lines are "name" or "name [module]".
std::set<std::string> traceable_functions() {
  std::set<std::string> names;
  const auto read = for_each_line_of(kTraceableList, [&](std::string_view line) {
    const size_t blank = line.find(' ');
    std::string name(line.substr(0, blank));
    if (blank != std::string_view::npos && line.ends_with(']'))
      name = fmt::format("{}:{}", line.substr(blank + 2, line.size() - blank - 3), name);
    names.insert(std::move(name));
  });
  if (!read) names.clear();  // a partial list is useless
  return names;
}

std::unexpected<Error> none_left(const ProbeDefinition& probe, size_t matching,
                                 const std::string& reason) {
  return fail(ExitCode::unavailable, "none of the {} functions {} can be probed: {}", matching,
              text_of(probe.location), reason);
}

}  // namespace

Result<std::vector<Fd>> Probes::attach_pattern(uint16_t id, const ProbeDefinition& probe,
                                               int program,
                                               const std::vector<KernelFunction>& functions) {
  auto& skipped = skipped_[id];
  skipped.clear();
  return hook_of(probe) == ProbeHook::multi ? attach_multi(probe, program, functions, skipped)
                                            : attach_each(probe, program, functions, skipped);
}

// The kernel attaches all functions or none, so those that it would refuse are removed first.
Result<std::vector<Fd>> Probes::attach_multi(const ProbeDefinition& probe, int program,
                                             const std::vector<KernelFunction>& functions,
                                             std::map<std::string, std::string>& skipped) {
  const auto traceable = traceable_functions();
  std::set<uint64_t> addresses;  // aliases share one
  for (const KernelFunction& function : functions) {
    if (traceable.empty() || traceable.contains(with_module(function)))
      addresses.insert(function.address);
    else
      skipped[with_module(function)] = "the kernel does not let it be traced";
  }
  if (addresses.empty())
    return none_left(probe, functions.size(), "the kernel does not trace them");
  auto link = link_kprobe_multi(program, {addresses.begin(), addresses.end()}, probe.at_return);
  if (!link) return none_left(probe, functions.size(), link.error().message);
  std::vector<Fd> links;
  links.push_back(std::move(*link));
  return links;
}

Result<std::vector<Fd>> Probes::attach_each(const ProbeDefinition& probe, int program,
                                            const std::vector<KernelFunction>& functions,
                                            Skipped& skipped) const {
  if (functions.size() > kOneByOneMax)
    return fail(ExitCode::unavailable,
                "{} matches {} functions, and this kernel (without CONFIG_FPROBE) takes them only "
                "one by one: choose a pattern that matches at most {}",
                text_of(probe.location), functions.size(), kOneByOneMax);
  std::vector<Fd> links;
  std::set<uint64_t> probed;
  std::string reason;
  size_t done = 0;
  for (const KernelFunction& function : functions) {
    if (progress_) progress_(done++, functions.size());
    if (!probed.insert(function.address).second) continue;
    auto link = link_kprobe(program, function.address, probe.at_return);
    if (link)
      links.push_back(std::move(*link));
    else
      skipped[with_module(function)] = reason = link.error().message;
  }
  if (links.empty()) return none_left(probe, functions.size(), reason);
  return links;
}

std::map<std::string, std::string> Probes::skipped(uint16_t id) const {
  const auto found = skipped_.find(id);
  return found == skipped_.end() ? std::map<std::string, std::string>() : found->second;
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/symbols.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files/lines.h"
#include "base/text/suggest.h"

namespace ktraced {

std::optional<std::string> KernelSymbols::resolve(uint64_t address) {
  std::lock_guard lock(mutex_);
  if (!table_) load();
  if (std::exchange(stale_, false)) load();
  auto name = table_->resolve(address);
  if (name || !time_to_check()) return name;
  if (is_new_code(address))
    load();
  else
    load_if_changed();
  return table_->resolve(address);
}

// The kernel compiles programs into memory of the area of modules. Each address of one that has
// been unloaded is looked for once.
bool KernelSymbols::is_new_code(uint64_t address) {
  constexpr uint64_t kModuleArea = 0xffffffffa0000000;  // of x86-64, or later
  constexpr size_t kMaxUnknown = 65536;
  if (address < kModuleArea) return false;
  if (unknown_.size() >= kMaxUnknown) unknown_.clear();
  return unknown_.insert(address).second;
}

Result<std::vector<KernelFunction>> KernelSymbols::functions(const std::string& module,
                                                             const std::string& pattern) {
  std::lock_guard lock(mutex_);
  // This is called seldom, and a wrong answer would put a probe at a wrong address: so check the
  // modules each time.
  if (!table_ || std::exchange(stale_, false))
    load();
  else
    load_if_changed();
  auto found = table_->matching(module, pattern);
  if (!found.empty()) return found;
  if (!reason_.empty()) return fail(ExitCode::unavailable, "{}", reason_);
  if (!module.empty() && !loaded_modules_.contains(module))
    return fail(ExitCode::unavailable,
                "the kernel module {0} is not loaded: load it (modprobe {0})", module);
  const auto near = table_->near(pattern);
  if (!module.empty())
    return fail(ExitCode::usage, "the kernel module {}: {}", module,
                unknown_name("function", pattern, near));
  return fail(ExitCode::usage, "{}",
              unknown_name("kernel function", pattern, near, "/proc/kallsyms lists all"));
}

Result<KernelFunction> KernelSymbols::function(const std::string& module, const std::string& name) {
  auto found = functions(module, name);
  if (!found) return propagate(found);
  if (found->size() == 1) return found->front();
  std::vector<std::string> places;
  for (const KernelFunction& each : *found)
    places.push_back(
        fmt::format("{:#x}{}", each.address, each.module.empty() ? "" : " in " + each.module));
  return fail(ExitCode::usage, "symbol {} is defined {} times: give an address or MOD: ({})", name,
              found->size(), fmt::join(places, ", "));
}

Result<uint64_t> KernelSymbols::address_of(const std::string& symbol) const {
  const size_t colon = symbol.find(':');
  const std::string module = colon == std::string::npos ? "" : symbol.substr(0, colon);
  std::string entry = symbol.substr(colon == std::string::npos ? 0 : colon + 1);
  const size_t length = entry.size();
  if (!module.empty()) entry += "\t[" + module + "]";
  std::set<uint64_t> found;
  const auto read = for_each_line_of(kallsyms_, [&](std::string_view line) {
    const size_t name = line.find(' ') + 3;  // behind the address and the type
    if (name >= line.size() || !line.substr(name).starts_with(entry)) return;
    const std::string_view rest = line.substr(name).substr(length);
    if (rest.empty() || rest[0] == '\t')
      found.insert(std::strtoull(std::string(line.substr(0, 16)).c_str(), nullptr, 16));
  });
  if (!read) return fail(ExitCode::unavailable, "{}", read.error().message);
  if (found.contains(0))
    return fail(ExitCode::unavailable,
                "the kernel hides its addresses (needs CAP_SYSLOG, or sysctl "
                "kernel.kptr_restrict=0)");
  if (found.empty()) return fail(ExitCode::usage, "this kernel has no symbol {}", symbol);
  if (found.size() > 1)
    return fail(ExitCode::usage, "symbol {} is defined {} times: give an address or MOD:", symbol,
                found.size());
  return *found.begin();
}

std::string KernelSymbols::reason() const {
  std::lock_guard lock(reason_mutex_);
  return reason_;
}

void KernelSymbols::refresh() {
  std::lock_guard lock(mutex_);
  stale_ = true;
}

// Lines are "NAME SIZE USES USERS STATE ADDRESS"; uses and users change all the time.
KernelSymbols::Modules KernelSymbols::modules_now() const {
  Modules modules;
  const auto read = for_each_line_of(modules_, [&](std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string name, size, uses, users, state, address;
    words >> name >> size >> uses >> users >> state >> address;
    modules.emplace(name, size.append(" ").append(address));
  });
  static_cast<void>(read);  // without modules there is no such file
  return modules;
}

void KernelSymbols::load_if_changed() {
  if (modules_now() != loaded_modules_) load();
}

void KernelSymbols::load() {
  loaded_modules_ = modules_now();
  last_check_ = std::chrono::steady_clock::now();
  table_.emplace();
  const auto read = table_->read(kallsyms_);
  std::lock_guard lock(reason_mutex_);
  reason_.clear();
  if (!read)
    reason_ = fmt::format("kernel symbols: {}", read.error().message);
  else if (table_->functions() == 0 && table_->hidden() > 0)
    reason_ =
        "kernel symbols: the kernel hides its addresses (needs CAP_SYSLOG, or sysctl "
        "kernel.kptr_restrict=0)";
  else if (table_->functions() == 0)
    reason_ = fmt::format("kernel symbols: {} lists none", kallsyms_.string());
}

bool KernelSymbols::time_to_check() {
  auto now = std::chrono::steady_clock::now();
  if (now - last_check_ < check_interval_) return false;
  last_check_ = now;
  return true;
}

}  // namespace ktraced

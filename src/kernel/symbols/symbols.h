// SPDX-License-Identifier: BSD-2-Clause
// Names of kernel addresses.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "trace/symbols/symbol_table.h"

namespace ktraced {

// Resolves addresses of the running kernel. Reads the symbols at the first query, after refresh(),
// and if an address is not found and modules were loaded or unloaded since, or it may be of a BPF
// program that was loaded since. Thread-safe.
class KernelSymbols {
 public:
  // Many addresses are in no function, so what has been loaded is checked at most once per
  // `check_interval`.
  explicit KernelSymbols(std::filesystem::path kallsyms = "/proc/kallsyms",
                         std::filesystem::path modules = "/proc/modules",
                         std::chrono::milliseconds check_interval = std::chrono::seconds(1))
      : kallsyms_(std::move(kallsyms)),
        modules_(std::move(modules)),
        check_interval_(check_interval) {}

  // "name+0x10/0x80" or "name+0x10/0x80 [module]"; nothing for an unknown address.
  [[nodiscard]] std::optional<std::string> resolve(uint64_t address);

  // The functions that match a name or pattern ('*' any characters, '?' one), of one module if
  // `module` is not empty; at least one. Fails with ExitCode::usage, suggesting similar names, or
  // with ExitCode::unavailable.
  [[nodiscard]] Result<std::vector<KernelFunction>> functions(const std::string& module,
                                                              const std::string& pattern);
  // The only function of that name; also fails if there are several.
  [[nodiscard]] Result<KernelFunction> function(const std::string& module, const std::string& name);
  // The address of any symbol, data too: "NAME" or "MODULE:NAME". Reads all of kallsyms.
  [[nodiscard]] Result<uint64_t> address_of(const std::string& symbol) const;

  // Modules were loaded: addresses may have other symbols from now on.
  void refresh();

  // Why no address can be resolved; empty if they can, or before the first query.
  [[nodiscard]] std::string reason() const;

 private:
  using Modules = std::map<std::string, std::string>;  // name → address
  [[nodiscard]] Modules modules_now() const;
  void load();
  void load_if_changed();
  // Is it the first query for an address that a compiled program may have?
  [[nodiscard]] bool is_new_code(uint64_t address);
  [[nodiscard]] bool time_to_check();

  std::filesystem::path kallsyms_, modules_;
  std::chrono::milliseconds check_interval_;
  mutable std::mutex mutex_;  // guards the rest
  std::optional<SymbolTable> table_;
  mutable std::mutex reason_mutex_;  // guards reason_: reading the symbols takes a while
  std::string reason_;
  Modules loaded_modules_;      // as of the reading of the table
  std::set<uint64_t> unknown_;  // addresses that a reading did not find
  bool stale_ = false;
  std::chrono::steady_clock::time_point last_check_;
};

}  // namespace ktraced

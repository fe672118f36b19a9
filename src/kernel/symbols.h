// SPDX-License-Identifier: BSD-2-Clause
// Names of kernel addresses.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernel/symbol_table.h"

namespace ktraced {

// Resolves addresses of the running kernel. The symbols are read at the first
// question, and again after refresh(), and if one is not found and modules have come or gone
// since. Thread-safe.
class KernelSymbols {
 public:
  // Many addresses are of no function: that alone must not cost a look at the list
  // of modules each time, but once in `check_interval`.
  explicit KernelSymbols(std::filesystem::path kallsyms = "/proc/kallsyms",
                         std::filesystem::path modules = "/proc/modules",
                         std::chrono::milliseconds check_interval = std::chrono::seconds(1))
      : kallsyms_(std::move(kallsyms)),
        modules_(std::move(modules)),
        check_interval_(check_interval) {}

  // "name+0x10/0x80" or "name+0x10/0x80 [module]"; nothing for an unknown address.
  [[nodiscard]] std::optional<std::string> resolve(uint64_t address);

  // The functions that a name or pattern stands for ('*' any characters, '?' one), of one module
  // if `module` is not empty; at least one. Fails with ExitCode::usage, naming what may be meant,
  // or with ExitCode::unavailable.
  [[nodiscard]] Result<std::vector<KernelFunction>> functions(const std::string& module,
                                                              const std::string& pattern);
  // The one function of a name; fails also if there are several.
  [[nodiscard]] Result<KernelFunction> function(const std::string& module, const std::string& name);
  // The address of any symbol, data too: "NAME" or "MODULE:NAME". Reads all of kallsyms.
  [[nodiscard]] Result<uint64_t> address_of(const std::string& symbol) const;

  // Modules have come: addresses may mean something else from now on.
  void refresh();

  // Why no address can be resolved; empty if they can, or before the first question.
  [[nodiscard]] std::string reason() const;

 private:
  using Modules = std::map<std::string, std::string>;  // name → address
  [[nodiscard]] Modules modules_now() const;
  void load();
  void load_if_changed();
  [[nodiscard]] bool time_to_check();

  std::filesystem::path kallsyms_, modules_;
  std::chrono::milliseconds check_interval_;
  mutable std::mutex mutex_;  // guards the rest
  std::optional<SymbolTable> table_;
  mutable std::mutex reason_mutex_;  // guards reason_: reading the symbols takes a while
  std::string reason_;
  Modules loaded_modules_;  // when the table was read
  bool stale_ = false;
  std::chrono::steady_clock::time_point last_check_;
};

}  // namespace ktraced

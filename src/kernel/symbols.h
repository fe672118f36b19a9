// Names of kernel addresses.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "kernel/symbol_table.h"

namespace ktraced {

// Resolves addresses of the running kernel. The symbols are read at the first
// question, and again when one is not found and modules have come or gone since.
// Thread-safe.
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

  // Why no address can be resolved; empty if they can, or before the first question.
  [[nodiscard]] std::string reason() const;

 private:
  void load();
  [[nodiscard]] bool modules_changed();

  std::filesystem::path kallsyms_, modules_;
  std::chrono::milliseconds check_interval_;
  mutable std::mutex mutex_;  // guards the rest
  std::optional<SymbolTable> table_;
  std::string reason_;
  std::string loaded_modules_;  // content of /proc/modules when the table was read
  std::chrono::steady_clock::time_point last_check_;
};

}  // namespace ktraced

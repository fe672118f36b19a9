// SPDX-License-Identifier: BSD-2-Clause
// Function symbols of the kernel and its modules, packed and sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ktraced {

// A function of the kernel or of a module.
struct KernelFunction {
  std::string name;
  std::string module;  // empty: the kernel itself
  uint64_t address = 0;
  uint64_t size = 0;  // bytes, if known

  bool operator==(const KernelFunction&) const = default;
};

// Built from the lines of /proc/kallsyms, or of a saved copy, in any order; then finish() and
// resolve(). BPF programs are functions of the module "bpf". Takes about 20 bytes and the name for
// each function.
class SymbolTable {
 public:
  // A saved copy may come from anybody. Kernels have some 200,000 symbols.
  static constexpr size_t kMaxSymbols = size_t{4} << 20;
  static constexpr size_t kMaxNameBytes = size_t{64} << 20;

  // Adds the lines of a file, and finishes. Fails as for_each_line_of(), with what was read so far,
  // or with ExitCode::data if there is no room for all.
  Result<> read(const std::filesystem::path& path);
  // One line, "ffffffff81000000 T name", optionally followed by "\t[module]", without the newline.
  // Lines of another form are left out, and those for which there is no room.
  void add_line(std::string_view line);
  void finish();

  // "kmalloc_trace+0x1c/0x90", followed by " [module]" for a module's function, as %pS of the
  // kernel prints it. Nothing for an address outside of functions.
  [[nodiscard]] std::optional<std::string> resolve(uint64_t address) const;

  // The functions whose name matches `pattern`, where '*' stands for any characters and '?' for
  // one, by address; of one module, if `module` is not empty. Aliases are found too.
  [[nodiscard]] std::vector<KernelFunction> matching(std::string_view module,
                                                     const std::string& pattern) const;
  // Up to three names similar to `name`, most similar first.
  [[nodiscard]] std::vector<std::string> near(std::string_view name) const;

  [[nodiscard]] size_t functions() const { return functions_; }
  // Lines with an address of 0, which the kernel shows instead of hidden addresses.
  [[nodiscard]] size_t hidden() const { return hidden_; }

 private:
  struct Symbol {
    uint64_t address;
    uint32_t name;  // offset in names_; 0: data, which ends the function before it
  };
  // "name\t[module]" as in the file; the module with its tab and brackets.
  [[nodiscard]] std::string_view name_of(const Symbol& symbol) const;
  [[nodiscard]] std::string_view module_of(const Symbol& symbol) const;
  [[nodiscard]] uint64_t end_of(std::vector<Symbol>::const_iterator symbol, uint64_t address) const;

  std::vector<Symbol> symbols_;               // by address, each address once
  std::vector<Symbol> aliases_;               // further names of functions in symbols_
  std::string names_ = std::string(1, '\0');  // each ends with a NUL
  size_t functions_ = 0;
  size_t hidden_ = 0;
  bool is_full_ = false;
};

// Adds the symbol of a code address, which records have as `shown`. Where a function begins there,
// or there is none, also that of the byte before it, as of `shown` - 1: a return address belongs to
// the call before it, which ends its function if it never returns. `resolve`: as
// SymbolTable::resolve().
template <class Resolve>
void add_symbols(uint64_t shown, uint64_t address, Resolve&& resolve,
                 std::map<uint64_t, std::string>& symbols) {
  std::optional<std::string> symbol = resolve(address);
  const bool is_inside = symbol && symbol->find("+0x0/") == std::string::npos;
  if (symbol) symbols.insert_or_assign(shown, std::move(*symbol));
  if (is_inside || address == 0) return;
  if (std::optional<std::string> before = resolve(address - 1))
    symbols.emplace(shown - 1, std::move(*before));
}

}  // namespace ktraced

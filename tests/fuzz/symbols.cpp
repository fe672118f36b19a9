// SPDX-License-Identifier: BSD-2-Clause
// The texts of /proc/kallsyms and /proc/modules. Every function of the table is found by its name
// and has a name at its address; functions come by address.
#include "kernel/symbols/symbols.h"

#include <filesystem>
#include <fstream>

#include "base/files/lines.h"
#include "fuzz/fuzz.h"

namespace ktraced::fuzz {
namespace {

void check_table(std::string_view text) {
  SymbolTable table;
  for_each_line(text, [&](std::string_view line) { table.add_line(line); });
  table.finish();
  uint64_t last = 0;
  for (const KernelFunction& function : table.matching("", "*")) {
    require(function.address >= last, "functions come by address", function.name);
    last = function.address;
    require(table.resolve(function.address).has_value(), "a function has a name", function.name);
    if (function.size != 0)
      require(table.resolve(function.address + function.size - 1).has_value(),
              "a function has a name up to its end", function.name);
    if (function.name.find_first_of("*?") == std::string::npos)
      require(!table.matching(function.module, function.name).empty(),
              "a function is found by its name", function.name);
  }
  for (const uint64_t address : {uint64_t{0}, UINT64_MAX, last, last + 1})
    (void)table.resolve(address);
  (void)table.near("vfs_read");
}

// The same by way of files.
class Files {
 public:
  Files() {
    std::string name = std::filesystem::temp_directory_path() / "ktraced_fuzz_XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "there is a temporary directory");
    root_ = name;
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() { std::filesystem::remove_all(root_); }

  void check(std::string_view kallsyms, std::string_view modules) const {
    std::ofstream(root_ / "kallsyms") << kallsyms;
    std::ofstream(root_ / "modules") << modules;
    KernelSymbols symbols(root_ / "kallsyms", root_ / "modules", std::chrono::milliseconds(0));
    (void)symbols.resolve(0xffffffff81000042);
    if (const auto functions = symbols.functions("", "*e*"); !functions)
      require_message(functions.error());
    if (const auto one = symbols.function("b", "vfs_read"); !one) require_message(one.error());
    if (const auto data = symbols.address_of("some_data"); !data) require_message(data.error());
    (void)symbols.reason();
  }

 private:
  std::filesystem::path root_;
};

}  // namespace

void check_input(std::string_view input) {
  static const Files files;
  const auto parts = parts_of(input, 2);
  check_table(parts[0]);
  files.check(parts[0], parts[1]);
}

}  // namespace ktraced::fuzz

// SPDX-License-Identifier: BSD-2-Clause
// The texts of /proc/kallsyms and /proc/modules. Every function of the table is found by its name
// and has a name at its address; functions come by address.
#include "kernel/symbols/symbols.h"

#include <filesystem>
#include <fstream>

#include "base/files/lines.h"
#include "fuzz/fuzz.h"
#include "fuzz/temporary_directory.h"

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
void check_files(const std::filesystem::path& directory, std::string_view kallsyms,
                 std::string_view modules) {
  std::ofstream(directory / "kallsyms") << kallsyms;
  std::ofstream(directory / "modules") << modules;
  KernelSymbols symbols(directory / "kallsyms", directory / "modules",
                        std::chrono::milliseconds(0));
  (void)symbols.resolve(0xffffffff81000042);
  if (const auto functions = symbols.functions("", "*e*"); !functions)
    require_message(functions.error());
  if (const auto one = symbols.function("b", "vfs_read"); !one) require_message(one.error());
  if (const auto data = symbols.address_of("some_data"); !data) require_message(data.error());
  (void)symbols.reason();
}

}  // namespace

void check_input(std::string_view input) {
  static const TemporaryDirectory directory;
  const auto parts = parts_of(input, 2);
  check_table(parts[0]);
  check_files(directory.path(), parts[0], parts[1]);
}

}  // namespace ktraced::fuzz

// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/elf_symbols.h"

#include <gelf.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "decoders/symbols/start_calls.h"

namespace ktraced {
namespace {

constexpr size_t kMaxNamesSection = size_t{1} << 30;  // bytes

struct ElfSymbol {
  uint64_t address;
  uint64_t size;  // 0: not known
  uint64_t section_end;
  uint32_t name;     // in the section of names
  uint32_t quality;  // of several names of a function the one with the highest is shown
};

struct CodeSections {
  struct Code {
    bool is_code = false;
    uint64_t end = 0;
  };
  std::vector<Code> sections;  // by index

  explicit CodeSections(Elf* elf) {
    for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header{};
      if (::gelf_getshdr(section, &header) == nullptr) continue;
      sections.resize(::elf_ndxscn(section) + 1);
      sections.back() = {(header.sh_flags & SHF_EXECINSTR) != 0, header.sh_addr + header.sh_size};
    }
  }
  // The section of a symbol, if it has code.
  [[nodiscard]] const Code* of(const GElf_Sym& symbol) const {
    if (symbol.st_shndx >= sections.size() || !sections[symbol.st_shndx].is_code) return nullptr;
    return &sections[symbol.st_shndx];
  }
};

bool is_function(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  if (type == STT_FUNC || type == STT_GNU_IFUNC) return true;
  // In assembly, functions often lack a type; local names without one are places in functions.
  return type == STT_NOTYPE && GELF_ST_BIND(symbol.st_info) != STB_LOCAL;
}

// `name`: with what follows it in the section of names.
uint32_t quality_of(const GElf_Sym& symbol, std::string_view name) {
  const auto bind = GELF_ST_BIND(symbol.st_info);
  const uint32_t seen = bind == STB_LOCAL ? 0 : bind == STB_WEAK ? 1 : 2;
  const size_t underscores = std::min(name.substr(0, 3).find_first_not_of('_'), size_t{3});
  return seen * 4 + 3 - static_cast<uint32_t>(underscores);
}

std::unexpected<Error> damaged(const ElfFile& file) {
  return fail(ExitCode::data, "cannot read the symbols of {}: its symbol table is damaged",
              file.name());
}

std::unexpected<Error> too_large(const ElfFile& file) {
  return fail(ExitCode::data, "cannot read the symbols of {}: it has too many", file.name());
}

Elf_Scn* section_of_type(Elf* elf, uint32_t type, GElf_Shdr& header) {
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;)
    if (::gelf_getshdr(section, &header) != nullptr && header.sh_type == type) return section;
  return nullptr;
}

// A section of names: texts, the last of which ends with a NUL.
Result<std::string_view> texts_in(const ElfFile& file, uint32_t section) {
  GElf_Shdr header{};
  Elf_Scn* found = ::elf_getscn(file.elf(), section);
  if (found == nullptr || ::gelf_getshdr(found, &header) == nullptr ||
      header.sh_type != SHT_STRTAB || (header.sh_flags & SHF_COMPRESSED) != 0)
    return damaged(file);
  if (header.sh_size > kMaxNamesSection) return too_large(file);
  const Elf_Data* data = ::elf_getdata(found, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return damaged(file);
  const std::string_view names(static_cast<const char*>(data->d_buf), data->d_size);
  return names.substr(0, names.rfind('\0') + 1);
}

// Every function of the table. `names`: its section of names.
std::vector<ElfSymbol> functions_in(const ElfFile& file, SymbolSource source, Elf_Data* table,
                                    size_t count, std::string_view names) {
  const CodeSections code(file.elf());
  std::vector<ElfSymbol> functions;
  for (size_t i = 1; i < count; i++) {
    GElf_Sym symbol{};
    if (::gelf_getsym(table, static_cast<int>(i), &symbol) == nullptr) break;
    if (!is_function(symbol) || symbol.st_name >= names.size()) continue;
    if (symbol.st_size == 0 && source == SymbolSource::exported) continue;
    const CodeSections::Code* section = code.of(symbol);
    if (section == nullptr) continue;
    functions.push_back({.address = symbol.st_value,
                         .size = symbol.st_size,
                         .section_end = section->end,
                         .name = symbol.st_name,
                         .quality = quality_of(symbol, names.substr(symbol.st_name))});
  }
  return functions;
}

// What a libc is known by, among the exported functions.
StartExports start_exports(const std::vector<ElfSymbol>& functions, std::string_view names) {
  using namespace std::string_view_literals;
  StartExports exports;
  for (const ElfSymbol& function : functions) {
    const std::string_view name = names.substr(function.name);
    if (name.starts_with("exit\0"sv)) exports.exit = function.address;
    exports.is_glibc |= name.starts_with("gnu_get_libc_version\0"sv);
    exports.has_threads |= name.starts_with("pthread_create\0"sv);
  }
  return exports;
}

// Before the symbols, which hide them.
bool add_start_calls(const ElfFile& file, const StartExports& exports, AddressNames& found) {
  return std::ranges::all_of(start_calls(file, exports), [&](const StartCall& call) {
    return found.add(call.address, 1, call.caller);
  });
}

// What the next symbol or the end of the section leaves to a symbol.
uint64_t size_before(const ElfSymbol& symbol, uint64_t next) {
  const uint64_t end = std::min(symbol.section_end, next);
  return end > symbol.address ? end - symbol.address : 0;
}

// Those of unknown size first, so that they hide no others, and then what lies in another function
// after that.
bool add_all(std::vector<ElfSymbol>& functions, std::string_view names, AddressNames& found) {
  std::ranges::sort(functions, [](const ElfSymbol& a, const ElfSymbol& b) {
    return std::tuple(a.address, ~a.size, a.quality, a.name) <
           std::tuple(b.address, ~b.size, b.quality, b.name);
  });
  auto add = [&](const ElfSymbol& symbol, uint64_t size) {
    return found.add(symbol.address, size, names.substr(symbol.name));
  };
  uint64_t next = UINT64_MAX, last = UINT64_MAX;
  std::vector<std::pair<const ElfSymbol*, uint64_t>> unsized;
  for (auto symbol = functions.rbegin(); symbol != functions.rend(); ++symbol) {
    if (symbol->address != last) next = std::exchange(last, symbol->address);
    if (symbol->size == 0) unsized.emplace_back(&*symbol, size_before(*symbol, next));
  }
  for (auto symbol = unsized.rbegin(); symbol != unsized.rend(); ++symbol)
    if (!add(*symbol->first, symbol->second)) return false;
  return std::ranges::all_of(functions,
                             [&](const ElfSymbol& symbol) { return add(symbol, symbol.size); });
}

}  // namespace

Result<AddressNames> elf_symbols(const ElfFile& file, SymbolSource source) {
  AddressNames found;
  GElf_Shdr header{};
  const uint32_t type = source == SymbolSource::all ? SHT_SYMTAB : SHT_DYNSYM;
  Elf_Scn* section = section_of_type(file.elf(), type, header);
  if (section == nullptr) return found;
  if ((header.sh_flags & SHF_COMPRESSED) != 0) return damaged(file);
  const size_t one = ::gelf_fsize(file.elf(), ELF_T_SYM, 1, EV_CURRENT);
  if (header.sh_size / one > AddressNames::kMaxRanges) return too_large(file);
  Elf_Data* table = ::elf_getdata(section, nullptr);
  if (table == nullptr || table->d_buf == nullptr) return damaged(file);
  const auto names = texts_in(file, header.sh_link);
  if (!names) return std::unexpected(names.error());
  auto functions = functions_in(file, source, table, header.sh_size / one, *names);
  if (source == SymbolSource::exported &&
      !add_start_calls(file, start_exports(functions, *names), found))
    return too_large(file);
  if (!add_all(functions, *names, found)) return too_large(file);
  found.finish();
  return found;
}

}  // namespace ktraced

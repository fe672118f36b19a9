// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/elf_symbols.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "unit/support/shapes.h"

namespace ktraced {
namespace {

using test::offset_in_shapes;
using test::OwnFiles;
using test::shapes;
using ::testing::HasSubstr;

// "NAME+OFFSET" at an offset in the code of the library.
std::string symbol_at(const AddressNames& names, uint64_t offset) {
  const auto found = names.at(offset + test::kShapesBase);
  return found ? std::string(found->name) + "+" + std::to_string(found->offset) : "";
}

AddressNames symbols_of(const std::filesystem::path& path, SymbolSource source) {
  const auto file = ElfFile::open(path);
  EXPECT_TRUE(file) << file.error().message;
  auto names = elf_symbols(*file, source);
  EXPECT_TRUE(names) << names.error().message;
  return std::move(*names);
}

TEST(ElfSymbols, NamesEveryFunctionOfAWholeFileAndOfADebugFile) {
  for (const auto& path : {shapes("whole.so"), test::shapes_debug_file()}) {
    const auto names = symbols_of(path, SymbolSource::all);
    const uint64_t hypotenuse = offset_in_shapes("_ZN6shapes10hypotenuseEii");
    EXPECT_EQ(symbol_at(names, hypotenuse), "_ZN6shapes10hypotenuseEii+0");
    EXPECT_EQ(symbol_at(names, hypotenuse + 5), "_ZN6shapes10hypotenuseEii+5");
    EXPECT_EQ(symbol_at(names, test::offset_of_hidden() + 1), "_ZL6hiddeni+1");
    EXPECT_EQ(symbol_at(names, uint64_t{1} << 30), "");
  }
}

TEST(ElfSymbols, NamesExportedFunctionsOfAStrippedFile) {
  EXPECT_TRUE(symbols_of(shapes("stripped.so"), SymbolSource::all).empty());
  const auto names = symbols_of(shapes("stripped.so"), SymbolSource::exported);
  EXPECT_EQ(symbol_at(names, offset_in_shapes("plain") + 1), "plain+1");
  EXPECT_EQ(symbol_at(names, test::offset_of_hidden()), "") << "not the function before it";
  EXPECT_EQ(symbol_at(names, offset_in_shapes("without_size")), "");
}

TEST(ElfSymbols, PrefersTheNameThatOthersCall) {
  const auto names = symbols_of(shapes("whole.so"), SymbolSource::all);
  EXPECT_EQ(symbol_at(names, offset_in_shapes("__plain")), "plain+0");
  EXPECT_EQ(symbol_at(names, offset_in_shapes("a_weak_plain")), "plain+0");
}

TEST(ElfSymbols, EndsFunctionsOfUnknownSize) {
  const auto names = symbols_of(shapes("whole.so"), SymbolSource::all);
  const uint64_t first = offset_in_shapes("without_size");
  EXPECT_EQ(symbol_at(names, first + 3), "without_size+3");
  EXPECT_EQ(symbol_at(names, first + 4), "last_without_size+0");
  EXPECT_EQ(symbol_at(names, first + 5), "last_without_size+1");
  EXPECT_NE(symbol_at(names, first + 6), "last_without_size+2") << "its section has ended";
  EXPECT_EQ(symbol_at(names, offset_in_shapes("in_outer")), "outer+1")
      << "a place in a function whose size is known";
}

// The header of the first section of this type, in the bytes of a file.
Elf64_Shdr& section_in(std::string& bytes, uint32_t type) {
  auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  auto* section = reinterpret_cast<Elf64_Shdr*>(bytes.data() + header->e_shoff);
  while (section->sh_type != type) section++;
  return *section;
}

TEST(ElfSymbols, RefusesADamagedTable) {
  const OwnFiles files;
  const std::string whole = test::bytes_of_file(shapes("whole.so"));
  const std::vector<std::pair<const char*, void (*)(Elf64_Shdr&)>> cases = {
      {"damaged", [](Elf64_Shdr& table) { table.sh_link = 1; }},
      {"damaged", [](Elf64_Shdr& table) { table.sh_link = 60000; }},
      {"damaged", [](Elf64_Shdr& table) { table.sh_offset = uint64_t{1} << 40; }},
      {"damaged", [](Elf64_Shdr& table) { table.sh_flags |= SHF_COMPRESSED; }},
      {"damaged", [](Elf64_Shdr& table) { table.sh_size = uint64_t{24} << 20; }},
      {"it has too many", [](Elf64_Shdr& table) { table.sh_size = UINT64_MAX; }},
  };
  for (const auto& [message, damage] : cases) {
    std::string bytes = whole;
    damage(section_in(bytes, SHT_SYMTAB));
    const auto file = ElfFile::open(files.write("file", bytes));
    ASSERT_TRUE(file);
    const auto names = elf_symbols(*file, SymbolSource::all);
    ASSERT_FALSE(names);
    EXPECT_EQ(names.error().code, ExitCode::data);
    EXPECT_THAT(names.error().message, HasSubstr(message));
  }
}

TEST(ElfSymbols, RefusesNamesThatTogetherAreTooLong) {
  const OwnFiles files;
  std::string bytes = test::bytes_of_file(shapes("whole.so"));
  // Functions, each with another end of the same long name.
  constexpr size_t kFunctions = size_t{1} << 13, kNames = size_t{1} << 20;
  const size_t names_at = (bytes.size() + 15) / 16 * 16, table_at = names_at + kNames;
  bytes.resize(table_at + kFunctions * sizeof(Elf64_Sym));
  std::memset(bytes.data() + names_at, 'x', kNames - 1);
  auto* header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  auto* sections = reinterpret_cast<Elf64_Shdr*>(bytes.data() + header->e_shoff);
  uint16_t code = 0;
  while ((sections[code].sh_flags & SHF_EXECINSTR) == 0) code++;
  Elf64_Shdr& table = section_in(bytes, SHT_SYMTAB);
  sections[table.sh_link].sh_offset = names_at;
  sections[table.sh_link].sh_size = kNames;
  table.sh_offset = table_at;
  table.sh_size = kFunctions * sizeof(Elf64_Sym);
  auto* symbols = reinterpret_cast<Elf64_Sym*>(bytes.data() + table_at);
  for (size_t i = 1; i < kFunctions; i++)
    symbols[i] = {.st_name = static_cast<uint32_t>(i),
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                  .st_other = 0,
                  .st_shndx = code,
                  .st_value = i,
                  .st_size = 1};
  const auto file = ElfFile::open(files.write("file", bytes));
  ASSERT_TRUE(file);
  const auto names = elf_symbols(*file, SymbolSource::all);
  ASSERT_FALSE(names);
  EXPECT_THAT(names.error().message, HasSubstr("it has too many"));
}

// What is damaged has no names, or is said in one sentence; what is read is in the file.
TEST(ElfSymbols, SurvivesHostileFiles) {
  const auto files = test::hostile_files("elf");
  ASSERT_GT(files.size(), 40U);
  for (const auto& path : files) {
    SCOPED_TRACE(path);
    const auto file = ElfFile::open(path);
    if (!file) {
      EXPECT_EQ(file.error().code, ExitCode::data);
      continue;
    }
    EXPECT_LE(file->build_id().size(), 128U);
    const std::string bytes = test::bytes_of_file(path);
    for (const auto source : {SymbolSource::all, SymbolSource::exported}) {
      const auto names = elf_symbols(*file, source);
      if (!names) {
        EXPECT_EQ(names.error().code, ExitCode::data);
        EXPECT_THAT(names.error().message, HasSubstr("cannot read the symbols of "));
        continue;
      }
      for (const uint64_t address : {uint64_t{0}, uint64_t{0x100100}, uint64_t{0x10010f},
                                     uint64_t{1} << 63, UINT64_MAX - 1, UINT64_MAX})
        if (const auto found = names->at(address)) {
          EXPECT_NE(found->name, "");
          EXPECT_THAT(bytes, HasSubstr(std::string(found->name)));
          EXPECT_LE(found->offset, address);
        }
    }
  }
}

TEST(ElfSymbols, ReadsTheFileThatHostileOnesAreMadeFrom) {
  for (const char* name : {"plain", "huge_entries", "entries_of_no_size"}) {
    const auto file = ElfFile::open(test::hostile_files("elf").front().parent_path() / name);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->build_id(), test::kShapesId);
    EXPECT_EQ(file->address_of(0x105), 0x100105U);
    const auto names = elf_symbols(*file, SymbolSource::all);
    ASSERT_TRUE(names) << names.error().message;
    EXPECT_EQ(symbol_at(*names, 0x105), "main+5") << name;
    EXPECT_EQ(symbol_at(*names, 0x110), "") << name;
  }
}

TEST(ElfSymbols, SurvivesDamageAnywhere) {
  std::mt19937 random(1);
  const OwnFiles files;
  const std::string whole = test::bytes_of_file(shapes("whole.so"));
  for (int i = 0; i < 500; i++) {
    std::string bytes = whole;
    for (int change = 0; change < 4; change++)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 2 == 0 ? 0xff : random());
    const auto file = ElfFile::open(files.write("file", bytes));
    if (!file) continue;
    for (const auto source : {SymbolSource::all, SymbolSource::exported}) {
      const auto names = elf_symbols(*file, source);
      if (!names) continue;
      for (uint64_t at = 0x1000; at < 0x1200; at++) static_cast<void>(symbol_at(*names, at));
    }
  }
}

}  // namespace
}  // namespace ktraced

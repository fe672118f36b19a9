// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/symbol_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kKallsyms =
    "0000000000000000 A fixed_percpu_data\n"
    "0000000000001000 A cpu_debug_store\n"
    "ffffffff81000000 T first_alias\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000040 t kfree_it.part.0\n"
    "ffffffff810000c0 W weak_one\n"
    "ffffffff81001000 D some_data\n"
    "ffffffff81001100 R more_data\n"
    "ffffffff81002000 D data_of_the_same_address\n"
    "ffffffff81002000 T text_after_data\n"
    "ffffffff81002100 r end_of_text\n"
    "ffffffffc0402000 t second_of_b\t[b]\n"
    "ffffffffc0401000 t only_of_a\t[a]\n"
    "ffffffffc0402010 t last_of_b\t[b]\n";

SymbolTable table_of(std::string_view text) {
  SymbolTable table;
  while (!text.empty()) {
    table.add_line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  }
  table.finish();
  return table;
}

TEST(SymbolTable, ResolvesAddressesLikeTheKernel) {
  SymbolTable table = table_of(kKallsyms);
  EXPECT_EQ(table.resolve(0xffffffff81000000), "first_alias+0x0/0x40")
      << "the first of several aliases";
  EXPECT_EQ(table.resolve(0xffffffff8100003f), "first_alias+0x3f/0x40");
  EXPECT_EQ(table.resolve(0xffffffff81000041), "kfree_it.part.0+0x1/0x80");
  EXPECT_EQ(table.resolve(0xffffffff81000fff), "weak_one+0xf3f/0xf40") << "until the data begins";
  EXPECT_EQ(table.resolve(0xffffffff81002010), "text_after_data+0x10/0x100");
}

TEST(SymbolTable, HasTheSymbolOfACallThatEndsItsFunction) {
  const SymbolTable table = table_of(kKallsyms);
  const auto resolve = [&table](uint64_t address) { return table.resolve(address); };
  constexpr uint64_t kShown = 0xc000000000000100;  // instead of an address
  std::map<uint64_t, std::string> symbols;
  add_symbols(kShown, 0xffffffff81000041, resolve, symbols);
  EXPECT_THAT(symbols, ElementsAre(Pair(kShown, "kfree_it.part.0+0x1/0x80")));
  symbols.clear();
  add_symbols(kShown, 0xffffffff810000c0, resolve, symbols);
  EXPECT_THAT(symbols, ElementsAre(Pair(kShown - 1, "kfree_it.part.0+0x7f/0x80"),
                                   Pair(kShown, "weak_one+0x0/0xf40")));
  symbols.clear();
  add_symbols(kShown, 0xffffffff81001000, resolve, symbols);
  EXPECT_THAT(symbols, ElementsAre(Pair(kShown - 1, "weak_one+0xf3f/0xf40")));
  symbols.clear();
  add_symbols(kShown, 0, resolve, symbols);
  EXPECT_THAT(symbols, IsEmpty());
}

TEST(SymbolTable, AcceptsALineThatEndsInItsModule) {
  for (const char* end : {"\t", "\t[", "\t[m"}) {
    const SymbolTable table = table_of(std::string("ffffffff81000000 t odd") + end + "\n");
    ASSERT_EQ(table.matching("", "odd").size(), 1U) << end;
    EXPECT_EQ(table.matching("", "odd")[0].module, "");
  }
}

TEST(SymbolTable, FindsTheLastFunctionOfTheAddressSpace) {
  const SymbolTable table =
      table_of("ffffffffffff81d0 T first\nfffffffffffffff0 T last\nffffffffffffffff T none\n");
  EXPECT_EQ(table.resolve(0xffffffffffff81d0), "first+0x0/0x7e20");
  EXPECT_EQ(table.resolve(0xfffffffffffffff1), "last+0x1/0xf");
  EXPECT_EQ(table.resolve(UINT64_MAX), std::nullopt);
  EXPECT_TRUE(table.matching("", "none").empty());
}

TEST(SymbolTable, HasNoNamesOutsideOfCode) {
  SymbolTable table = table_of(kKallsyms);
  EXPECT_EQ(table.functions(), 7U);
  for (uint64_t address :
       {uint64_t{0}, uint64_t{0x1010}, uint64_t{0xffff888012345678}, uint64_t{0xffffffff80ffffff},
        uint64_t{0xffffffff81001000}, uint64_t{0xffffffff81001fff}, uint64_t{0xffffffff81002100}})
    EXPECT_EQ(table.resolve(address), std::nullopt) << std::hex << address;
}

TEST(SymbolTable, AppendsTheModuleToItsFunctions) {
  SymbolTable table = table_of(kKallsyms);
  EXPECT_EQ(table.resolve(0xffffffffc0402004), "second_of_b+0x4/0x10 [b]");
}

TEST(SymbolTable, EndsTheLastFunctionOfAModuleWithItsPage) {
  SymbolTable table = table_of(kKallsyms);
  EXPECT_EQ(table.resolve(0xffffffffc0401010), "only_of_a+0x10/0x1000 [a]");
  EXPECT_EQ(table.resolve(0xffffffffc0402020), "last_of_b+0x10/0xff0 [b]");
  EXPECT_EQ(table.resolve(0xffffffffc0403010), "last_of_b+0x1000/0x1ff0 [b]");
  EXPECT_EQ(table.resolve(0xffffffffc0500000), std::nullopt) << "too far after the function";
  EXPECT_EQ(table.resolve(~uint64_t{0}), std::nullopt);
}

TEST(SymbolTable, SkipsLinesOfAnotherForm) {
  SymbolTable table = table_of(
      "\n\nnonsense\nffffffff81000000\nffffffff81000000 T\n"
      "ffffffff81000000 T \nffffffff81000000 T a\n");
  EXPECT_EQ(table.functions(), 1U);
}

std::vector<std::string> names_of(const std::vector<KernelFunction>& functions) {
  std::vector<std::string> names;
  for (const KernelFunction& function : functions) names.push_back(function.name);
  return names;
}

TEST(SymbolTable, FindsFunctionsByNameAndPattern) {
  SymbolTable table = table_of(kKallsyms);
  EXPECT_THAT(table.matching("", "weak_one"),
              ElementsAre(KernelFunction{"weak_one", "", 0xffffffff810000c0, 0xf40}));
  EXPECT_THAT(table.matching("", "second_of_b"),
              ElementsAre(KernelFunction{"second_of_b", "b", 0xffffffffc0402000, 0x10}));
  EXPECT_THAT(table.matching("a", "second_of_b"), IsEmpty());
  EXPECT_THAT(names_of(table.matching("", "*_of_?")),
              ElementsAre("only_of_a", "second_of_b", "last_of_b"));
  EXPECT_THAT(names_of(table.matching("b", "*")), ElementsAre("second_of_b", "last_of_b"));
  EXPECT_THAT(table.matching("", "some_data"), IsEmpty()) << "not a function";
  EXPECT_THAT(table.matching("", "weak"), IsEmpty());
}

TEST(SymbolTable, FindsAliases) {
  SymbolTable table = table_of(kKallsyms);
  EXPECT_THAT(table.matching("", "_text"),
              ElementsAre(KernelFunction{"_text", "", 0xffffffff81000000, 0x40}));
}

TEST(SymbolTable, SuggestsSimilarNames) {
  SymbolTable table = table_of(kKallsyms);
  EXPECT_THAT(table.near("weak_onr"), ElementsAre("weak_one"));
  EXPECT_THAT(table.near("nothing_like_it"), IsEmpty());
}

TEST(SymbolTable, ResolvesNothingWhenEmpty) {
  SymbolTable table = table_of("");
  EXPECT_EQ(table.resolve(0xffffffff81000000), std::nullopt);
}

TEST(SymbolTable, NamesBpfProgramsAndModulesOfASavedCopy) {
  const auto copy =
      std::filesystem::temp_directory_path() / ("ktraced-kallsyms-" + std::to_string(::getpid()));
  std::ofstream(copy) << kKallsyms
                      << "ffffffffc0500000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
                         "ffffffffc0500040 t bpf_prog_end\t[bpf]\n";
  SymbolTable table;
  EXPECT_TRUE(table.read(copy));
  EXPECT_EQ(table.resolve(0xffffffffc0500010), "bpf_prog_6deef7357e7b4530_sd_fw+0x10/0x40 [bpf]");
  EXPECT_EQ(table.resolve(0xffffffffc0402004), "second_of_b+0x4/0x10 [b]");
  std::filesystem::remove(copy);
  SymbolTable none;
  EXPECT_THAT(none.read(copy).error().message, HasSubstr("No such file"));
  EXPECT_EQ(none.functions(), 0U);
}

TEST(SymbolTable, KeepsALimitedNumberOfSymbols) {
  SymbolTable table;
  const std::string name(SymbolTable::kMaxNameBytes / 1000, 'x');
  for (int i = 0; i < 1001; i++)
    table.add_line("ffffffff8100000" + std::to_string(i % 10) + " T " + name);
  table.finish();
  EXPECT_EQ(table.functions(), 10U);
  EXPECT_EQ(table.resolve(0xffffffff81000000)->substr(0, 3), "xxx");
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/symbols.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "kernel/symbols/symbol_table.h"

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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

class KernelSymbolsTest : public ::testing::Test {
 protected:
  KernelSymbolsTest()
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("ktraced-symbols-{}", ::getpid())) {
    std::filesystem::create_directory(directory_);
  }
  ~KernelSymbolsTest() override { std::filesystem::remove_all(directory_); }

  void write(const char* name, std::string_view text) const {
    std::ofstream(directory_ / name) << text;
  }
  [[nodiscard]] KernelSymbols symbols(int check_interval_ms = 0) const {
    return KernelSymbols(directory_ / "kallsyms", directory_ / "modules",
                         std::chrono::milliseconds(check_interval_ms));
  }

  std::filesystem::path directory_;
};

TEST_F(KernelSymbolsTest, AreReadAgainWhenModulesHaveChanged) {
  write("kallsyms", "ffffffff81000000 T a\nffffffff81000040 D d\n");
  write("modules", "");
  KernelSymbols symbols = this->symbols();
  EXPECT_EQ(symbols.resolve(0xffffffff81000001), "a+0x1/0x40");
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), std::nullopt);

  write("kallsyms",
        "ffffffff81000000 T a\nffffffff81000040 D d\n"
        "ffffffffc0001000 t b\t[m]\nffffffffc0001010 d e\t[m]\n");
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), std::nullopt) << "no module has been loaded since";
  write("modules", "m 16384 0 - Live 0xffffffffc0001000\n");
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), "b+0x4/0x10 [m]");
  EXPECT_EQ(symbols.reason(), "");
}

TEST_F(KernelSymbolsTest, LookForNewModulesAtALimitedRate) {
  write("kallsyms", "ffffffff81000000 T a\nffffffff81000040 D d\n");
  KernelSymbols symbols = this->symbols(60'000);
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), std::nullopt);
  write("kallsyms", "ffffffffc0001000 t b\t[m]\nffffffffc0001010 d e\t[m]\n");
  write("modules", "m 16384 0 - Live 0xffffffffc0001000\n");
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), std::nullopt);
}

TEST_F(KernelSymbolsTest, AreReadFromManyLines) {
  std::string text;
  for (uint64_t i = 0; i < 50'000; i++)
    text += fmt::format("{:x} t function_number_{}\n", 0xffffffff81000000 + i * 16, i);
  write("kallsyms", text);
  KernelSymbols symbols = this->symbols();
  for (uint64_t i = 0; i < 50'000 - 1; i += 7)
    ASSERT_EQ(symbols.resolve(0xffffffff81000000 + i * 16 + 5),
              fmt::format("function_number_{}+0x5/0x10", i));
}

TEST_F(KernelSymbolsTest, ReportThatTheKernelHidesThem) {
  write("kallsyms", "0000000000000000 T a\n0000000000000000 t b\n");
  KernelSymbols symbols = this->symbols();
  EXPECT_EQ(symbols.resolve(0xffffffff81000000), std::nullopt);
  EXPECT_THAT(symbols.reason(), HasSubstr("kptr_restrict"));
}

TEST_F(KernelSymbolsTest, CountDefinitionsOfAFunction) {
  write("kallsyms",
        "ffffffff81000000 t twice\nffffffff81000040 t once\nffffffff81000080 t twice\n"
        "ffffffffc0001000 t twice\t[m]\nffffffffc0001010 t only_m\t[m]\n");
  KernelSymbols symbols = this->symbols();
  EXPECT_EQ(symbols.function("", "once")->address, 0xffffffff81000040);
  EXPECT_EQ(symbols.function("m", "twice")->address, 0xffffffffc0001000);
  auto twice = symbols.function("", "twice");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ExitCode::usage);
  EXPECT_THAT(twice.error().message,
              StartsWith("symbol twice is defined 3 times: give an address or MOD:"));
  EXPECT_EQ(symbols.functions("", "twice")->size(), 3U);
}

TEST_F(KernelSymbolsTest, SuggestSimilarNames) {
  write("kallsyms", "ffffffff81000000 t vfs_read\nffffffff81000040 t vfs_write\n");
  KernelSymbols symbols = this->symbols();
  EXPECT_THAT(symbols.function("", "vfs_raed").error().message,
              HasSubstr("unknown kernel function 'vfs_raed'; did you mean 'vfs_read"));
  write("modules", "ext4 16384 0 - Live 0xffffffffc0001000\n");
  EXPECT_THAT(symbols.function("ext4", "vfs_read").error().message,
              HasSubstr("the kernel module ext4: unknown function 'vfs_read'"));
}

TEST_F(KernelSymbolsTest, FindFunctionsOfAModuleLoadedLater) {
  write("kallsyms", "ffffffff81000000 t a\n");
  write("modules", "");
  KernelSymbols symbols = this->symbols(60'000);
  EXPECT_FALSE(symbols.function("", "b"));
  write("kallsyms", "ffffffff81000000 t a\nffffffffc0001000 t b\t[m]\n");
  write("modules", "m 16384 0 - Live 0xffffffffc0001000\n");
  EXPECT_EQ(symbols.function("", "b")->module, "m");
}

TEST_F(KernelSymbolsTest, FindFunctionsAtTheirCurrentAddress) {
  write("kallsyms", "ffffffff81000000 t a\nffffffffc0001000 t b\t[m]\n");
  write("modules", "m 16384 0 - Live 0xffffffffc0001000\n");
  KernelSymbols symbols = this->symbols(60'000);
  EXPECT_EQ(symbols.function("m", "b")->address, 0xffffffffc0001000);
  write("kallsyms", "ffffffff81000000 t a\n");
  write("modules", "");
  EXPECT_EQ(symbols.resolve(0xffffffffc0001000), "b+0x0/0x1000 [m]")
      << "the name of an unloaded module stays";
  const auto gone = symbols.function("m", "b");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "the kernel module m is not loaded: load it (modprobe m)");
  write("kallsyms", "ffffffff81000000 t a\nffffffffc0005000 t b\t[m]\n");
  write("modules", "m 16384 0 - Live 0xffffffffc0005000\n");
  EXPECT_EQ(symbols.function("m", "b")->address, 0xffffffffc0005000);
}

// A module that is rebuilt and loaded again may get the same address.
TEST_F(KernelSymbolsTest, AreReadAgainWhenModuleChangesAreReported) {
  write("kallsyms", "ffffffffc0001000 t b\t[m]\nffffffffc0001010 d e\t[m]\n");
  write("modules", "m 16384 0 - Live 0xffffffffc0001000\n");
  KernelSymbols symbols = this->symbols(60'000);
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), "b+0x4/0x10 [m]");
  write("kallsyms", "ffffffffc0001000 t c\t[m]\nffffffffc0001010 d e\t[m]\n");
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), "b+0x4/0x10 [m]")
      << "the change of modules was not reported";
  symbols.refresh();
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004), "c+0x4/0x10 [m]");
  write("kallsyms", "ffffffffc0001000 t d\t[m]\nffffffffc0001010 d e\t[m]\n");
  symbols.refresh();
  EXPECT_TRUE(symbols.function("m", "d"));
}

TEST_F(KernelSymbolsTest, AreNotReadAgainWhenAModuleIsUsed) {
  write("kallsyms", "ffffffffc0001000 t b\t[m]\n");
  write("modules", "m 16384 0 - Live 0xffffffffc0001000\n");
  KernelSymbols symbols = this->symbols();
  ASSERT_TRUE(symbols.function("m", "b"));
  write("kallsyms", "");
  write("modules", "m 16384 1 n, Live 0xffffffffc0001000\n");
  EXPECT_TRUE(symbols.function("m", "b"));
}

TEST_F(KernelSymbolsTest, ResolveAddressesOfData) {
  write("kallsyms",
        "ffffffff81000000 T f\nffffffff82000000 D jiffies\nffffffff82000008 d jiffies_64\n"
        "ffffffffc0001000 d stats\t[m]\nffffffffc0002000 d stats\t[n]\n");
  KernelSymbols symbols = this->symbols();
  EXPECT_EQ(symbols.address_of("jiffies"), 0xffffffff82000000);
  EXPECT_EQ(symbols.address_of("n:stats"), 0xffffffffc0002000);
  EXPECT_THAT(symbols.address_of("stats").error().message, HasSubstr("is defined 2 times"));
  EXPECT_THAT(symbols.address_of("jiff").error().message, HasSubstr("no symbol jiff"));
}

TEST_F(KernelSymbolsTest, ReportAnUnreadableFile) {
  KernelSymbols symbols = this->symbols();
  EXPECT_EQ(symbols.resolve(0xffffffff81000000), std::nullopt);
  EXPECT_THAT(symbols.reason(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace ktraced

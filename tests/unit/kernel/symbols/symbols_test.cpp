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

namespace ktraced {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

// No list says that: a new address is looked for once.
TEST_F(KernelSymbolsTest, AreReadAgainForABpfProgramThatIsLoadedLater) {
  write("kallsyms", "ffffffff81000000 T a\nffffffff81000040 D d\n");
  write("modules", "");
  KernelSymbols symbols = this->symbols();
  EXPECT_EQ(symbols.resolve(0xffffffff81000001), "a+0x1/0x40");
  write("kallsyms",
        "ffffffff81000000 T a\nffffffff81000040 D d\n"
        "ffffffffc0001000 t bpf_prog_0123456789abcdef_sys_enter\t[bpf]\n"
        "ffffffffc0001010 d e\t[bpf]\n");
  EXPECT_EQ(symbols.resolve(0xffffffffc0001004),
            "bpf_prog_0123456789abcdef_sys_enter+0x4/0x10 [bpf]");
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

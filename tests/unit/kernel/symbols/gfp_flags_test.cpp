// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/gfp_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "schema/names.h"
#include "unit/kernel/probes/small_btf.h"

namespace ktraced {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The unmodified file of a 6.18 kernel.
std::string format_6_18() {
  std::ifstream file(KTRACED_SOURCE_DIR "/tests/unit/kernel/data/kmalloc_format_6.18.txt");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The enum of the same kernel's BTF.
SmallBtf btf_6_18() {
  SmallBtf btf;
  btf.constants({{"OTHER", 5}})
      .constants({
          {"___GFP_DMA_BIT", 0},
          {"___GFP_HIGHMEM_BIT", 1},
          {"___GFP_DMA32_BIT", 2},
          {"___GFP_MOVABLE_BIT", 3},
          {"___GFP_RECLAIMABLE_BIT", 4},
          {"___GFP_HIGH_BIT", 5},
          {"___GFP_IO_BIT", 6},
          {"___GFP_FS_BIT", 7},
          {"___GFP_ZERO_BIT", 8},
          {"___GFP_UNUSED_BIT", 9},
          {"___GFP_DIRECT_RECLAIM_BIT", 10},
          {"___GFP_KSWAPD_RECLAIM_BIT", 11},
          {"___GFP_WRITE_BIT", 12},
          {"___GFP_NOWARN_BIT", 13},
          {"___GFP_RETRY_MAYFAIL_BIT", 14},
          {"___GFP_NOFAIL_BIT", 15},
          {"___GFP_NORETRY_BIT", 16},
          {"___GFP_MEMALLOC_BIT", 17},
          {"___GFP_COMP_BIT", 18},
          {"___GFP_NOMEMALLOC_BIT", 19},
          {"___GFP_HARDWALL_BIT", 20},
          {"___GFP_THISNODE_BIT", 21},
          {"___GFP_ACCOUNT_BIT", 22},
          {"___GFP_ZEROTAGS_BIT", 23},
          {"___GFP_NO_OBJ_EXT_BIT", 24},
          {"___GFP_LAST_BIT", 25},
      });
  return btf;
}

// Writes each "((((1UL))) << (N))" of the format in another way.
template <class Replace>
std::string with_bits_written(std::string text, Replace&& replace) {
  static const std::regex shift(R"(\(\(\(\(1UL\)\)\) << \((\d+)\)\))");
  std::string result;
  std::smatch match;
  while (std::regex_search(text, match, shift)) {
    result += match.prefix();
    result += replace(std::stoi(match[1]));
    text = match.suffix();
  }
  return result + text;
}

TEST(GfpFormat, IsParsedAsTheKernelWritesIt) {
  auto flags = gfp_flags_from_format(format_6_18(), {});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(flags->size(), 38U);
  EXPECT_EQ(flags->front(), (FlagName{0x1c24ca, "GFP_TRANSHUGE"}));
  EXPECT_EQ(flags->back(), (FlagName{1 << 24, "__GFP_NO_OBJ_EXT"}));
  EXPECT_THAT(*flags, Contains(FlagName{0xcc0, "GFP_KERNEL"}));
  EXPECT_THAT(*flags, Contains(FlagName{0x820, "GFP_ATOMIC"}));
  EXPECT_EQ(gfp_names(0xdc0, *flags), "GFP_KERNEL|__GFP_ZERO");
  EXPECT_EQ(gfp_names(0x2800, *flags), "GFP_NOWAIT");
  EXPECT_EQ(gfp_names(0x92800, *flags), "GFP_NOWAIT|__GFP_NORETRY|__GFP_NOMEMALLOC");
}

TEST(GfpFormat, IsParsedWithNumbers) {
  std::string format =
      with_bits_written(format_6_18(), [](int bit) { return fmt::format("{:#x}u", 1U << bit); });
  ASSERT_THAT(format, HasSubstr("( gfp_t)0x40u"));
  auto flags = gfp_flags_from_format(format, {});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(*flags, *gfp_flags_from_format(format_6_18(), {}));
}

TEST(GfpFormat, IsParsedWithNamesOfBits) {
  Constants bits = gfp_bits(btf_6_18().get());
  std::string format = with_bits_written(format_6_18(), [&bits](int bit) {
    for (const auto& [name, value] : bits)
      if (value == static_cast<uint64_t>(bit)) return fmt::format("((((1UL))) << ({}))", name);
    return std::string("?");
  });
  ASSERT_THAT(format, HasSubstr("<< (___GFP_IO_BIT)"));
  auto flags = gfp_flags_from_format(format, bits);
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(*flags, *gfp_flags_from_format(format_6_18(), {}));

  auto without = gfp_flags_from_format(format, {});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ExitCode::data);
}

TEST(GfpFormat, IsAnErrorWithoutATable) {
  for (const char* format : {"", "print fmt: \"x\"", "__print_flags(REC->gfp_flags, \"|\", )",
                             "__print_flags(REC->gfp_flags, \"|\", {1, \"A\""})
    EXPECT_FALSE(gfp_flags_from_format(format, {})) << format;
}

TEST(GfpBits, GiveTheSameTableAsTheFormat) {
  SmallBtf btf = btf_6_18();
  EXPECT_EQ(gfp_flags_from_bits(gfp_bits(btf.get())), *gfp_flags_from_format(format_6_18(), {}));
}

TEST(GfpBits, MissingInBtfGiveNoTable) {
  SmallBtf btf;
  btf.constants({{"OTHER", 5}});
  EXPECT_THAT(gfp_bits(btf.get()), IsEmpty());
  EXPECT_THAT(gfp_flags_from_bits({}), IsEmpty());
}

TEST(GfpBits, IncludeOptionalBitsWhereTheyExist) {
  Constants bits = gfp_bits(btf_6_18().get());
  bits["___GFP_SKIP_KASAN_BIT"] = 25;
  EXPECT_THAT(gfp_flags_from_bits(bits), Contains(FlagName{0x2100cca, "GFP_HIGHUSER_MOVABLE"}));
}

}  // namespace
}  // namespace ktraced

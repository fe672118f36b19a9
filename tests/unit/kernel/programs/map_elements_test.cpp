// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/map_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Entry {
  u64 number = 0;  // n + 1
  u64 value = 0;
};

std::vector<uint64_t> kept(const std::array<Entry, 4>& history, uint64_t end) {
  std::vector<uint64_t> values;
  for_each_kept(std::span<const Entry>(history), end,
                [&](const Entry& entry) { values.push_back(entry.value); });
  return values;
}

TEST(History, HasItsEntriesFromTheOldestOn) {
  EXPECT_THAT(kept({}, 0), IsEmpty());
  EXPECT_THAT(kept({{{1, 10}, {2, 11}}}, 2), ElementsAre(10, 11));
  EXPECT_THAT(kept({{{5, 14}, {6, 15}, {3, 12}, {4, 13}}}, 6), ElementsAre(12, 13, 14, 15));
}

TEST(History, IsWithoutEntriesThatAreBeingWrittenOrAreOverwritten) {
  EXPECT_THAT(kept({{{5, 14}, {0, 15}, {3, 12}, {4, 13}}}, 6), ElementsAre(12, 13, 14));
  EXPECT_THAT(kept({{{5, 14}, {6, 15}, {7, 16}, {4, 13}}}, 6), ElementsAre(13, 14, 15))
      << "since its end was read";
}

}  // namespace
}  // namespace ktraced

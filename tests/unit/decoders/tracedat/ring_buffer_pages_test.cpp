// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/tracedat/ring_buffer_pages.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ktraced::test {
namespace {

constexpr uint64_t kCommitMask = (1 << 27) - 1;

template <class Integer>
Integer native_at(const std::string& bytes, size_t at) {
  Integer value{};
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// The word before an event: its type in the lower 5 bits, the time since the last one above.
uint32_t event_word(uint32_t type, uint32_t delta) { return type | delta << 5; }

TEST(RingBufferPages, HoldsEventsWithTheTimeBetweenThem) {
  RingBufferPages pages;
  pages.add(1000, "12345678");
  pages.add(1007, "abcde");
  EXPECT_TRUE(pages.out().empty());
  pages.finish();
  const std::string& page = pages.out();
  ASSERT_EQ(page.size(), RingBufferPages::kPageBytes);
  EXPECT_EQ(native_at<uint64_t>(page, 0), 1000U);
  EXPECT_EQ(native_at<uint64_t>(page, 8), 4U + 8 + 4 + 8);
  EXPECT_EQ(native_at<uint32_t>(page, 16), event_word(2, 0));
  EXPECT_EQ(page.substr(20, 8), "12345678");
  EXPECT_EQ(native_at<uint32_t>(page, 28), event_word(2, 7));
  EXPECT_EQ(page.substr(32, 8), std::string("abcde\0\0\0", 8));
}

TEST(RingBufferPages, ExtendsLongTimesAndLongEvents) {
  RingBufferPages pages;
  constexpr uint64_t kLater = uint64_t{5} << 27 | 9;
  pages.add(1, "1234");
  pages.add(1 + kLater, std::string(116, 'x'));
  pages.finish();
  const std::string& page = pages.out();
  EXPECT_EQ(native_at<uint32_t>(page, 24), event_word(30, 9));
  EXPECT_EQ(native_at<uint32_t>(page, 28), 5U);
  EXPECT_EQ(native_at<uint32_t>(page, 32), event_word(0, 0));
  EXPECT_EQ(native_at<uint32_t>(page, 36), 116U + 4);
  EXPECT_EQ(page.substr(40, 116), std::string(116, 'x'));
}

TEST(RingBufferPages, BeginsAPageWhereEventsAreMissing) {
  RingBufferPages pages;
  pages.add(1, "1234");
  pages.lose(3);
  pages.lose(4);
  EXPECT_TRUE(pages.ends_with_loss());
  pages.add(2, "5678");
  EXPECT_FALSE(pages.ends_with_loss());
  pages.finish();
  ASSERT_EQ(pages.out().size(), 2 * RingBufferPages::kPageBytes);
  EXPECT_EQ(native_at<uint64_t>(pages.out(), 8), 8U);
  const size_t second = RingBufferPages::kPageBytes;
  EXPECT_EQ(native_at<uint64_t>(pages.out(), second), 2U);
  EXPECT_EQ(native_at<uint64_t>(pages.out(), second + 8), 8U | 1U << 31 | 1U << 30);
  EXPECT_EQ(native_at<uint64_t>(pages.out(), second + 16 + 8), 7U);
}

TEST(RingBufferPages, BeginsAPageWhenOneIsFullOrTimeGoesBack) {
  RingBufferPages pages;
  pages.lose(1);
  for (int i = 0; i < 3; ++i) pages.add(1000, std::string(RingBufferPages::kMaxEvent, 'x'));
  pages.add(999, "1234");
  pages.add(uint64_t{1} << 60, "1234");
  pages.add(uint64_t{1} << 60, std::string(RingBufferPages::kMaxEvent + 1, 'x'));  // refused
  pages.finish();
  pages.finish();
  ASSERT_EQ(pages.out().size(), 5 * RingBufferPages::kPageBytes);
  for (const size_t page : {0U, 1U, 2U, 3U, 4U}) {
    const size_t at = page * RingBufferPages::kPageBytes;
    EXPECT_EQ(native_at<uint64_t>(pages.out(), at), page < 3    ? 1000
                                                    : page == 3 ? 999
                                                                : uint64_t{1} << 60);
    EXPECT_LE(native_at<uint64_t>(pages.out(), at + 8) & kCommitMask,
              RingBufferPages::kPageBytes - RingBufferPages::kHeaderBytes);
  }
}

}  // namespace
}  // namespace ktraced::test

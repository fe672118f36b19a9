// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/crash_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CrashLosses : public testing::Test {
 protected:
  // Two events of CPU 0 and one of CPU 1, which has lost four.
  std::string unfinished_trace() {
    const auto path = directory_.path() / "stream-1";
    auto free_at = [](uint64_t ts) { return test::make_record(EVENT_kfree, ts, 8, rec_kfree{}); };
    test::begin_trace(path, {.packets = {{.cpu = 0, .records = {free_at(10), free_at(11)}},
                                         {.cpu = 1,
                                          .records = {free_at(12)},
                                          .lost = {{.count = 4, .event_id = EVENT_kfree}}}}})
        ->keep_unfinished();
    return path;
  }
  // As read of CPU 0 and of CPU 1.
  static StreamAccount::Unwritten read(std::string trace, uint64_t first, uint64_t second) {
    StreamAccount::Unwritten unwritten{.trace = std::move(trace), .counts = {}};
    unwritten.counts.assign(2, std::vector<uint64_t>(EVENT_ID_MAX));
    unwritten.counts[0][EVENT_kfree] = first;
    unwritten.counts[1][EVENT_kfree] = second;
    return unwritten;
  }
  static Lost kfree(uint64_t count) { return {.count = count, .event_id = EVENT_kfree}; }

  test::TempDirectory directory_;
};

TEST_F(CrashLosses, AreTheEventsMissingFromTheTrace) {
  const auto lost = crash_losses(read(unfinished_trace(), 9, 5));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->size(), 1U) << "records and losses of CPU 1 are five";
  EXPECT_THAT(lost->at(0), ElementsAre(kfree(7)));
}

TEST_F(CrashLosses, AreZeroIfEverythingWasWritten) {
  const auto lost = crash_losses(read(unfinished_trace(), 2, 5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(*lost, IsEmpty());
}

TEST_F(CrashLosses, AreNotTheWholeRecordsOfATruncatedPacket) {
  const std::string trace = unfinished_trace();
  const std::filesystem::path file = trace + ".partial/ctf/cpu0";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const auto lost = crash_losses(read(trace, 2, 5));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->at(0), ElementsAre(kfree(1)));
}

TEST_F(CrashLosses, AreAllEventsIfNoTraceWasBegun) {
  const auto lost = crash_losses(read("", 3, 0));
  ASSERT_TRUE(lost);
  EXPECT_THAT(lost->at(0), ElementsAre(kfree(3)));
}

TEST_F(CrashLosses, AreUnknownIfTheTraceIsGoneOrHoldsMoreThanWasRead) {
  EXPECT_FALSE(crash_losses(read(directory_.path() / "gone", 3, 0)));
  EXPECT_FALSE(crash_losses(read(unfinished_trace(), 1, 5)));
}

}  // namespace
}  // namespace ktraced

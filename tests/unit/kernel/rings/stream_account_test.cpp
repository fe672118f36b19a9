// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/stream_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "base/fd.h"
#include "base/mapping.h"

namespace ktraced {
namespace {

constexpr uint16_t kNear = 1;
constexpr uint16_t kFar = 2000;  // its counts lie some pages behind those of kNear
constexpr size_t kPage = 4096;

// Accounts of daemons that follow each other, in memory that outlives them.
class StreamAccountTest : public testing::Test {
 protected:
  StreamAccount next_daemon() { return {*traces_, {cpu(), 1}}; }
  StreamCpuEntry* cpu() const { return reinterpret_cast<StreamCpuEntry*>(memory_.data()); }
  void clear() {
    *traces_ = {};
    *cpu() = {};
  }
  static std::optional<StreamAccount::Unwritten> resume(StreamAccount& account, uint64_t position) {
    return account.resume({{0, position}}, reported);
  }
  static uint64_t reported(uint32_t, uint16_t) { return 0; }

  static Mapping map() {
    constexpr size_t kBytes = (sizeof(StreamCpuEntry) + kPage - 1) / kPage * kPage;
    const Fd file(::memfd_create("account", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(file.get(), kBytes), 0);
    return Mapping::map(file.get(), kBytes, PROT_READ | PROT_WRITE).value();
  }

  std::unique_ptr<StreamEntry> traces_ = std::make_unique<StreamEntry>();
  // Pages of its own, which can be made unwritable, and which a killed daemon shares.
  Mapping memory_ = map();
};

TEST_F(StreamAccountTest, ResumesWithWhatWasTakenUpToTheLastCommit) {
  StreamAccount account = next_daemon();
  resume(account, 0);
  account.begin(reported, {});
  for (int i = 0; i < 3; ++i) account.take(0, kNear);
  account.commit(0, 96);
  account.take(0, kNear);
  StreamAccount next = next_daemon();
  const auto unwritten = resume(next, 96);
  ASSERT_TRUE(unwritten);
  EXPECT_EQ(unwritten->trace, "");
  EXPECT_EQ(unwritten->counts[0][kNear], 3U);
}

// The second of them is killed while it copies the counts of a slot.
TEST_F(StreamAccountTest, IgnoresAHalfWrittenSlotAfterTwoCommitsAtOnePosition) {
  for (int commits = 1; commits <= 4; ++commits) {
    clear();
    StreamAccount account = next_daemon();
    resume(account, 0);
    account.begin(reported, {});
    for (int i = 0; i < 3; ++i) account.take(0, kNear);
    for (int i = 0; i < commits; ++i) account.commit(0, 96);
    account.take(0, kNear);
    account.take(0, kFar);
    // Of slot 0 the page with the counts of events around 1000, then the same of slot 1.
    EXPECT_DEATH(
        {
          ::mprotect(memory_.data() + 2 * kPage, kPage, PROT_READ);
          ::mprotect(memory_.data() + 6 * kPage, kPage, PROT_READ);
          account.commit(0, 192);
        },
        "");
    StreamAccount next = next_daemon();
    const auto unwritten = resume(next, 96);
    ASSERT_TRUE(unwritten) << commits;
    EXPECT_EQ(unwritten->counts[0][kNear], 3U) << commits;
    EXPECT_EQ(unwritten->counts[0][kFar], 0U) << commits;
  }
}

TEST_F(StreamAccountTest, IsUnknownAfterGivingUpAlsoWhileATraceBegins) {
  for (int round = 0; round < 200; ++round) {
    StreamAccount account = next_daemon();
    resume(account, 0);
    account.begin(reported, {});
    const uint64_t generation = account.generation();
    std::thread writer([&] { account.begin_trace(generation, "/trace"); });
    account.give_up();
    writer.join();
    StreamAccount next = next_daemon();
    ASSERT_FALSE(resume(next, 0));
  }
}

TEST_F(StreamAccountTest, CountsNoTraceOfASeriesThatHasEnded) {
  StreamAccount account = next_daemon();
  resume(account, 0);
  account.begin(reported, {});
  const uint64_t ended = account.generation();
  account.begin_trace(ended, "/first");
  account.take(0, kNear);
  account.commit(0, 32);
  account.begin(reported, {});
  account.begin_trace(ended, "/second");
  {
    StreamAccount next = next_daemon();
    EXPECT_FALSE(resume(next, 32));
  }
  account.end(ended);
  account.take(0, kNear);
  account.commit(0, 64);
  StreamAccount next = next_daemon();
  const auto unwritten = resume(next, 64);
  ASSERT_TRUE(unwritten);
  EXPECT_EQ(unwritten->trace, "");
  EXPECT_EQ(unwritten->counts[0][kNear], 1U);
}

}  // namespace
}  // namespace ktraced

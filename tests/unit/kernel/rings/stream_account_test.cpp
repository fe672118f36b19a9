// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/stream_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/mapping.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

constexpr uint16_t kNear = 1;
constexpr uint16_t kFar = 2000;  // its counts lie some pages behind those of kNear
constexpr size_t kPage = 4096, kCpus = 2;

Lost lost(uint16_t event, uint64_t count) { return {.count = count, .event_id = event}; }

// Accounts of daemons that follow each other, in memory that outlives them.
class StreamAccountTest : public testing::Test {
 protected:
  StreamAccount next_daemon() {
    return {*traces_, cpus(), [this](uint32_t cpu, uint16_t event) {
              return cpu == 0 && event == kNear ? reported_ : 0;
            }};
  }
  std::span<StreamCpuEntry> cpus() const {
    return {reinterpret_cast<StreamCpuEntry*>(memory_.data()), kCpus};
  }
  void clear() {
    *traces_ = {};
    std::ranges::fill(cpus(), StreamCpuEntry());
  }
  static std::optional<LostByCpu> resume(StreamAccount& account, uint64_t position) {
    return account.resume({{0, position}});
  }

  static Mapping map() {
    constexpr size_t kBytes = (kCpus * sizeof(StreamCpuEntry) + kPage - 1) / kPage * kPage;
    const Fd file(::memfd_create("account", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(file.get(), kBytes), 0);
    return Mapping::map(file.get(), kBytes, PROT_READ | PROT_WRITE).value();
  }

  std::unique_ptr<StreamEntry> traces_ = std::make_unique<StreamEntry>();
  // Pages of its own, which can be made unwritable, and which a killed daemon shares.
  Mapping memory_ = map();
  uint64_t reported_ = 0;  // drops of kNear on CPU 0
};

TEST_F(StreamAccountTest, ResumesWithWhatWasTakenUpToTheLastCommit) {
  StreamAccount account = next_daemon();
  resume(account, 0);
  account.begin({});
  for (int i = 0; i < 3; ++i) account.take(0, kNear);
  account.commit(0, 96);
  account.take(0, kNear);
  StreamAccount next = next_daemon();
  EXPECT_THAT(resume(next, 96), Optional(ElementsAre(Pair(0U, ElementsAre(lost(kNear, 3))))));
}

TEST_F(StreamAccountTest, CountsDropsThatWereReportedSinceTheStreamBegan) {
  reported_ = 10;
  StreamAccount account = next_daemon();
  resume(account, 0);
  account.begin({});
  reported_ += 4;
  account.take(0, kNear);
  account.commit(0, 32);
  StreamAccount next = next_daemon();
  EXPECT_THAT(resume(next, 32), Optional(ElementsAre(Pair(0U, ElementsAre(lost(kNear, 5))))));
}

TEST_F(StreamAccountTest, KeepsTheLossesOfACrashUntilATraceHasThem) {
  StreamAccount account = next_daemon();
  resume(account, 0);
  account.begin({{0, {lost(kNear, 6)}}});
  StreamAccount next = next_daemon();
  EXPECT_THAT(resume(next, 0), Optional(ElementsAre(Pair(0U, ElementsAre(lost(kNear, 6))))));
}

// The second of them is killed while it copies the counts of a slot.
TEST_F(StreamAccountTest, IgnoresAHalfWrittenSlotAfterTwoCommitsAtOnePosition) {
  for (int commits = 1; commits <= 4; ++commits) {
    clear();
    StreamAccount account = next_daemon();
    resume(account, 0);
    account.begin({});
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
    EXPECT_THAT(resume(next, 96), Optional(ElementsAre(Pair(0U, ElementsAre(lost(kNear, 3))))))
        << commits;
  }
}

TEST_F(StreamAccountTest, IsUnknownAfterGivingUpAlsoWhileATraceBegins) {
  for (int round = 0; round < 200; ++round) {
    StreamAccount account = next_daemon();
    resume(account, 0);
    account.begin({});
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
  account.begin({});
  const uint64_t ended = account.generation();
  account.begin_trace(ended, "/first");
  account.take(0, kNear);
  account.commit(0, 32);
  account.begin({});
  account.begin_trace(ended, "/second");
  {
    StreamAccount next = next_daemon();
    EXPECT_FALSE(resume(next, 32));
  }
  account.end(ended);
  account.take(0, kNear);
  account.commit(0, 64);
  StreamAccount next = next_daemon();
  EXPECT_THAT(resume(next, 64), Optional(ElementsAre(Pair(0U, ElementsAre(lost(kNear, 1))))));
}

// The account of a daemon that was killed while it wrote a trace.
class CrashLosses : public StreamAccountTest {
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
  // What the next daemon finds: the killed one has read so many of CPU 0 and of CPU 1. Without
  // `trace` it had begun none.
  std::optional<LostByCpu> losses(const std::string& trace, uint64_t first, uint64_t second) {
    StreamAccount account = next_daemon();
    resume(account, 0);
    account.begin({});
    if (!trace.empty()) account.begin_trace(account.generation(), trace);
    for (uint64_t i = 0; i < first; ++i) account.take(0, EVENT_kfree);
    for (uint64_t i = 0; i < second; ++i) account.take(1, EVENT_kfree);
    for (const uint32_t cpu : {0U, 1U}) account.commit(cpu, 96);
    StreamAccount next = next_daemon();
    return next.resume({{0, 96}, {1, 96}});
  }

  test::TempDirectory directory_;
};

TEST_F(CrashLosses, AreTheEventsMissingFromTheTrace) {
  EXPECT_THAT(losses(unfinished_trace(), 9, 5),
              Optional(ElementsAre(Pair(0U, ElementsAre(lost(EVENT_kfree, 7))))))
      << "records and losses of CPU 1 are five";
}

TEST_F(CrashLosses, AreZeroIfEverythingWasWritten) {
  EXPECT_THAT(losses(unfinished_trace(), 2, 5), Optional(IsEmpty()));
}

TEST_F(CrashLosses, AreNotTheWholeRecordsOfATruncatedPacket) {
  const std::string trace = unfinished_trace();
  const std::filesystem::path file = trace + ".partial/ctf/cpu0";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_THAT(losses(trace, 2, 5),
              Optional(ElementsAre(Pair(0U, ElementsAre(lost(EVENT_kfree, 1))))));
}

TEST_F(CrashLosses, AreAllEventsIfNoTraceWasBegun) {
  EXPECT_THAT(losses("", 3, 0), Optional(ElementsAre(Pair(0U, ElementsAre(lost(EVENT_kfree, 3))))));
}

TEST_F(CrashLosses, AreUnknownIfTheTraceIsGone) {
  EXPECT_FALSE(losses(directory_.path() / "gone", 3, 0));
}

TEST_F(CrashLosses, AreUnknownIfTheTraceHoldsMoreThanWasRead) {
  EXPECT_FALSE(losses(unfinished_trace(), 1, 5));
}

}  // namespace
}  // namespace ktraced

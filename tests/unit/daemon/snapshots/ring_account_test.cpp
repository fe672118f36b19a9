// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/ring_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bpf/shared_state.h"

namespace ktraced {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr uint16_t kFixed = 10, kText = 7;
constexpr uint32_t kFixedBytes = 48, kTextBytes = 24;

class RingAccountTest : public testing::Test {
 protected:
  RingAccountTest() : written(EVENT_ID_MAX) {
    schema.add({.id = kFixed, .name = "kmalloc", .fields = {}, .size = kFixedBytes});
    schema.add({.id = kText,
                .name = "exec",
                .fields = {{.name = "filename", .offset = kTextBytes, .size = 1, .count = 0}},
                .size = kTextBytes});
  }
  // `in_trace` fixed records were found of the counted ones.
  std::vector<std::string> settled(uint64_t counted, uint64_t in_trace, uint64_t capacity,
                                   bool intact = true) {
    written[kFixed] = counted;
    account.events["kmalloc"].records = in_trace;
    return balance(schema,
                   {.capacity = capacity,
                    .written = written,
                    .written_bytes = counted * kFixedBytes,
                    .found_bytes = in_trace * kFixedBytes,
                    .intact = intact},
                   account);
  }

  Schema schema;
  std::vector<uint64_t> written;
  CpuAccount account{.cpu = 3, .events = {}};
};

TEST_F(RingAccountTest, HasNoLossesInARingThatIsNotFull) {
  EXPECT_THAT(settled(100, 100, 1U << 20), IsEmpty());
  EXPECT_EQ(account.total(), (EventAccount{.records = 100}));
}

TEST_F(RingAccountTest, CountsMissingRecordsOfAFullRingAsOverwritten) {
  EXPECT_THAT(settled(1000, 85, 4096), IsEmpty());
  EXPECT_EQ(account.events["kmalloc"], (EventAccount{.records = 85, .overwritten = 915}));
}

TEST_F(RingAccountTest, ReportsAnEventWhoseRecordsAreAllOverwritten) {
  written[kText] = 2;
  account.events["kmalloc"].records = 10;
  written[kFixed] = 10;
  EXPECT_THAT(
      balance(
          schema,
          {.capacity = 480, .written = written, .written_bytes = 480 + 2 * 40, .found_bytes = 480},
          account),
      IsEmpty());
  EXPECT_EQ(account.events["exec"], (EventAccount{.overwritten = 2}));
}

TEST_F(RingAccountTest, ReportsRecordsMissingWithoutOverwriting) {
  EXPECT_THAT(settled(100, 99, 1U << 20),
              ElementsAre("CPU 3: 1 kmalloc records are missing, though nothing was overwritten"));
}

TEST_F(RingAccountTest, ReportsMoreRecordsThanCounted) {
  auto problems = settled(100, 101, 1U << 20);
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems.front(), "CPU 3: 101 kmalloc records where 100 were counted");
}

TEST_F(RingAccountTest, ReportsDamage) {
  EXPECT_THAT(settled(1000, 50, 4096, false),
              ElementsAre("CPU 3: damaged bytes in the flight ring end its history early"));
}

TEST_F(RingAccountTest, ReportsBytesThatCountersDoNotExplain) {
  written[kFixed] = 1000;
  account.events["kmalloc"].records = 85;
  auto problems = balance(schema,
                          {.capacity = 4096,
                           .written = written,
                           .written_bytes = 1000 * kFixedBytes + 8,
                           .found_bytes = 85 * kFixedBytes},
                          account);
  EXPECT_THAT(problems,
              ElementsAre("CPU 3: 43928 bytes were overwritten, but the counters say 43920"));
}

TEST_F(RingAccountTest, AcceptsAnyPossibleSizeOfRecordsWithText) {
  for (auto [bytes, good] : {std::pair{2 * 24, true},
                             {2 * RECORD_MAX, true},
                             {2 * 24 - 8, false},
                             {2 * RECORD_MAX + 8, false}}) {
    CpuAccount empty{.cpu = 0, .events = {}};
    written[kText] = 2;
    auto problems = balance(schema,
                            {.capacity = 8,
                             .written = written,
                             .written_bytes = static_cast<uint64_t>(bytes),
                             .found_bytes = 0},
                            empty);
    EXPECT_EQ(problems.empty(), good) << bytes;
  }
}

// Each of two records may have the numbers of stacks at its end.
TEST_F(RingAccountTest, AcceptsAnyNumberOfRecordsWithStacks) {
  constexpr uint64_t kNumbers = sizeof(stack_numbers), kStack = sizeof(rec_stack);
  for (auto [bytes, good] :
       {std::pair{2 * kFixedBytes + kStack, true},
        {2 * (kFixedBytes + kNumbers) + kStack + STACK_DEPTH_MAX * 8, true},
        {2 * kFixedBytes + kStack - 8, false},
        {2 * (kFixedBytes + kNumbers) + kStack + STACK_DEPTH_MAX * 8 + 8, false}}) {
    CpuAccount empty{.cpu = 0, .events = {}};
    written[kFixed] = 2;
    written[RECORD_STACK] = 1;
    auto problems = balance(
        schema, {.capacity = 8, .written = written, .written_bytes = bytes, .found_bytes = 0},
        empty);
    EXPECT_EQ(problems.empty(), good) << bytes;
    EXPECT_EQ(empty.events["stack"], (EventAccount{.overwritten = 1}));
  }
}

TEST_F(RingAccountTest, CountsMappingsAndFilesOfStacks) {
  CpuAccount empty{.cpu = 0, .events = {}};
  written[RECORD_MAPPING] = 3;
  written[RECORD_FILE] = 1;
  constexpr uint64_t kBytes = 3 * sizeof(rec_mapping) + sizeof(rec_file) + 16;
  EXPECT_TRUE(
      balance(schema,
              {.capacity = 8, .written = written, .written_bytes = kBytes, .found_bytes = 0}, empty)
          .empty());
  EXPECT_EQ(empty.events["mapping"], (EventAccount{.overwritten = 3}));
  EXPECT_EQ(empty.events["file"], (EventAccount{.overwritten = 1}));
}

json config_with(std::vector<std::string> events, const char* state = "running") {
  return {{"events", std::move(events)}, {"state", state}};
}

// The ring of CPU 1 was overwritten up to 2000, when its trace begins.
Manifest manifest_with(json config, const std::vector<std::pair<uint64_t, json>>& changes) {
  Manifest manifest;
  manifest.begin_ns = 2000;
  manifest.end_ns = 3000;
  manifest.cpus = {{.cpu = 1,
                    .first_ns = 2000,
                    .last_ns = 3000,
                    .events = {{"kfree", {.records = 5, .overwritten = 7}}}}};
  manifest.missed = {{"kfree", 1}, {"kmalloc", 2}};
  for (const auto& [ns, later] : changes)
    config["changes"].push_back({{"ns", ns}, {"config", later}});
  manifest.config = std::move(config);
  return manifest;
}

TEST(RestrictToWindow, RemovesConfigsFromBeforeTheTraceAndMissedHitsOfEventsThatWereOff) {
  Manifest manifest =
      manifest_with(config_with({"kmalloc"}), {{1000, config_with({"kmalloc", "kfree"})},
                                               {2000, config_with({"kfree"})},
                                               {2001, config_with({})}});
  restrict_to_window(manifest);
  json expected = config_with({"kfree"});
  expected["changes"] = json::array({{{"ns", 2001}, {"config", config_with({})}}});
  EXPECT_EQ(manifest.config, expected);
  EXPECT_THAT(manifest.missed, ElementsAre(Pair("kfree", 1)));
}

TEST(RestrictToWindow, KeepsMissedHitsOfEventsThatWereOnInAPartOfTheTrace) {
  const json before = config_with({"kmalloc"}), later = config_with({"kfree"});
  Manifest manifest = manifest_with(before, {{2500, later}});
  const json config = manifest.config;
  restrict_to_window(manifest);
  EXPECT_EQ(manifest.config, config);
  EXPECT_THAT(manifest.missed, ElementsAre(Pair("kfree", 1), Pair("kmalloc", 2)));
}

TEST(RestrictToWindow, CountsNothingAsTracedDuringAPause) {
  Manifest manifest = manifest_with(
      config_with({"kfree", "kmalloc"}),
      {{1500, config_with({"kfree", "kmalloc"}, "paused")}, {2500, config_with({"kfree"})}});
  restrict_to_window(manifest);
  EXPECT_THAT(manifest.missed, ElementsAre(Pair("kfree", 1)));
  manifest = manifest_with(config_with({"kfree", "kmalloc"}, "paused"), {});
  restrict_to_window(manifest);
  EXPECT_THAT(manifest.missed, IsEmpty());
}

TEST(RestrictToWindow, KeepsMissedHitsWhereItIsNotKnownWhatWasTraced) {
  Manifest manifest = manifest_with(json::object(), {{2500, config_with({})}});
  restrict_to_window(manifest);
  EXPECT_THAT(manifest.missed, ElementsAre(Pair("kfree", 1), Pair("kmalloc", 2)));
}

// The other CPU has older records: the trace begins with them.
TEST(RestrictToWindow, BeginsWithTheOldestRecordOfAllCpus) {
  Manifest manifest = manifest_with(config_with({"kmalloc"}),
                                    {{1000, config_with({"exec"})}, {1900, config_with({})}});
  manifest.cpus.push_back({.cpu = 2, .first_ns = 1500, .last_ns = 2500, .events = {}});
  restrict_to_window(manifest);
  json expected = config_with({"exec"});
  expected["changes"] = json::array({{{"ns", 1900}, {"config", config_with({})}}});
  EXPECT_EQ(manifest.config, expected);
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// A store with traces that are made to harm readers.
#include "daemon/snapshots/snapshot_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/control/output_json.h"
#include "daemon/output/retention.h"
#include "unit/support/hostile_files.h"
#include "unit/support/no_descriptors.h"
#include "unit/support/trace_directory.h"
#include "unit/support/uneven_snapshot.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SnapshotListTest : public ::testing::Test {
 protected:
  fs::path directory_of(const std::string& name) const {
    fs::create_directories(store_.path_of(name) / "ctf");
    return store_.path_of(name);
  }
  void add(const std::string& name, std::string_view manifest) const {
    write_file(directory_of(name) / "manifest.json", manifest);
  }
  // The reason why the snapshot with this name is incomplete.
  std::string reason(const nlohmann::json& entries, const std::string& name) const {
    for (const nlohmann::json& entry : entries)
      if (entry["name"] == name) return entry["incomplete_because"].dump();
    return "not listed";
  }

  TempDirectory root_;
  TraceStore store_{root_.path()};
  nlohmann::json good_ = empty_manifest(test_origin());
  SnapshotList list_;
};

TEST_F(SnapshotListTest, ListsBadSnapshotsWithReasonsAndOthersNormally) {
  add("good", good_.dump());
  std::map<std::string, std::string> flaws;  // by name
  for (const auto& [flaw, content] : bad_manifests(good_)) {
    flaws[fmt::format("bad-{}", flaws.size())] = flaw;
    add(fmt::format("bad-{}", flaws.size() - 1), content);
  }
  for (const WrongKind& kind : wrong_kinds()) {
    const std::string name = "kind-" + std::to_string(flaws.size());
    kind.make(directory_of(name) / "manifest.json");
    flaws[name] = fmt::format("manifest.json is {}, not a regular file", kind.called);
  }
  const nlohmann::json entries = snapshots_json(list_.entries(store_).value());
  EXPECT_EQ(entries.size(), flaws.size() + 1);
  for (const auto& [name, flaw] : flaws) EXPECT_THAT(reason(entries, name), HasSubstr(flaw));
  EXPECT_EQ(reason(entries, "good"), "[]");
  EXPECT_EQ(list_.sum(store_).value().count, flaws.size() + 1);
  for (const auto& [name, flaw] : flaws) EXPECT_TRUE(remove_snapshot(store_, name)) << flaw;
  EXPECT_EQ(list_.entries(store_).value().size(), 1U);
}

TEST_F(SnapshotListTest, ShortensLongTextsOfManifests) {
  nlohmann::json manifest = good_;
  manifest["reason"] = std::string(1'000'000, 'r');
  manifest["incomplete_because"] = std::vector<std::string>(10'000, "lost");
  manifest["complete"] = false;
  manifest["config"] = nlohmann::json::array_t(100'000, "x");
  add("long", manifest.dump());
  const nlohmann::json entries = snapshots_json(list_.entries(store_).value());
  EXPECT_LT(entries.dump().size(), 10'000U);
  EXPECT_THAT(reason(entries, "long"), HasSubstr("and 9968 more reasons"));
}

TEST_F(SnapshotListTest, CountsSnapshotsWithDamagedManifestsForRetention) {
  nlohmann::json manifest = good_;
  manifest.erase("complete");
  add("a", manifest.dump());
  add("b", good_.dump());
  const Enforced done = enforce(store_, {.max_count = 1, .max_bytes = UINT64_MAX}, "b");
  ASSERT_EQ(done.evicted.size(), 1U);
  EXPECT_EQ(done.evicted[0].name, "a");
}

TEST_F(SnapshotListTest, HasTheWindowOfAllCpusAndHowFarTheFirstReachesBack) {
  write_uneven_snapshot(store_.path_of("uneven"));
  add("good", good_.dump());
  for (const nlohmann::json& entry : snapshots_json(list_.entries(store_).value())) {
    if (entry["name"] == "good") {
      EXPECT_FALSE(entry["window"].contains("furthest_ns"));
      continue;
    }
    EXPECT_EQ(entry["window"],
              (nlohmann::json{
                  {"begin_ns", 5 * kSecond}, {"end_ns", 6 * kSecond}, {"furthest_ns", kSecond}}));
    EXPECT_EQ(entry["begin_ns"], 5 * kSecond);
  }
}

TEST_F(SnapshotListTest, ShowsWhichSnapshotsAreKept) {
  for (const char* name : {"a", "b"}) add(name, good_.dump());
  EXPECT_EQ(list_.sum(store_).value().kept, 0U);
  EXPECT_TRUE(keep_snapshot(store_, "b", true));
  nlohmann::json entries = snapshots_json(list_.entries(store_).value());
  for (const nlohmann::json& entry : entries) EXPECT_EQ(entry["kept"], entry["name"] == "b");
  EXPECT_EQ(list_.sum(store_).value().kept, 1U);
  EXPECT_TRUE(keep_snapshot(store_, "b", false));
  entries = snapshots_json(list_.entries(store_).value());
  for (const nlohmann::json& entry : entries) EXPECT_EQ(entry["kept"], false);
}

TEST_F(SnapshotListTest, ShowsThePreviousSnapshotWhileItExists) {
  const auto taken = [&](uint64_t begin_ns, uint64_t end_ns, const char* previous) {
    nlohmann::json manifest = good_;
    manifest.update({{"begin_ns", begin_ns}, {"end_ns", end_ns}});
    if (*previous != '\0') manifest["previous"] = previous;
    return manifest.dump();
  };
  add("a", taken(10, 20, ""));
  add("b", taken(20, 30, "a"));
  const auto previous = [&] {
    std::map<std::string, nlohmann::json> by_name;
    for (const nlohmann::json& entry : snapshots_json(list_.entries(store_).value()))
      by_name[entry["name"]] = entry["previous"];
    return by_name;
  };
  EXPECT_EQ(previous()["a"], nullptr);
  EXPECT_EQ(previous()["b"], "a");
  const auto found = find_snapshot(store_, test_origin().boot_id, 20).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "a");
  EXPECT_EQ(found->summary.manifest.begin_ns, 10U);
  EXPECT_FALSE(find_snapshot(store_, test_origin().boot_id, 25).value());
  EXPECT_FALSE(find_snapshot(store_, "another boot", 20).value());
  EXPECT_TRUE(remove_snapshot(store_, "a"));
  EXPECT_EQ(previous()["b"], nullptr);
  add("a", taken(30, 40, "b"));
  EXPECT_EQ(previous()["b"], nullptr) << "another one has that name now";
  EXPECT_EQ(previous()["a"], "b");
}

TEST_F(SnapshotListTest, ThePreviousSnapshotEndsWhereTheRingsBecameEmptyInTheSameBoot) {
  nlohmann::json manifest = good_;
  manifest.update({{"begin_ns", 10}, {"end_ns", 20}});
  add("a", manifest.dump());
  manifest["boot_id"] = "another boot";
  add("other", manifest.dump());
  manifest = good_;
  manifest.update({{"begin_ns", 25}, {"since_ns", 20}, {"end_ns", 30}, {"previous", "a"}});
  add("b", manifest.dump());
  manifest["previous"] = "other";
  add("c", manifest.dump());
  std::map<std::string, nlohmann::json> previous;
  for (const nlohmann::json& entry : snapshots_json(list_.entries(store_).value()))
    previous[entry["name"]] = entry["previous"];
  EXPECT_EQ(previous["b"], "a");
  EXPECT_EQ(previous["c"], nullptr);
}

TEST_F(SnapshotListTest, CountsASnapshotAndTheOneBeforeItAsOne) {
  const auto first = [&](const nlohmann::json& because) {
    nlohmann::json manifest = good_;
    manifest.update({{"begin_ns", 10'000},
                     {"end_ns", 20'000},
                     {"complete", because.empty()},
                     {"incomplete_because", because}});
    add("a", manifest.dump());
  };
  first(nlohmann::json::array());
  SnapshotSummary second{.records = 7,
                         .previous = "a",
                         .window = {.begin_ns = 20'000, .end_ns = 30'000, .furthest_ns = 20'000},
                         .incomplete_because = {}};
  const auto both = [&](const std::optional<StoredSnapshot>& previous) {
    return with_previous(store_, "b", second, previous);
  };
  const auto stored = [&] { return find_snapshot(store_, test_origin().boot_id, 20'000).value(); };
  auto pair = both(stored());
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->previous, store_.path_of("a"));
  EXPECT_EQ(pair->show,
            "ktracectl show " + store_.path_of("a").string() + " " + store_.path_of("b").string());
  EXPECT_EQ(pair->records, 7U);
  EXPECT_EQ(pair->begin_ns, 10'000U);
  EXPECT_EQ(pair->end_ns, 30'000U);
  EXPECT_TRUE(pair->incomplete_because.empty());
  second.incomplete_because = {"lost"};
  second.window.begin_ns = 25'000;
  first({"torn"});
  const auto torn = stored();
  EXPECT_THAT(both(torn)->incomplete_because,
              ::testing::ElementsAre("a: torn",
                                     "some CPUs have overwritten what came between them, from "
                                     "0.000020 to 0.000025 s",
                                     "b: lost"));
  second.previous.clear();
  EXPECT_FALSE(both(torn)) << "there is a hole between them";
  second.previous = "a";
  EXPECT_FALSE(both(std::nullopt));
  EXPECT_TRUE(remove_snapshot(store_, "a"));
  EXPECT_FALSE(both(torn)) << "retention has removed it";
}

TEST_F(SnapshotListTest, KnowsWhichSnapshotWasWrittenLast) {
  EXPECT_FALSE(list_.sum(store_).value().last);
  nlohmann::json manifest = good_;
  manifest.update({{"begin_ns", 20}, {"end_ns", 30}});
  add("only", manifest.dump());
  const auto last = list_.sum(store_).value().last;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->name, "only");
  EXPECT_EQ(last->begin_ns, 20U);
  EXPECT_EQ(last->end_ns, 30U);
}

TEST_F(SnapshotListTest, RemovesAKeptSnapshotOnlyAfterUndo) {
  add("a", good_.dump());
  EXPECT_TRUE(keep_snapshot(store_, "a", true));
  const auto removed = remove_snapshot(store_, "a");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ExitCode::usage);
  EXPECT_THAT(removed.error().message, HasSubstr("'ktracectl snapshot keep --undo a'"));
  EXPECT_TRUE(keep_snapshot(store_, "a", false));
  EXPECT_TRUE(remove_snapshot(store_, "a"));
}

TEST_F(SnapshotListTest, KeepsSnapshotsOnly) {
  nlohmann::json recording = good_;
  recording["kind"] = "recording";
  add("recording", recording.dump());
  add("damaged", "{");
  fs::create_directory_symlink(store_.path_of("damaged"), store_.path_of("link"));
  for (const char* name : {"recording", "missing", "link", "../x", ".", ""}) {
    const auto kept = keep_snapshot(store_, name, true);
    ASSERT_FALSE(kept) << name;
    EXPECT_EQ(kept.error().code, ExitCode::usage) << name;
  }
  EXPECT_TRUE(keep_snapshot(store_, "damaged", true));
}

TEST(SnapshotList, FailsToReadWhenNoDescriptorIsLeft) {
  const TraceStore store("/proc");
  SnapshotList list;
  const NoDescriptors none;
  expect_no_descriptors(store.list());
  expect_no_descriptors(store.list_unfinished(""));
  expect_no_descriptors(list.entries(store));
  expect_no_descriptors(list.sum(store));
  expect_no_descriptors(find_snapshot(store, "boot", 1));
}

}  // namespace
}  // namespace ktraced::test

// SPDX-License-Identifier: BSD-2-Clause
// A store with traces that are made to harm readers.
#include "daemon/snapshots/snapshot_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/hostile_files.h"
#include "unit/support/no_descriptors.h"
#include "unit/support/trace_directory.h"

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
  const nlohmann::json entries = list_.entries(store_).value();
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
  const nlohmann::json entries = list_.entries(store_).value();
  EXPECT_LT(entries.dump().size(), 10'000U);
  EXPECT_THAT(reason(entries, "long"), HasSubstr("and 9968 more reasons"));
}

TEST_F(SnapshotListTest, CountsSnapshotsWithDamagedManifestsForRetention) {
  nlohmann::json manifest = good_;
  manifest.erase("complete");
  add("a", manifest.dump());
  add("b", good_.dump());
  EXPECT_EQ(store_.enforce({.max_count = 1, .max_bytes = UINT64_MAX}, "b"),
            std::vector<std::string>{"a"});
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

// SPDX-License-Identifier: BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctl/commands/commands.h"
#include "unit/ctl/live/fake_daemon.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TracePaths : public ::testing::Test {
 protected:
  TracePaths() { fs::create_directories(store() / "incident"); }
  [[nodiscard]] fs::path store() const { return directory_.path() / "store"; }

  TempDirectory directory_;
};

TEST_F(TracePaths, KeepsPathsUnchanged) {
  const std::string path = store() / "incident", missing = "./incident";
  EXPECT_THAT(*trace_paths({path, missing}, "", "/nowhere"), ElementsAre(path, missing));
}

TEST_F(TracePaths, FindsASnapshotByNameInTheDirectoryGiven) {
  EXPECT_THAT(*trace_paths({"incident"}, store(), "/nowhere"),
              ElementsAre((store() / "incident").string()));
  const auto missing = trace_paths({"other"}, store(), "/nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ExitCode::data);
  EXPECT_EQ(missing.error().message,
            "unknown trace directory or snapshot 'other'; 'ktracectl snapshot list' lists the "
            "snapshots in " +
                store().string());
}

TEST_F(TracePaths, SuggestsASnapshotWithANearName) {
  const auto missing = trace_paths({"incidnt"}, store(), "/nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "unknown trace directory or snapshot 'incidnt'; did you mean 'incident'?");
}

TEST_F(TracePaths, NamesAnArchiveOfTheTraceThatIsMissing) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_.path());
  write_file("other.tar.zst", "");
  const auto missing = trace_paths({"other"}, store(), "/nowhere");
  EXPECT_THAT(*trace_paths({"other.tar.zst"}, store(), "/nowhere"), ElementsAre("other.tar.zst"));
  fs::current_path(before);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("; there is an archive, other.tar.zst"));
}

TEST_F(TracePaths, ReportsThatTheDirectoryGivenIsMissing) {
  const auto missing = trace_paths({"incident"}, "/nonexistent", "/nowhere");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "--directory /nonexistent: there is no such directory");
}

TEST_F(TracePaths, GetsTheSnapshotDirectoryFromTheDaemon) {
  FakeDaemon daemon([&](Peer& peer) {
    peer.answer([&](const json&) {
      return json{{"result", {{"flight", {{"directory", store().string()}}}}}};
    });
  });
  EXPECT_THAT(*trace_paths({"incident"}, "", daemon.socket()),
              ElementsAre((store() / "incident").string()));
}

TEST_F(TracePaths, ReportsAnUnknownName) {
  const auto paths = trace_paths({"incident"}, "", "/nowhere");
  ASSERT_FALSE(paths);
  EXPECT_THAT(paths.error().message, HasSubstr("no trace directory incident"));
  EXPECT_THAT(paths.error().message, HasSubstr("--directory"));
}

}  // namespace
}  // namespace ktraced::test

// SPDX-License-Identifier: BSD-2-Clause
// A directory of snapshots with entries that are made to harm readers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "harness/client/daemon.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BadSnapshots : public testing::Test {
 protected:
  // A copy of a good snapshot, to damage.
  [[nodiscard]] fs::path copy(const std::string& name) const {
    fs::copy(store_ / "good", store_ / name, fs::copy_options::recursive);
    return store_ / name;
  }
  void write_manifest(const std::string& name, const std::string& text) const {
    std::ofstream(copy(name) / "manifest.json", std::ios::trunc) << text;
  }
  [[nodiscard]] static json manifest_at(const fs::path& trace) {
    return json::parse(std::ifstream(trace / "manifest.json"));
  }
  void make_bad_ones() const {
    write_manifest("deep", std::string(300'000, '[') + std::string(300'000, ']'));
    json manifest = manifest_at(store_ / "good");
    json cpu = manifest["cpus"][0];
    cpu["events"] = json::object();
    manifest["cpus"] = json::array_t(70'000, cpu);
    write_manifest("cpus", manifest.dump());
    manifest = manifest_at(store_ / "good");
    manifest.erase("complete");
    write_manifest("member", manifest.dump());
    write_manifest("empty", "");
    fs::remove(copy("fifo") / "manifest.json");
    ::mkfifo((store_ / "fifo/manifest.json").c_str(), 0644);
    fs::remove(copy("zero") / "manifest.json");
    fs::create_symlink("/dev/zero", store_ / "zero/manifest.json");
    fs::remove(copy("directory") / "manifest.json");
    fs::create_directory(store_ / "directory/manifest.json");
  }

  Daemon daemon_{flight_config()};
  const fs::path store_ = daemon_.directory() / "snapshots";
  // The expected message for each.
  const std::map<std::string, std::string> flaws_ = {
      {"deep", "nests deeper than 64 levels"},
      {"cpus", "it has a list of more than 65536 entries"},
      {"member", "'complete' is missing"},
      {"empty", "it is not JSON"},
      {"fifo", "is a FIFO, not a regular file"},
      {"zero", "is a symbolic link, not a regular file"},
      {"directory", "is a directory, not a regular file"}};
};

TEST_F(BadSnapshots, AreListedWithReasonsWhileOthersWork) {
  daemon_.ctl_ok({"snapshot", "take", "good"});
  make_bad_ones();
  EXPECT_EQ(daemon_.call("status")["flight"]["snapshots"], flaws_.size() + 1);
  daemon_.ctl_ok({"status"});
  const json list = daemon_.call("snapshot.list");
  for (const json& snapshot : list["snapshots"]) {
    const std::string name = snapshot["name"];
    if (name != "good") {
      EXPECT_THAT(snapshot["incomplete_because"].dump(), HasSubstr(flaws_.at(name)));
    }
  }
  EXPECT_THAT(daemon_.ctl_ok({"snapshot", "list"}), HasSubstr("unreadable"));
  for (const auto& [name, flaw] : flaws_) {
    const Finished finished = daemon_.ctl({"show", name});
    EXPECT_EQ(finished.exit_code, 65) << name;
    EXPECT_THAT(finished.err, HasSubstr(flaw));
  }
  for (const Command& words :
       {Command{"report", "summary", "deep"}, {"export", "deep", "--to", "json", "-o", "-"}})
    EXPECT_EQ(daemon_.ctl(words).exit_code, 65);
  daemon_.ctl_ok({"snapshot", "take", "after"});
  EXPECT_THAT(daemon_.ctl_ok({"show", "after", "--count-only"}), HasSubstr("{"));
  daemon_.ctl_ok({"snapshot", "delete", "deep", "fifo", "zero"});
  EXPECT_FALSE(fs::exists(store_ / "fifo"));
  EXPECT_EQ(daemon_.call("status")["flight"]["snapshots"], flaws_.size() + 2 - 3);
}

}  // namespace
}  // namespace ktraced::live

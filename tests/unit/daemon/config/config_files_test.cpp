// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "daemon/config/config.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ConfigFiles : public testing::Test {
 protected:
  ConfigFiles() { write("k.json", R"({"stream": {"buffer_kb": 64, "total_mb": 7}})"); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((directory / name).parent_path());
    std::ofstream(directory / name) << text;
  }
  [[nodiscard]] Config good() const {
    auto config = load_config(file, {});
    EXPECT_TRUE(config) << config.error().message;
    return config.value_or(Config{});
  }
  [[nodiscard]] std::string bad() const {
    const auto config = load_config(file, {});
    EXPECT_FALSE(config);
    if (config) return "";
    EXPECT_EQ(config.error().code, ExitCode::config);
    return config.error().message;
  }

  const test::TempDirectory temporary;
  const fs::path directory = temporary.path();
  const fs::path file = directory / "k.json";
  const std::string drop_ins = directory / "k.conf.d/";
};

TEST_F(ConfigFiles, NeedNoDropIns) {
  EXPECT_EQ(good().stream.buffer_kb, 64U);
  EXPECT_TRUE(good().drop_ins.empty());
}

TEST_F(ConfigFiles, AreMergedKeyByKeyInTheOrderOfTheirNames) {
  write("k.conf.d/20-b.json", R"({"stream": {"buffer_kb": 256}, "control": {"admin_uids": [3]}})");
  write("k.conf.d/10-a.json", R"({"stream": {"buffer_kb": 128, "max_latency_ms": 5},
                                  "control": {"admin_uids": [1, 2]}})");
  const Config config = good();
  EXPECT_EQ(config.stream.buffer_kb, 256U);
  EXPECT_EQ(config.stream.max_latency_ms, 5U);
  EXPECT_EQ(config.stream.total_mb, 7U);
  EXPECT_THAT(config.control.admin_uids, ElementsAre(3));
  EXPECT_THAT(config.drop_ins, ElementsAre(drop_ins + "10-a.json", drop_ins + "20-b.json"));
}

TEST_F(ConfigFiles, ReturnToADefaultWithNull) {
  write("k.conf.d/a.json", R"({"stream": {"buffer_kb": null}})");
  EXPECT_EQ(good().stream.buffer_kb, StreamConfig{}.buffer_kb);
  EXPECT_EQ(good().stream.total_mb, 7U);
}

TEST_F(ConfigFiles, LeaveOutOtherNames) {
  for (const char* name : {"a.json~", "a.json.dpkg-old", ".a.json", "README"})
    write(std::string("k.conf.d/") + name, "no configuration");
  EXPECT_TRUE(good().drop_ins.empty());
}

TEST_F(ConfigFiles, HaveTheirOwnPlacesInProblems) {
  write("k.json", "{\n\"persist\": 1\n}");
  write("k.conf.d/a.json", "{\n\n\"flight\": {\n\"banks\": 99}\n}");
  write("k.conf.d/b.json", "[]");
  EXPECT_EQ(bad(), file.string() + ":2: persist: must be true or false, not a number\n" + drop_ins +
                       "a.json:4: flight.banks: must be from 2 to 8, not 99\n" + drop_ins +
                       "b.json:1: must be an object, not a list");
}

TEST_F(ConfigFiles, ReportTheSyntaxOfEachFile) {
  write("k.conf.d/a.json", "{");
  write("k.conf.d/b.json", "{\"log\": 1, \"log\": 2}");
  const std::string message = bad();
  EXPECT_THAT(message, HasSubstr(drop_ins + "a.json:1: not JSON"));
  EXPECT_THAT(message, HasSubstr(drop_ins + "b.json:1: log: is given twice, first in line 1"));
}

TEST_F(ConfigFiles, PlaceAMessageInTheFileThatHasTheValue) {
  write("k.conf.d/a.json", "{\n\"control\": {\"group\": \"x\"}}");
  EXPECT_EQ(with_place(file, "control.group: no"), drop_ins + "a.json:2: control.group: no");
  EXPECT_EQ(with_place(file, "stream.total_mb: no"), file.string() + ":1: stream.total_mb: no");
}

TEST_F(ConfigFiles, RefuseADropInThatIsNoFile) {
  fs::create_directories(drop_ins + "a.json");
  EXPECT_THAT(bad(), HasSubstr(drop_ins +
                               "a.json: it is not a regular file; repair or remove this drop-in"));
}

TEST_F(ConfigFiles, AreLimitedInNumber) {
  for (int i = 0; i <= 256; ++i) write(fmt::format("k.conf.d/{}.json", i), "{}");
  EXPECT_THAT(bad(), HasSubstr("has 257 files, at most 256 are read"));
}

}  // namespace
}  // namespace ktraced

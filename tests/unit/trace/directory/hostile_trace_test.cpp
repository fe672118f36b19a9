// SPDX-License-Identifier: BSD-2-Clause
// Trace directories made to harm a reader: one immediate error each.
#include <gmock/gmock.h>

#include "trace/directory/trace_reader.h"
#include "trace/metadata/name_table.h"
#include "unit/support/hostile_files.h"
#include "unit/trace/merge/history_fixture.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class HostileTrace : public HistoryTest {
 protected:
  Error error_with(const std::string& name, std::string_view content) {
    write_file(path_ / name, content);
    return error({path_});
  }

  const fs::path path_ = [this] {
    use_small_schema();
    return write("t", {.packets = two_cpus()});
  }();
};

TEST_F(HostileTrace, ReportsEveryFlawOfAManifestWithFileAndMember) {
  const auto good = nlohmann::json::parse(read_file(path_ / "manifest.json"));
  for (const auto& [problem, content] : bad_manifests(good)) {
    const Error error = error_with("manifest.json", content);
    EXPECT_EQ(error.code, ExitCode::data) << problem;
    EXPECT_THAT(error.message, AllOf(HasSubstr((path_ / "manifest.json").string()),
                                     HasSubstr(problem), HasSubstr("babeltrace2 reads")));
  }
  auto no_schema = good;
  no_schema.erase("schema");
  EXPECT_THAT(error_with("manifest.json", no_schema.dump()).message,
              HasSubstr("'schema' is missing"));
}

TEST_F(HostileTrace, RefusesASparseManifestBeforeReadingIt) {
  fs::resize_file(path_ / "manifest.json", uint64_t{1} << 40);
  EXPECT_THAT(error({path_}).message, HasSubstr("manifest.json is too large"));
}

TEST_F(HostileTrace, RefusesANonRegularManifestWithoutWaiting) {
  for (const WrongKind& kind : wrong_kinds()) {
    fs::remove_all(path_ / "manifest.json");
    kind.make(path_ / "manifest.json");
    const Error refused = error({path_});
    EXPECT_EQ(refused.code, ExitCode::data);
    EXPECT_THAT(refused.message,
                HasSubstr(fmt::format("manifest.json is {}, not a regular file", kind.called)));
  }
}

TEST_F(HostileTrace, NonRegularFilesAffectOnlyThemselves) {
  for (const char* name : {"tasks.json", "caches.json", "symbols.json", "ctf/cpu1"})
    for (const WrongKind& kind : wrong_kinds()) {
      const std::string whole = read_file(path_ / name);
      fs::remove(path_ / name);
      kind.make(path_ / name);
      Outcome outcome = read({path_});
      ASSERT_FALSE(outcome.verdict) << name;
      EXPECT_THAT(outcome.verdict.error().message,
                  HasSubstr(fmt::format("{} is {}", (path_ / name).string(), kind.called)));
      EXPECT_THAT(outcome.notes.text_, HasSubstr("0:10"));
      fs::remove_all(path_ / name);
      write_file(path_ / name, whole);
    }
}

TEST_F(HostileTrace, DoesNotReadPacketsThroughALink) {
  fs::rename(path_ / "ctf", path_ / "elsewhere");
  fs::create_directory_symlink(path_ / "elsewhere", path_ / "ctf");
  EXPECT_THAT(error({path_}).message, HasSubstr("ctf is not a directory"));
}

TEST_F(HostileTrace, FollowsALinkToATraceGivenByTheUser) {
  fs::create_directory_symlink(path_, directory_.path() / "link");
  EXPECT_EQ(text({directory_.path() / "link"}), kTwoCpus);
}

TEST_F(HostileTrace, DeeplyNestedNamesAffectOnlyNames) {
  for (const std::string& content : {nested(300'000), "{\"tasks\":" + nested(300'000) + "}",
                                     "{\"tasks\":[{\"comm\":" + nested(300'000) + "}]}"}) {
    write_file(path_ / "tasks.json", content);
    Outcome outcome = read({path_});
    EXPECT_EQ(outcome.notes.text_, kTwoCpus);
    ASSERT_FALSE(outcome.verdict);
    EXPECT_THAT(outcome.verdict.error().message,
                HasSubstr("tasks.json is damaged: it nests deeper than 8 levels"));
  }
}

TEST_F(HostileTrace, RefusesAnEntryOfManyValues) {
  std::string many = "0";
  for (int i = 0; i < 5000; ++i) many += ",0";
  write_file(path_ / "tasks.json", "{\"tasks\":[[" + many + "]]}");
  EXPECT_THAT(error({path_}).message, HasSubstr("tasks.json is too large"));
}

TEST_F(HostileTrace, MoreNamesThanAWriterWritesAffectOnlyNames) {
  std::string caches = R"({"caches":[{"cache":"0x1","name":"first"})";
  for (size_t i = 0; i < NameTable::kMaxCaches; ++i) caches += R"(,{"cache":"0x2","name":"more"})";
  const std::map<std::string, std::string> cases{
      {"caches.json", caches},
      {"tasks.json", R"({"tasks":[{"comm":")" + std::string(5000, 'x')},
      {"symbols.json", R"({"symbols":{")" + std::string(5000, 'x')}};
  for (const auto& [name, content] : cases) {
    const std::string whole = read_file(path_ / name);
    write_file(path_ / name, content);
    Outcome outcome = read({path_});
    EXPECT_EQ(outcome.notes.text_, kTwoCpus) << name;
    ASSERT_FALSE(outcome.verdict) << name;
    EXPECT_THAT(outcome.verdict.error().message,
                HasSubstr((path_ / name).string() + " is too large: it has a "));
    write_file(path_ / name, whole);
  }
}

std::string task_entry(uint64_t since, uint32_t tid, uint32_t uid) {
  return fmt::format(R"({{"since_ns":{},"tid":{},"tgid":{},"uid":{},"start_ns":1,"comm":"x"}})",
                     since, tid, tid, uid);
}

// Moving all later names at each one would take hours.
TEST_F(HostileTrace, ReadsNamesOfOneThreadInDescendingOrder) {
  constexpr uint64_t kNames = 200'000;
  std::string tasks = R"({"tasks":[)";
  for (uint64_t i = kNames; i > 0; --i)
    tasks += task_entry(i, 7, static_cast<uint32_t>(i)) + (i == 1 ? "]}" : ",\n");
  write_file(path_ / "tasks.json", tasks);
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->damage().empty());
  ASSERT_NE(reader->names().task_at(7, 12345), nullptr);
  EXPECT_EQ(reader->names().task_at(7, 12345)->uid, 12345U);
}

TEST_F(HostileTrace, ThreadIdsThatNoKernelGivesEndTheNames) {
  write_file(path_ / "tasks.json", R"({"tasks":[)" + task_entry(1, 4194303, 1) + "," +
                                       task_entry(1, 4194304, 2) + "," + task_entry(1, 7, 3) +
                                       "]}");
  auto reader = TraceReader::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->damage().size(), 1U);
  EXPECT_THAT(reader->damage().front().message,
              HasSubstr("tasks.json is damaged: it has the thread id 4194304"));
  EXPECT_NE(reader->names().task_at(4194303, 1), nullptr);
  EXPECT_EQ(reader->names().task_at(7, 1), nullptr);
}

// Comparing all pairs of names would take minutes.
TEST_F(HostileTrace, ReadsAnEventOfManyFields) {
  auto manifest = nlohmann::json::parse(read_file(path_ / "manifest.json"));
  nlohmann::json fields = nlohmann::json::array();
  for (int i = 0; i < 60'000; ++i)
    fields.push_back({{"name", fmt::format("f{}", i)}, {"offset", 16}, {"size", 1}, {"count", 1}});
  manifest["schema"]["events"][0]["size"] = 32;
  manifest["schema"]["events"][0]["fields"] = fields;
  write_file(path_ / "manifest.json", manifest.dump());
  EXPECT_TRUE(History::open(std::vector{path_}));
}

}  // namespace
}  // namespace ktraced::test

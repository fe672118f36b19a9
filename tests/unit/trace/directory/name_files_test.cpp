// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/name_files.h"

#include <gtest/gtest.h>

#include "trace/directory/trace_reader.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

using test::TempDirectory;

TraceReader read_back(const std::filesystem::path& path) {
  auto reader = TraceReader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  EXPECT_TRUE(reader->damage().empty());
  return std::move(*reader);
}

class NameFiles : public testing::Test {
 protected:
  void write() {
    test::write_trace(trace_, {.schema = test::built_schema(),
                               .names = {test::task_in_cgroup(5, 100, 5, 11),
                                         test::task_name(6, 100, 6, "child", 1),
                                         test::task_of_parent(6, 100, "child", 5),
                                         test::task_of_parent(6, 200, "renamed", 5),
                                         test::cgroup_path(11, "/docker/a \"b\"\xff")}});
  }

  TempDirectory directory_;
  std::filesystem::path trace_ = directory_.path() / "trace";
};

TEST_F(NameFiles, HaveTheControlGroupsOfThreadsAndTheirPaths) {
  write();
  const TraceReader reader = read_back(trace_);
  EXPECT_EQ(reader.names().cgroup_at(5, 100), 11U);
  EXPECT_EQ(reader.names().cgroup_path(11), "/docker/a \"b\"\xff");
}

TEST_F(NameFiles, HaveTheParentsOfProcesses) {
  write();
  const TraceReader reader = read_back(trace_);
  EXPECT_EQ(reader.names().task_at(6, 100)->parent, 5U);
  EXPECT_EQ(reader.names().task_at(6, 200)->parent, 5U);
  EXPECT_EQ(reader.names().task_at(5, 100)->parent, 0U);
}

TEST_F(NameFiles, HaveTheCommandLinesOfProcesses) {
  const std::string hostile = "sh -c \"a\x1f\xff\x1b[31m\n";
  test::write_trace(trace_, {.schema = test::built_schema(),
                             .names = {test::command_line(5, 100, hostile, 20'000'000, 3)}});
  const TraceReader reader = read_back(trace_);
  const CommandLine* command = reader.names().command_of(5, 20'000'001);
  ASSERT_NE(command, nullptr);
  EXPECT_EQ(command->text, hostile);
  EXPECT_EQ(command->read_ns, 100U);
  EXPECT_EQ(command->parent, 3U);
  EXPECT_FALSE(command->cut);
}

TEST_F(NameFiles, OfEarlierVersionsHaveNoControlGroupsNoParentsAndNoCommandLines) {
  write();
  std::filesystem::remove(trace_ / kCgroupsFile);
  std::filesystem::remove(trace_ / kCommandsFile);
  test::write_file(trace_ / kTasksFile,
                   R"({"tasks":[
{"since_ns":100,"tid":5,"tgid":5,"uid":0,"start_ns":1,"comm":"task"}
]})");
  const TraceReader reader = read_back(trace_);
  EXPECT_EQ(reader.names().task_at(5, 100)->comm(), "task");
  EXPECT_EQ(reader.names().cgroup_at(5, 100), 0U);
  EXPECT_EQ(reader.names().task_at(5, 100)->parent, 0U);
}

TEST_F(NameFiles, AreReportedIfAParentIsNoNumber) {
  write();
  test::write_file(trace_ / kTasksFile,
                   R"({"tasks":[
{"since_ns":100,"tid":5,"tgid":5,"uid":0,"start_ns":1,"comm":"task","parent":"init"}
]})");
  auto reader = TraceReader::open(trace_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->damage().size(), 1U);
  EXPECT_NE(reader->damage()[0].message.find("entry 1 is invalid"), std::string::npos);
}

TEST_F(NameFiles, AreReportedIfTheParentOfACommandLineIsNoNumber) {
  write();
  test::write_file(trace_ / kCommandsFile, R"({"commands":[
{"read_ns":100,"pid":5,"start_ns":1,"text":"sh","parent":"init"}
]})");
  auto reader = TraceReader::open(trace_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->damage().size(), 1U);
  EXPECT_NE(reader->damage()[0].message.find("commands.json"), std::string::npos);
}

TEST_F(NameFiles, AreReportedIfTheirControlGroupsAreDamaged) {
  write();
  test::write_file(trace_ / kCgroupsFile, R"({"cgroups":[{"id":"eleven","path":"/"}]})");
  auto reader = TraceReader::open(trace_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->damage().size(), 1U);
  EXPECT_NE(reader->damage()[0].message.find("cgroups.json"), std::string::npos);
}

// A trace without stacks has no such file.
TEST_F(NameFiles, HaveTheMappedFilesOfStacks) {
  constexpr uint64_t kNumber = uint64_t{1} << 63;
  write();
  EXPECT_FALSE(std::filesystem::exists(trace_ / kFilesFile));
  EXPECT_TRUE(read_back(trace_).mapped_files().empty());

  const std::filesystem::path path = directory_.path() / "stacks";
  const rec_file head{.inode = 12, .changed = 1'700'000'000'123'456'789, .device = 0xfe00000};
  const rec_file lost{.flags = FILE_DELETED | FILE_CUT};
  const test::TraceSpec spec{
      .schema = test::built_schema(),
      .packets = {{.cpu = 0,
                   .records = {test::file_record_of(1, kNumber | 1, "/a \"\xff\n", head),
                               test::file_record_of(1, kNumber | 2, "b", lost)}}}};
  auto writer = test::begin_trace(path, spec);
  EXPECT_EQ(writer->mapped_files().size(), 2U);
  MappedFile file = writer->mapped_files().at(kNumber | 1);
  file.build_id = "0123456789abcdef";
  writer->add_file(file);
  test::check(writer->finish(test::manifest_of(*writer, spec), {}));
  EXPECT_EQ(read_back(path).mapped_files(),
            (std::vector<MappedFile>{
                {.number = kNumber | 1,
                 .path = "/a \"\xff\n",
                 .inode = 12,
                 .changed_ns = 1'700'000'000'123'456'789,
                 .device = 0xfe00000,
                 .build_id = "0123456789abcdef"},
                {.number = kNumber | 2, .path = "b", .deleted = true, .cut = true}}));
}

TEST_F(NameFiles, HaveTheFunctionsThatProcessesHaveMade) {
  const std::filesystem::path path = directory_.path() / "jit";
  const test::TraceSpec spec{
      .schema = test::built_schema(),
      .packets = {{.cpu = 0, .records = {test::mapping_record_of(1, {.start = 1, .end = 2})}}}};
  auto writer = test::begin_trace(path, spec);
  const ProcessId process{.tgid = 7, .start_ns = 1'000'000'000};
  const JitFunction late{.process = process, .address = 0x9000, .size = 16, .name = "b \"\xff"};
  const JitFunction early{.process = process, .address = 0x8000, .size = 8, .name = "a"};
  writer->add_jit_function(late);
  writer->add_jit_function(early);
  test::check(writer->finish(test::manifest_of(*writer, spec), {}));
  EXPECT_EQ(read_back(path).jit_functions(), (std::vector<JitFunction>{early, late}));
}

TEST_F(NameFiles, AreReportedIfTheFunctionsOfProcessesAreDamaged) {
  write();
  const auto damage = [&](const char* members) {
    test::write_file(trace_ / kJitFile,
                     fmt::format(R"({{"functions":[{{"tgid":1,"start_ns":2{}}}]}})", members));
    return TraceReader::open(trace_)->damage().size();
  };
  EXPECT_EQ(damage(R"(,"address":"0x1","size":3,"name":"a")"), 0U);
  EXPECT_EQ(damage(R"(,"address":"0x1","size":3)"), 1U);
  EXPECT_EQ(damage(R"(,"address":1,"size":3,"name":"a")"), 1U);
  EXPECT_EQ(damage(R"(,"address":"0x1","size":-3,"name":"a")"), 1U);
}

TEST_F(NameFiles, AreReportedIfTheirMappedFilesAreDamaged) {
  write();
  const auto damage = [&](const char* members) {
    test::write_file(
        trace_ / kFilesFile,
        fmt::format(R"({{"files":[{{"number":"0x8000000000000001","path":"/a","device":1,)"
                    R"("inode":2{}}}]}})",
                    members));
    return TraceReader::open(trace_)->damage().size();
  };
  EXPECT_EQ(damage(R"(,"changed_ns":3)"), 0U);
  EXPECT_EQ(damage(R"(,"changed_ns":3,"build_id":"00ff")"), 0U);
  EXPECT_EQ(damage(""), 1U);
  EXPECT_EQ(damage(R"(,"changed_ns":3,"build_id":"0")"), 1U);
  EXPECT_EQ(damage(R"(,"changed_ns":3,"build_id":"../0")"), 1U);
  EXPECT_EQ(damage(R"(,"changed_ns":3,"build_id":5)"), 1U);
}

}  // namespace
}  // namespace ktraced

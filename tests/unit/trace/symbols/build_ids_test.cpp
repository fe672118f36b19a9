// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/build_ids.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/files/proc_stat.h"
#include "base/files/read_file.h"
#include "trace/directory/trace_reader.h"
#include "trace/symbols/elf_file.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFileNumber = uint64_t{1} << 63;

// What the programs would record of a file.
MappedFile recorded(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return {.number = kFileNumber | status.st_ino,
          .path = path.string(),
          .inode = status.st_ino,
          .changed_ns = static_cast<uint64_t>(status.st_ctim.tv_sec) * 1'000'000'000 +
                        static_cast<uint64_t>(status.st_ctim.tv_nsec)};
}

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

std::string id_of_this_program() {
  auto elf = ElfFile::open(this_program());
  EXPECT_TRUE(elf);
  return elf->build_id();
}

TEST(ReadBuildId, FindsTheFileAtItsPath) {
  EXPECT_FALSE(id_of_this_program().empty());
  EXPECT_EQ(read_build_id(recorded(this_program()), 0), id_of_this_program());
}

TEST(ReadBuildId, RefusesAFileThatHasReplacedIt) {
  MappedFile file = recorded(this_program());
  file.inode += 1;
  EXPECT_EQ(read_build_id(file, 0), "");
  file = recorded(this_program());
  file.changed_ns -= 1;
  EXPECT_EQ(read_build_id(file, 0), "");
  EXPECT_EQ(read_build_id(file, static_cast<uint32_t>(::getpid())), "");
}

TEST(ReadBuildId, IsEmptyForOtherFiles) {
  const test::TempDirectory directory;
  test::write_file(directory.path() / "text", "#!/bin/sh\n");
  EXPECT_EQ(read_build_id(recorded(directory.path() / "text"), 0), "");
  EXPECT_EQ(read_build_id({.path = "/"}, 0), "");
  EXPECT_EQ(read_build_id({.path = directory.path() / "missing"}, 0), "");
  EXPECT_EQ(read_build_id({}, 0), "");
}

// inotify(7) reports each opening; old kernels also that of a path alone (O_PATH).
TEST(ReadBuildId, DoesNotOpenWhatIsInTheFilesPlace) {
  const test::TempDirectory directory;
  const fs::path path = directory.path() / "program", fifo = directory.path() / "fifo";
  fs::copy_file(this_program(), path);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  MappedFile file = recorded(path), at_fifo = recorded(fifo);
  const Fd openings(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(openings.get(), directory.path().c_str(), IN_OPEN), 0);
  const auto opened = [&] {
    char events[4096];
    return ::read(openings.get(), events, sizeof(events)) > 0;
  };
  Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const bool reports_paths = opened();
  EXPECT_EQ(read_build_id(at_fifo, 0), "");
  file.changed_ns -= 1;
  EXPECT_EQ(read_build_id(file, static_cast<uint32_t>(::getpid())), "");
  EXPECT_EQ(opened(), reports_paths);
  file.changed_ns += 1;
  EXPECT_EQ(read_build_id(file, 0), id_of_this_program());
  EXPECT_TRUE(opened());
}

// That takes CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
bool may_open_mapped_files() {
  for (const auto& entry : fs::directory_iterator("/proc/self/map_files"))
    if (const Fd file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC)); file) return true;
  return false;
}

TEST(ReadBuildId, FindsADeletedFileThroughTheProcessThatHasMappedIt) {
  const test::TempDirectory directory;
  const fs::path copy = directory.path() / "copy";
  fs::copy_file(this_program(), copy);
  const Fd fd(::open(copy.c_str(), O_RDONLY | O_CLOEXEC));
  constexpr size_t kSize = 4096;
  void* mapped = ::mmap(nullptr, kSize, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  fs::remove(copy);
  MappedFile file = recorded(fmt::format("/proc/self/fd/{}", fd.get()));
  file.path = copy.string();
  file.deleted = true;
  const std::string id = read_build_id(file, static_cast<uint32_t>(::getpid()));
  ::munmap(mapped, kSize);
  if (!may_open_mapped_files()) GTEST_SKIP() << "without the right to open mapped files";
  EXPECT_EQ(id, id_of_this_program());
}

// Reads that end when the test says so.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(BuildIds, ReadsEachFileOnce) {
  std::atomic<int> reads = 0;
  const BuildIds ids(
      [&](const MappedFile& file, uint32_t process) {
        ++reads;
        return fmt::format("{}-{}", file.inode, process);
      },
      {});
  EXPECT_FALSE(ids.find(kFileNumber | 1));
  ids.wait();
  for (int i = 0; i < 3; ++i) {
    ids.ask({.number = kFileNumber | 1, .inode = 5}, 7);
    ids.ask({.number = kFileNumber | 2, .inode = 6}, 8);
    ids.wait();
  }
  EXPECT_EQ(ids.find(kFileNumber | 1), "5-7");
  EXPECT_EQ(ids.find(kFileNumber | 2), "6-8");
  EXPECT_EQ(reads, 2);
}

TEST(BuildIds, GoOnWithoutAFileThatHangs) {
  const auto gate = std::make_shared<Gate>();
  const BuildIds ids(
      [gate](const MappedFile& file, uint32_t) {
        if (file.path == "hangs") gate->pass();
        return std::string("id");
      },
      {.hanging = 2,
       .patience = std::chrono::milliseconds(1),
       .for_all = std::chrono::seconds(60)});
  ids.ask({.number = kFileNumber | 1, .path = "hangs"}, 0);
  ids.ask({.number = kFileNumber | 2}, 0);
  ids.wait();
  EXPECT_FALSE(ids.find(kFileNumber | 1));
  while (!ids.find(kFileNumber | 2)) std::this_thread::yield();
  EXPECT_EQ(ids.find(kFileNumber | 2), "id");
  // Beyond the limit nothing else is read, and nobody waits.
  for (uint64_t i = 3; i < 6; ++i) ids.ask({.number = kFileNumber | i, .path = "hangs"}, 0);
  ids.ask({.number = kFileNumber | 6}, 0);
  ids.wait();
  EXPECT_FALSE(ids.find(kFileNumber | 6));
  gate->open();
}

// A thread that hung, and has gone on, counts no more.
TEST(BuildIds, GoOnAsOftenAsAFileHangsOnlyForAWhile) {
  const auto first = std::make_shared<Gate>(), second = std::make_shared<Gate>();
  const BuildIds ids(
      [first, second](const MappedFile& file, uint32_t) {
        if (file.path == "first") first->pass();
        if (file.path == "second") second->pass();
        return std::string("id");
      },
      {.hanging = 1,
       .patience = std::chrono::milliseconds(1),
       .for_all = std::chrono::seconds(60)});
  ids.ask({.number = kFileNumber | 1, .path = "first"}, 0);
  ids.ask({.number = kFileNumber | 2}, 0);
  while (!ids.find(kFileNumber | 2)) ids.wait();
  first->open();
  while (!ids.find(kFileNumber | 1)) std::this_thread::yield();
  ids.ask({.number = kFileNumber | 3, .path = "second"}, 0);
  ids.ask({.number = kFileNumber | 4}, 0);
  while (!ids.find(kFileNumber | 4)) ids.wait();
  EXPECT_FALSE(ids.find(kFileNumber | 3));
  second->open();
}

// The text of a perf map can take megabytes.
TEST(BuildIds, KeepNoResultThatNobodyTakesAnyMore) {
  const auto gate = std::make_shared<Gate>();
  const auto begun = std::make_shared<std::atomic<bool>>();
  const BuildIds ids;
  const uint64_t late = ids.ask([gate, begun] {
    *begun = true;
    gate->pass();
    return std::string("late");
  });
  const uint64_t queued = ids.ask([] { return std::string("queued"); });
  while (!*begun) std::this_thread::yield();
  EXPECT_FALSE(ids.take(late));
  EXPECT_FALSE(ids.take(queued));
  gate->open();
  const uint64_t last = ids.ask([] { return std::string("last"); });
  while (!ids.find(last)) std::this_thread::yield();
  EXPECT_FALSE(ids.find(late));
  EXPECT_FALSE(ids.find(queued));
}

TEST(BuildIds, MakeOtherReadsEachTime) {
  const BuildIds ids;
  int reads = 0;
  const auto read = [&] { return std::to_string(++reads); };
  const uint64_t first = ids.ask(read), second = ids.ask(read);
  while (!ids.find(second)) std::this_thread::yield();
  EXPECT_EQ(ids.take(first), "1");
  EXPECT_EQ(ids.take(second), "2");
  EXPECT_FALSE(ids.take(second));
  EXPECT_FALSE(ids.take(0));
}

// This process, as one that has made code, and says what it is.
class JitTrace : public ::testing::Test {
 protected:
  static constexpr uint64_t kStart = 0x7f0000001000, kShown = 0x123000, kSize = 0x2000;

  void SetUp() override {
    map_ = fmt::format("/tmp/perf-{}.map", ::getpid());
    const auto stat = read_file("/proc/self/stat", kProcBytesMax);
    start_ns_ = start_in_stat(stat.value_or("")).value();
  }
  void TearDown() override { fs::remove(map_); }

  // The functions in a trace that has code of this process at `start`.
  std::vector<JitFunction> functions(uint64_t start, const RealStart& real) {
    const auto pid = static_cast<uint32_t>(::getpid());
    rec_metadata_task task{.tgid = pid, .uid = ::getuid(), .start_time = start_ns_ + 1};
    const test::TraceSpec spec{
        .schema = test::built_schema(),
        .packets = {{.cpu = 0,
                     .records = {test::mapping_record_of(1, {.tgid = pid,
                                                             .process_start = start_ns_ + 1,
                                                             .start = start,
                                                             .end = start + kSize}),
                                 test::stack_record_of(
                                     1, {.number = 5,
                                         .kind = STACK_USER,
                                         .frames = {start + 0x10, start + 0x120, 0x400000}})}}},
        .names = {test::make_record(METADATA_task, 0, pid, task)}};
    const fs::path path = directory_.path() / "trace";
    auto writer = test::begin_trace(path, spec);
    constexpr std::chrono::hours kLong(1);
    problems_ = add_user_code(BuildIds(read_build_id, {.patience = kLong, .for_all = kLong}),
                              *writer, real);
    test::check(writer->finish(test::manifest_of(*writer, spec), {}));
    auto reader = TraceReader::open(path);
    EXPECT_TRUE(reader && reader->damage().empty());
    EXPECT_EQ(fs::exists(path / "jit.json"), !reader->jit_functions().empty());
    return reader->jit_functions();
  }
  [[nodiscard]] ProcessId process() const {
    return {.tgid = static_cast<uint32_t>(::getpid()), .start_ns = start_ns_ + 1};
  }

  const test::TempDirectory directory_;
  fs::path map_;
  uint64_t start_ns_ = 0;
  std::vector<std::string> problems_;  // of the last trace
};

TEST_F(JitTrace, HasTheNamesOfItsFrames) {
  test::write_file(map_,
                   "7f0000001000 20 first\n7f0000001020 20 unused\n7f0000001100 20 se \"cond\n"
                   "400000 100 elsewhere\n");
  EXPECT_EQ(
      functions(kStart, nullptr),
      (std::vector<JitFunction>{
          {.process = process(), .address = kStart, .size = 0x20, .name = "first"},
          {.process = process(), .address = kStart + 0x100, .size = 0x20, .name = "se \"cond"}}));
  EXPECT_TRUE(problems_.empty());
}

TEST_F(JitTrace, HasThemWhereAReaderSeesTheCode) {
  test::write_file(map_, "7f0000001000 20 first\n");
  const auto found = functions(kShown, [](uint64_t start) {
    return start == kShown ? std::optional(kStart) : std::nullopt;
  });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].address, kShown);
  EXPECT_NE(find_jit_function(found, process(), kShown + 0x10), nullptr);
}

// A file of 200 MB, which takes no room on the disk.
TEST_F(JitTrace, SaysWhyItHasNoNames) {
  test::write_file(map_, "7f0000001000 20 first\n");
  ASSERT_EQ(::truncate(map_.c_str(), 200'000'000), 0);
  EXPECT_TRUE(functions(kStart, nullptr).empty());
  ASSERT_EQ(problems_.size(), 1U);
  const std::string begin =
      fmt::format("functions that process {} has made have no names: its perf map cannot be used: ",
                  ::getpid());
  EXPECT_TRUE(problems_[0] == begin + "it has more than 128 MiB" ||
              problems_[0] == begin + "reading it takes longer than 500 ms")
      << problems_[0];
}

TEST_F(JitTrace, HasNoFunctionThatIsBeyondItsMapping) {
  test::write_file(map_, "7f0000000000 8000 all\n0 ffffffffffffffff everything\n");
  EXPECT_TRUE(functions(kStart, nullptr).empty());
}

TEST_F(JitTrace, HasNoneIfNoAddressIsKnown) {
  test::write_file(map_, "7f0000001000 20 first\n");
  EXPECT_TRUE(functions(kShown, [](uint64_t) { return std::nullopt; }).empty());
}

TEST(BuildIds, AreInTheTrace) {
  const test::TempDirectory directory;
  const fs::path path = directory.path() / "trace";
  const test::TraceSpec spec{
      .schema = test::built_schema(),
      .packets = {
          {.cpu = 0,
           .records = {test::file_record_of(1, kFileNumber | 1, "/a"),
                       test::mapping_record_of(1, {.tgid = 9, .end = 1, .file = kFileNumber | 1}),
                       test::file_record_of(1, kFileNumber | 2, "/b")}}}};
  auto writer = test::begin_trace(path, spec);
  const BuildIds ids(
      [](const MappedFile& file, uint32_t process) {
        return file.path == "/a" && process == 9 ? std::string("0a1b") : std::string();
      },
      {});
  EXPECT_TRUE(add_user_code(ids, *writer).empty());
  test::check(writer->finish(test::manifest_of(*writer, spec), {}));
  auto reader = TraceReader::open(path);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->mapped_files().size(), 2U);
  EXPECT_EQ(reader->mapped_files()[0].build_id, "0a1b");
  EXPECT_EQ(reader->mapped_files()[1].build_id, "");
}

}  // namespace
}  // namespace ktraced

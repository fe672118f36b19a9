// SPDX-License-Identifier: BSD-2-Clause
// Archives of traces: written, read as the directory is, and refused if they could do harm.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <random>

#include "ctl/archive/open_history.h"
#include "ctl/archive/pack.h"
#include "ctl/archive/unpack.h"
#include "ctl/commands/commands.h"
#include "ctl/terminal/new_file.h"
#include "ctl/terminal/spool_file.h"
#include "trace/directory/trace_files.h"
#include "unit/support/refusing_disk.h"
#include "unit/support/soft_limit.h"
#include "unit/trace/merge/history_fixture.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StrEq;

struct ArchiveEntry {
  std::string path;
  std::string content;
  mode_t type = AE_IFREG;
  std::string hard_link;
};

struct FreeWriter {
  void operator()(archive* writer) const { archive_write_free(writer); }
};

enum class ArchiveForm { tar, zst };

void write_archive(const fs::path& path, const std::vector<ArchiveEntry>& entries,
                   ArchiveForm form = ArchiveForm::tar) {
  fs::remove(path);
  const std::unique_ptr<archive, FreeWriter> writer(archive_write_new());
  archive_write_set_format_gnutar(writer.get());
  if (form == ArchiveForm::zst) archive_write_add_filter_zstd(writer.get());
  ASSERT_EQ(archive_write_open_filename(writer.get(), path.c_str()), ARCHIVE_OK);
  for (const ArchiveEntry& each : entries) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         &archive_entry_free);
    archive_entry_set_pathname(entry.get(), each.path.c_str());
    archive_entry_set_filetype(entry.get(), each.type);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), static_cast<int64_t>(each.content.size()));
    if (each.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), "/etc/passwd");
    if (!each.hard_link.empty()) archive_entry_set_hardlink(entry.get(), each.hard_link.c_str());
    ASSERT_EQ(archive_write_header(writer.get(), entry.get()), ARCHIVE_OK) << each.path;
    if (!each.content.empty())
      archive_write_data(writer.get(), each.content.data(), each.content.size());
  }
  ASSERT_EQ(archive_write_close(writer.get()), ARCHIVE_OK);
}

// An entry of a tar archive as bytes, for what no library writes. `fields`: of its header, by
// offset.
std::string raw_entry(std::string_view path, char type, std::string_view content,
                      const std::vector<std::pair<size_t, std::string>>& fields = {},
                      std::string_view magic = {"ustar  \0", 8}) {
  std::string header(512, '\0');
  const auto put = [&header](size_t at, std::string_view text) {
    header.replace(at, text.size(), text);
  };
  put(0, path);
  put(100, "0000644");
  put(124, fmt::format("{:011o}", content.size()));
  put(136, "00000000000");
  put(148, "        ");
  put(156, {&type, 1});
  put(257, magic);
  for (const auto& [at, text] : fields) put(at, text);
  const auto sum = std::accumulate(header.begin(), header.end(), 0U, [](unsigned before, char c) {
    return before + static_cast<unsigned char>(c);
  });
  put(148, fmt::format("{:06o}", sum));
  header[154] = '\0';
  header += content;
  return header + std::string((512 - content.size() % 512) % 512, '\0');
}

// A sparse file: its size, and the place of the one piece of it that is not a hole.
std::string raw_sparse_entry(std::string_view path, uint64_t size, uint64_t data_at,
                             std::string_view data) {
  return raw_entry(path, 'S', data,
                   {{386, fmt::format("{:011o}", data_at)},
                    {398, fmt::format("{:011o}", data.size())},
                    {483, fmt::format("{:011o}", size)}});
}

// A file with an extended header before it: a line "KEY=VALUE".
std::string raw_extended_entry(std::string_view path, std::string_view line,
                               std::string_view content) {
  constexpr std::string_view kPosix{
      "ustar\0"
      "00",
      8};
  const std::string text = fmt::format("{} {}\n", line.size() + 4, line);  // of two digits
  return raw_entry("x", 'x', text, {}, kPosix) + raw_entry(path, '0', content, {}, kPosix);
}

class TraceArchive : public HistoryTest {
 protected:
  TraceArchive() {
    fs::create_directory(temporary_);
    if (const char* before = std::getenv("TMPDIR")) tmpdir_ = before;
    ::setenv("TMPDIR", temporary_.c_str(), 1);
  }
  ~TraceArchive() override {
    EXPECT_TRUE(fs::is_empty(temporary_)) << "nothing is left of unpacked files";
    if (tmpdir_)
      ::setenv("TMPDIR", tmpdir_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }

  // The files of the trace below `directory`, as entries.
  [[nodiscard]] std::vector<ArchiveEntry> entries(const std::string& directory) const {
    std::vector<ArchiveEntry> found;
    for (const auto& file : fs::recursive_directory_iterator(trace_))
      if (file.is_regular_file())
        found.push_back({.path = directory + fs::relative(file.path(), trace_).string(),
                         .content = read_file(file.path())});
    return found;
  }
  static Outcome read_archive(const fs::path& path, bool allow_unfinished = false) {
    auto history = open_history({path.string()}, allow_unfinished);
    if (!history) return {.notes = {}, .verdict = propagate(history)};
    return read_all(*history);
  }
  // The message; it must be one sentence that names the archive.
  static std::string refusal(const fs::path& path) {
    const Outcome outcome = read_archive(path);
    if (outcome.verdict) {
      ADD_FAILURE() << "not refused";
      return "";
    }
    EXPECT_EQ(outcome.verdict.error().code, ExitCode::data);
    EXPECT_THAT(outcome.verdict.error().message,
                AllOf(HasSubstr(path.string()), Not(HasSubstr("\n")),
                      Not(HasSubstr(path.parent_path().string() + "/tmp"))));
    return outcome.verdict.error().message;
  }
  // The message for an archive with this entry after those of the trace.
  std::string refusal_with(const ArchiveEntry& entry) {
    std::vector<ArchiveEntry> all = entries("t/");
    all.push_back(entry);
    write_archive(archive_, all);
    return refusal(archive_);
  }
  // An archive with these entries before those of the trace.
  void write_with_raw(const std::string& raw) {
    write_archive(archive_, entries("t/"));
    write_file(archive_, raw + read_file(archive_));
  }
  Result<> pack(const std::string& output) {
    ::testing::internal::CaptureStderr();
    Result<> done =
        run_archive({.directories = {trace_.string()}, .output = output, .store = {}}, {});
    err_ = ::testing::internal::GetCapturedStderr();
    return done;
  }

  const fs::path temporary_ = directory_.path() / "tmp";
  const fs::path trace_ = [this] {
    use_small_schema();
    return write("t", {.packets = two_cpus(),
                       .names = {task_name(5, 1, 5, "bash")},
                       .symbols = {{0xffffffff81000000, "_stext+0x0/0x10"}}});
  }();
  const fs::path archive_ = directory_.path() / "t.tar.zst";
  std::string err_;

 private:
  std::optional<std::string> tmpdir_;
};

TEST_F(TraceArchive, IsReadAsTheDirectoryThatItWasMadeOf) {
  const Outcome expected = read({trace_});
  ASSERT_TRUE(pack(archive_.string()));
  EXPECT_THAT(err_, HasSubstr("t.tar.zst: "));
  fs::remove_all(trace_);
  auto history = open_history({archive_.string()}, false);
  ASSERT_TRUE(history) << history.error().message;
  const TraceReader& trace = history->traces().front();
  EXPECT_EQ(trace.path(), archive_);
  EXPECT_FALSE(trace.unfinished());
  EXPECT_EQ(trace.manifest().reason, "a test");
  EXPECT_EQ(trace.names().task_at(5, 2)->comm(), "bash");
  EXPECT_EQ(trace.symbols().at(0xffffffff81000000), "_stext+0x0/0x10");
  fs::remove(archive_);  // it is unpacked
  const Outcome actual = read_all(*history);
  EXPECT_TRUE(actual.verdict) << actual.verdict.error().message;
  EXPECT_EQ(actual.notes.text_, kTwoCpus);
  EXPECT_EQ(actual.notes.bytes_, expected.notes.bytes_);
  History again = history->again();
  EXPECT_EQ(read_all(again).notes.text_, kTwoCpus);
}

TEST_F(TraceArchive, HasTheFilesOfTheTraceInOneDirectory) {
  write_file(trace_ / "kept", "");
  write_file(trace_ / "ctf/notes", "of somebody");
  ASSERT_TRUE(pack(archive_.string()));
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                      &archive_read_free);
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_zstd(reader.get());
  ASSERT_EQ(archive_read_open_filename(reader.get(), archive_.c_str(), 4096), ARCHIVE_OK);
  std::vector<std::string> names;
  for (archive_entry* entry = nullptr;
       archive_read_next_header(reader.get(), &entry) == ARCHIVE_OK;) {
    names.emplace_back(archive_entry_pathname(entry));
    EXPECT_EQ(archive_entry_filetype(entry), mode_t{AE_IFREG});
  }
  EXPECT_THAT(names, ElementsAre("t/manifest.json", "t/tasks.json", "t/caches.json",
                                 "t/cgroups.json", "t/commands.json", "t/symbols.json",
                                 "t/ctf/cpu0", "t/ctf/cpu1", "t/ctf/metadata"));
}

TEST_F(TraceArchive, IsNamedAfterTheTraceAndReplacesNoFile) {
  const fs::path before = fs::current_path();
  fs::current_path(directory_.path());
  EXPECT_TRUE(pack(""));
  const std::string whole = read_file(archive_);
  EXPECT_THAT(err_, HasSubstr("ktracectl: t.tar.zst: "));
  const Result<> second = pack("");
  fs::current_path(before);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ExitCode::usage);
  EXPECT_THAT(second.error().message, HasSubstr("t.tar.zst: it exists already"));
  EXPECT_EQ(read_file(archive_), whole);
}

TEST_F(TraceArchive, MayBeReadByThoseWhoMayReadTheTrace) {
  ::chmod((trace_ / "manifest.json").c_str(), 0640);
  const mode_t mask = ::umask(0);
  EXPECT_TRUE(pack(archive_.string()));
  ::umask(mask);
  struct stat status{};
  ASSERT_EQ(::stat(archive_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_EQ(access_of_traces({archive_.string()}).mode, 0640U) << "so may what is made of it";
}

TEST_F(TraceArchive, OfWhatIsNoFinishedTraceIsNotWritten) {
  fs::rename(trace_, directory_.path() / "t.partial");
  Result<> done = pack(archive_.string());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("only an unfinished one"));
  fs::rename(directory_.path() / "t.partial", trace_);
  fs::remove(trace_ / "manifest.json");
  done = pack(archive_.string());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("manifest.json is missing"));
  EXPECT_FALSE(fs::exists(archive_));
  EXPECT_FALSE(fs::exists(archive_.string() + ".partial"));
}

TEST_F(TraceArchive, MayBePlainAndHaveItsFilesInAnyOneDirectoryOrNone) {
  for (const char* directory :
       {"", "./", "other name/", "./t/", "ctf/", "var/lib/ktraced/snapshots/t/"}) {
    for (const ArchiveForm form : {ArchiveForm::tar, ArchiveForm::zst}) {
      write_archive(archive_, entries(directory), form);
      const Outcome outcome = read_archive(archive_);
      EXPECT_TRUE(outcome.verdict) << outcome.verdict.error().message;
      EXPECT_EQ(outcome.notes.text_, kTwoCpus) << directory;
    }
  }
}

TEST_F(TraceArchive, MayHaveDirectoriesAndFilesThatNoReaderNeeds) {
  std::vector<ArchiveEntry> all = {{.path = "t/", .content = {}, .type = AE_IFDIR}};
  std::ranges::copy(entries("t/"), std::back_inserter(all));
  all.push_back({.path = "t/of_a_later_version.json", .content = "{}"});
  all.push_back({.path = "t/ctf/index/cpu0", .content = "x"});
  write_archive(archive_, all);
  EXPECT_EQ(read_archive(archive_).notes.text_, kTwoCpus);
}

TEST_F(TraceArchive, OfAnUnfinishedTraceIsReadOnlyWhenRequested) {
  write_archive(archive_, entries("t.partial/"));
  EXPECT_THAT(refusal(archive_), HasSubstr("is unfinished"));
  EXPECT_EQ(read_archive(archive_, true).notes.text_, kTwoCpus);
  write_archive(archive_, entries("snapshots/t.partial/"));
  EXPECT_THAT(refusal(archive_), HasSubstr("is unfinished"));
}

TEST_F(TraceArchive, MergesWithADirectory) {
  ASSERT_TRUE(pack(archive_.string()));
  auto history = open_history({archive_.string(), trace_.string(), archive_.string()}, false);
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->traces().size(), 2U) << "an archive that is given twice is read once";
  EXPECT_EQ(read_all(*history).notes.records_, 6U);
}

TEST_F(TraceArchive, IsRefusedIfAnEntryCouldDoHarm) {
  EXPECT_THAT(refusal_with({.path = "/t/ctf/cpu7", .content = "x"}),
              HasSubstr("its entry /t/ctf/cpu7 has an absolute path"));
  EXPECT_THAT(refusal_with({.path = "t/../../cpu7", .content = "x"}),
              HasSubstr("has a path that leads out of it"));
  EXPECT_THAT(refusal_with({.path = "..", .content = {}, .type = AE_IFDIR}),
              HasSubstr("has a path that leads out of it"));
  EXPECT_THAT(refusal_with({.path = "t/ctf/cpu7", .content = {}, .type = AE_IFLNK}),
              HasSubstr("is a symbolic link"));
  EXPECT_THAT(refusal_with({.path = "t/ctf/cpu7", .content = {}, .hard_link = "t/ctf/cpu0"}),
              HasSubstr("is a hard link"));
  EXPECT_THAT(refusal_with({.path = "t/ctf/cpu7", .content = {}, .type = AE_IFIFO}),
              HasSubstr("is a FIFO"));
  EXPECT_THAT(refusal_with({.path = "t/ctf/cpu7", .content = {}, .type = AE_IFCHR}),
              HasSubstr("device"));
  EXPECT_THAT(refusal_with({.path = "t/no\nname", .content = {}, .type = AE_IFLNK}),
              HasSubstr("t/no\\x0aname is a symbolic link"));
}

TEST_F(TraceArchive, IsRefusedIfItHasNotExactlyOneTrace) {
  EXPECT_THAT(refusal_with({.path = "t/tasks.json", .content = "{}"}), HasSubstr("is there twice"));
  EXPECT_THAT(refusal_with({.path = "u/manifest.json", .content = "{}"}),
              HasSubstr("has several traces, in 't' and 'u'"));
  EXPECT_THAT(refusal_with({.path = "u/t/manifest.json", .content = "{}"}),
              HasSubstr("has several traces, in 't' and 'u/t'"));
  write_archive(archive_, {{.path = "t/ctf/cpu0", .content = "x"}});
  EXPECT_THAT(refusal(archive_), HasSubstr("has no trace: manifest.json is missing"));
  write_archive(archive_, {});
  EXPECT_THAT(refusal(archive_), AnyOf(HasSubstr("has no trace"), HasSubstr("is neither")));
  write_file(archive_, "not an archive\n");
  EXPECT_THAT(refusal(archive_), HasSubstr("is neither a trace directory nor an archive of one"));
}

TEST_F(TraceArchive, IsRefusedIfItIsTooLargeUnpacked) {
  constexpr uint64_t kMost = 1U << 20;
  const auto refused = [&](const std::vector<ArchiveEntry>& bomb) {
    write_archive(archive_, bomb, ArchiveForm::zst);
    EXPECT_LT(fs::file_size(archive_), 100'000U);
    const auto trace = unpack_trace(archive_, kMost);
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code, ExitCode::data);
    EXPECT_THAT(trace.error().message, AllOf(HasSubstr("t.tar.zst is too large"),
                                             HasSubstr("more than 1"), HasSubstr("'tar -xf'")));
  };
  refused({{.path = "t/ctf/cpu0", .content = std::string(kMost + 1, '\0')}});
  refused({{.path = "t/no trace needs it", .content = std::string(kMost + 1, '\0')}});
  std::vector<ArchiveEntry> many;
  for (int cpu = 0; cpu < 5; ++cpu)
    many.push_back(
        {.path = fmt::format("t/ctf/cpu{}", cpu), .content = std::string(kMost / 4, '\0')});
  refused(many);
  refused(std::vector<ArchiveEntry>(3000, {.path = "t/empty", .content = {}}));
}

// A negative size would be no limit for what is copied.
TEST_F(TraceArchive, IsRefusedIfAnEntryHasANegativeSize) {
  for (const std::string& entry :
       {raw_extended_entry("t/ctf/cpu7", "SCHILY.realsize=-1", "data"),
        raw_extended_entry("t/ctf/cpu7", "GNU.sparse.realsize=-1", "data"),
        raw_entry("t/ctf/cpu7", 'S', "data", {{483, std::string(12, '\xff')}})}) {
    write_with_raw(entry);
    EXPECT_THAT(refusal(archive_), HasSubstr("its entry t/ctf/cpu7 has no valid size"));
  }
}

// A sparse file with more data than its size says.
TEST_F(TraceArchive, IsRefusedIfWhatNoReaderNeedsHasTooMuchData) {
  constexpr uint64_t kMost = 1U << 20;
  write_with_raw(raw_sparse_entry("t/notes", 1, 0, std::string(4 * kMost, '\0')));
  const auto trace = unpack_trace(archive_, kMost);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ExitCode::data);
  EXPECT_THAT(trace.error().message, HasSubstr("is too large"));
}

TEST_F(TraceArchive, MayHaveSparseFiles) {
  write_with_raw(raw_sparse_entry("t/ctf/cpu7", 5000, 5000, "") +
                 raw_sparse_entry("t/ctf/cpu8", 5000, 1000, std::string(512, 'x')));
  const auto trace = unpack_trace(archive_);
  ASSERT_TRUE(trace) << trace.error().message;
  const std::string data = std::string(1000, '\0') + std::string(512, 'x');
  for (const auto& [name, content] :
       {std::pair("ctf/cpu7", std::string(5000, '\0')),
        std::pair("ctf/cpu8", data + std::string(5000 - data.size(), '\0'))}) {
    std::string read(6000, '\0');
    const ssize_t size = ::pread(trace->files.at(name).get(), read.data(), read.size(), 0);
    ASSERT_EQ(size, 5000) << name;
    EXPECT_EQ(read.substr(0, 5000), content) << name;
  }
}

TEST_F(TraceArchive, IsRefusedIfItHasMoreCpusThanAKernel) {
  EXPECT_THAT(refusal_with({.path = fmt::format("t/ctf/cpu{}", kPacketFilesMax), .content = ""}),
              HasSubstr("its entry t/ctf/cpu10000 has a CPU above 9999"));
}

// A file of each CPU is open.
TEST_F(TraceArchive, MayHaveMoreFilesThanTheSoftLimitOfDescriptors) {
  constexpr rlim_t kFew = 64;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 8 * kFew) GTEST_SKIP() << "the hard limit is low";
  std::vector<ArchiveEntry> all = entries("t/");
  for (rlim_t cpu = 2; cpu < 2 * kFew; ++cpu)
    all.push_back({.path = fmt::format("t/ctf/cpu{}", cpu), .content = {}});
  write_archive(archive_, all);
  const SoftLimit few(RLIMIT_NOFILE, kFew);
  const auto history = open_history({archive_.string()}, false);
  ASSERT_TRUE(history) << history.error().message;
}

TEST_F(TraceArchive, OfTooManyFilesIsNotWritten) {
  for (uint32_t file = 0; file <= kPacketFilesMax; ++file)
    write_file(trace_ / fmt::format("ctf/{}", file), "");
  const Result<> done = pack(archive_.string());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ExitCode::data);
  EXPECT_THAT(done.error().message, HasSubstr("ctf has more than 10000 files"));
  EXPECT_FALSE(fs::exists(archive_));
}

// Retention renames a trace, and then removes its files one by one.
TEST_F(TraceArchive, OfATraceThatIsRemovedMeanwhileIsNotWritten) {
  auto signals = StopSignals::catch_signals();
  ASSERT_TRUE(signals);
  auto target = OutputTarget::open(archive_.string(), {});
  ASSERT_TRUE(target);
  const auto trace = TraceDirectory::open(trace_);
  ASSERT_TRUE(trace);
  const auto expect_removed = [&] {
    const auto packed = pack_trace(*trace, "t", *target, *signals);
    ASSERT_FALSE(packed);
    EXPECT_EQ(packed.error().code, ExitCode::io);
    EXPECT_EQ(packed.error().message, trace_.string() + " was removed while it was read");
  };
  const fs::path removing = directory_.path() / ".removing-t";
  fs::rename(trace_, removing);
  fs::remove(removing / "ctf/cpu1");  // no file that is read is missing
  expect_removed();
  fs::remove(removing / "manifest.json");
  expect_removed();
}

TEST_F(TraceArchive, SaysWhatIsDamagedInItWhenItIsRemovedMeanwhile) {
  write_file(trace_ / "tasks.json", "{");
  write_archive(archive_, entries("t/"));
  auto unpacked = unpack_trace(archive_);
  ASSERT_TRUE(unpacked) << unpacked.error().message;
  fs::remove(archive_);
  const auto trace = TraceReader::open_unpacked(
      TraceDirectory::unpacked(archive_, std::move(unpacked->files)), "t", false);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->damage().size(), 1U);
  EXPECT_THAT(trace->damage().front().message, HasSubstr("tasks.json"));
}

TEST_F(TraceArchive, NamesTheTemporaryDirectoryThatCannotBeUsed) {
  write_archive(archive_, entries("t/"));
  const std::string missing = directory_.path() / "missing";
  ::setenv("TMPDIR", missing.c_str(), 1);
  const auto trace = unpack_trace(archive_);
  ::setenv("TMPDIR", temporary_.c_str(), 1);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ExitCode::io);
  EXPECT_THAT(trace.error().message, AllOf(HasSubstr("cannot unpack " + archive_.string()),
                                           HasSubstr(missing), HasSubstr("set TMPDIR")));
}

TEST_F(TraceArchive, IsUnpackedOnADiskByDefault) {
  EXPECT_THAT(kTemporaryDirectories, ElementsAre(StrEq("/var/tmp"), StrEq("/tmp")));
  EXPECT_EQ(temporary_directory(), temporary_);
}

TEST_F(TraceArchive, IsUnpackedInTheFirstDirectoryWhereFilesCanBeMade) {
  const std::string missing = directory_.path() / "missing", file = directory_.path() / "file";
  write_file(file, "");
  fs::permissions(file, fs::perms::owner_all);
  const std::array usable{missing.c_str(), file.c_str(), temporary_.c_str()};
  const std::array unusable{missing.c_str(), file.c_str()};
  ::unsetenv("TMPDIR");
  EXPECT_EQ(temporary_directory(usable), temporary_);
  EXPECT_EQ(temporary_directory(unusable), missing) << "an error names it";
  ::setenv("TMPDIR", "", 1);
  EXPECT_EQ(temporary_directory(usable), temporary_);
  ::setenv("TMPDIR", missing.c_str(), 1);
  EXPECT_EQ(temporary_directory(usable), missing) << "a wrong TMPDIR is not ignored";
  ::setenv("TMPDIR", temporary_.c_str(), 1);
}

TEST_F(TraceArchive, SaysThatTheDiskIsFull) {
  write_archive(archive_, entries("t/"));
  const RefusingDisk full;
  const auto trace = unpack_trace(archive_);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ExitCode::io);
  EXPECT_THAT(trace.error().message,
              AllOf(HasSubstr("cannot unpack " + archive_.string()), HasSubstr(temporary_.string()),
                    HasSubstr("set TMPDIR")));
}

// Without its last bytes an archive may still have everything.
TEST_F(TraceArchive, TruncatedAtAnyByteIsOneErrorOrWhole) {
  ASSERT_TRUE(pack(archive_.string()));
  const std::string whole = read_file(archive_);
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file(archive_, std::string_view(whole).substr(0, size));
    const auto trace = unpack_trace(archive_);
    if (trace) {
      EXPECT_EQ(trace->files.size(), 8U) << size;
      continue;
    }
    ++refused;
    EXPECT_EQ(trace.error().code, ExitCode::data) << size;
    EXPECT_THAT(trace.error().message,
                AnyOf(AllOf(HasSubstr(fmt::format("is damaged near byte {}", size)),
                            HasSubstr("copy it again")),
                      HasSubstr("is neither")))
        << size;
  }
  EXPECT_GT(refused, whole.size() / 2);
}

// Plain archives have no checksums but those of their headers.
TEST_F(TraceArchive, TruncatedOrFlippedShowsNoMoreThanWasWritten) {
  write_archive(archive_, entries("t/"));
  const std::string whole = read_file(archive_);
  std::mt19937_64 random{11};
  for (int i = 0; i < 500; ++i) {
    std::string changed = whole.substr(0, i % 2 == 0 ? whole.size() : random() % whole.size());
    if (i % 2 == 0 || (i % 4 == 1 && !changed.empty()))
      changed[random() % changed.size()] ^= static_cast<char>(1U << random() % 8);
    write_file(archive_, changed);
    const Outcome outcome = read_archive(archive_);
    EXPECT_LE(outcome.notes.records_, 6U);
    if (outcome.verdict) continue;
    EXPECT_EQ(outcome.verdict.error().code, ExitCode::data);
    EXPECT_THAT(outcome.verdict.error().message, HasSubstr(archive_.string()));
  }
}

TEST_F(TraceArchive, DamagedFilesInItAreNamedAsInTheArchive) {
  fs::resize_file(trace_ / "ctf/cpu0", fs::file_size(trace_ / "ctf/cpu0") - 1);
  ASSERT_TRUE(pack(archive_.string()));
  const Outcome outcome = read_archive(archive_);
  EXPECT_EQ(outcome.notes.text_, "0:10 1:20 0:40 0:40-3 1:50 1:60");
  ASSERT_FALSE(outcome.verdict);
  EXPECT_THAT(outcome.verdict.error().message,
              HasSubstr((archive_ / "ctf/cpu0").string() + " is damaged at byte"));
}

TEST_F(TraceArchive, IsShownUnderItsOwnName) {
  ASSERT_TRUE(pack(archive_.string()));
  ShowCommand command;
  command.directories = {archive_.string()};
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const Result<> shown = run_show(command, {});
  const std::string out = ::testing::internal::GetCapturedStdout();
  const std::string err = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(shown) << shown.error().message;
  EXPECT_NE(out, "");
  EXPECT_THAT(err, AllOf(HasSubstr("6 events shown"), HasSubstr(archive_.string() + ": "),
                         Not(HasSubstr(temporary_.string()))));
}

}  // namespace
}  // namespace ktraced::test

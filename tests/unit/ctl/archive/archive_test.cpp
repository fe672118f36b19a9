// SPDX-License-Identifier: BSD-2-Clause
// Archives of traces: written, read as the directory is, and refused if they could do harm.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <random>

#include "ctl/archive/open_history.h"
#include "ctl/archive/unpack.h"
#include "ctl/commands/commands.h"
#include "ctl/terminal/new_file.h"
#include "unit/support/refusing_disk.h"
#include "unit/trace/merge/history_fixture.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
  for (const char* directory : {"", "./", "other name/", "./t/"}) {
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

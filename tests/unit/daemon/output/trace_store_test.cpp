// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "daemon/output/keep_mark.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TraceName, IsAcceptedUnlessItLeavesTheDirectory) {
  for (std::string name :
       {std::string("a"), std::string("2026-07-31 incident #7"), std::string("a.b"),
        std::string("\xC3\xA9t\xC3\xA9"), std::string("\u4e8b\u6545 \U0001f525"),
        std::string("a-b"), std::string(200, 'x')})
    EXPECT_TRUE(check_trace_name(name)) << name;
  for (std::string name : {std::string(),
                           std::string("."),
                           std::string(".."),
                           std::string("a/b"),
                           std::string("/a"),
                           std::string("../a"),
                           std::string("a..b"),
                           std::string(".hidden"),
                           std::string("a\nb"),
                           std::string("a\x1b[2J"),
                           std::string("a\x7f"),
                           std::string("a\0b", 3),
                           std::string("a\u0080"),
                           std::string("a\u009b2J"),
                           std::string("\u202etxt"),
                           std::string("a\u202a"),
                           std::string("a\u2066b"),
                           std::string("a\u2069"),
                           std::string("a\xff"),
                           std::string("\xc3"),
                           std::string("a\x9b"),
                           std::string("\xed\xa0\x80"),
                           std::string(" "),
                           std::string("   "),
                           std::string("-a"),
                           std::string("--all"),
                           std::string(201, 'x'),
                           std::string(300, 'x'),
                           std::string("a.partial")}) {
    auto checked = check_trace_name(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().code, ExitCode::usage);
  }
  EXPECT_THAT(check_trace_name(std::string(300, 'x')).error().message, HasSubstr("300 bytes"));
  EXPECT_THAT(check_trace_name("a\u202e").error().message, HasSubstr("direction of writing"));
  EXPECT_THAT(check_trace_name("a\xff").error().message, HasSubstr("not UTF-8"));
}

TEST(TraceName, IsMadeFromTheTimeInUtcAndUnused) {
  constexpr uint64_t kTime = 1'795'253'018'616'985'848;
  std::set<std::string> taken;
  auto next = [&] {
    auto name = trace_name("snapshot", kTime, [&](const auto& n) { return taken.contains(n); });
    taken.insert(name);
    return name;
  };
  EXPECT_EQ(next(), "snapshot-20261121-092338-616");
  EXPECT_EQ(next(), "snapshot-20261121-092338-617");
  while (taken.size() < 384) next();
  EXPECT_EQ(next(), "snapshot-20261121-092339-000");
  EXPECT_TRUE(check_trace_name(*taken.begin()));
}

class TraceStoreTest : public testing::Test {
 protected:
  TraceStoreTest() {
    char name[] = "/tmp/ktraced-test-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~TraceStoreTest() override { fs::remove_all(root); }

  // Creates a directory that looks like a trace written at that second.
  void make_trace(const std::string& name, time_t second, size_t bytes = 1000,
                  std::string_view manifest = "{}") const {
    fs::create_directories(root / name / "ctf");
    std::ofstream(root / name / "ctf/cpu0") << std::string(bytes, 'x');
    std::ofstream(root / name / "manifest.json") << manifest;
    timespec times[2] = {{second, 0}, {second, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (root / name / "manifest.json").c_str(), times, 0), 0);
  }
  std::vector<std::string> names(std::string_view prefix = "") const {
    std::vector<std::string> list;
    for (const StoredTrace& trace : std::vector(TraceStore(root).list(prefix).value()))
      list.push_back(trace.name);
    return list;
  }

  fs::path root;
};

TEST_F(TraceStoreTest, ListsCompleteTracesOldestFirst) {
  make_trace("new", 300);
  make_trace("old", 100);
  make_trace("unfinished.partial", 50);
  fs::create_directory(root / "no-trace");
  std::ofstream(root / "file") << "x";
  fs::create_directory_symlink(root / "old", root / "link");
  EXPECT_THAT(names(), ElementsAre("old", "new"));
  EXPECT_THAT(names("ne"), ElementsAre("new"));
  StoredTrace old = TraceStore(root).list().value().front();
  EXPECT_EQ(old.bytes, 1002U);
  EXPECT_EQ(old.written_ns, 100'000'000'000U);
  EXPECT_THAT(TraceStore(root / "nowhere").list().value(), IsEmpty());
}

TEST_F(TraceStoreTest, SuggestsANearNameWhenThereIsNoSuchTrace) {
  make_trace("two", 1);
  const auto removed = TraceStore(root).remove("tw");
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().message, "unknown snapshot 'tw'; did you mean 'two'?");
}

TEST_F(TraceStoreTest, RemovesOnlyTraces) {
  make_trace("a", 1);
  fs::create_directory(root / "no-trace");
  fs::create_directory_symlink(root / "a", root / "link");
  TraceStore store(root);
  for (const char* name : {"no-trace", "link", "missing", "..", "../x", "", "a.partial"}) {
    auto removed = store.remove(name);
    ASSERT_FALSE(removed) << name;
    EXPECT_EQ(removed.error().code, ExitCode::usage) << name;
  }
  EXPECT_TRUE(store.remove("a"));
  EXPECT_FALSE(fs::exists(root / "a"));
  EXPECT_FALSE(fs::exists(root / "a.partial"));
  EXPECT_TRUE(fs::exists(root / "no-trace"));
}

TEST_F(TraceStoreTest, KeepsWhatSomebodyHasPutIntoATrace) {
  make_trace("webapp", 1);
  std::ofstream(root / "webapp/thesis.tex") << "x";
  const auto removed = TraceStore(root).remove("webapp");
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, HasSubstr("'thesis.tex' in it is no part of a trace"));
  EXPECT_TRUE(fs::exists(root / "webapp/thesis.tex"));
}

TEST_F(TraceStoreTest, KnowsNamesInUse) {
  make_trace("a", 1);
  make_trace("b.partial", 1);
  TraceStore store(root);
  EXPECT_TRUE(store.taken("a"));
  EXPECT_TRUE(store.taken("b"));
  EXPECT_FALSE(store.taken("c"));
}

TEST_F(TraceStoreTest, FinishesInterruptedRemovals) {
  make_trace("a", 1);
  make_trace(".removing-b", 1);
  std::ofstream(root / ".removing-b/kept") << "";
  make_trace(".removing-c.partial", 1);
  make_trace(".removing-mine", 1);
  std::ofstream(root / ".removing-mine/thesis.tex") << "x";
  TraceStore store(root);
  EXPECT_THAT(names(), ElementsAre("a"));
  EXPECT_THAT(store.list_unfinished("").value(), IsEmpty());
  store.finish_removals();
  EXPECT_TRUE(fs::exists(root / "a"));
  EXPECT_FALSE(fs::exists(root / ".removing-b"));
  EXPECT_FALSE(fs::exists(root / ".removing-c.partial"));
  EXPECT_TRUE(fs::exists(root / ".removing-mine")) << "not a trace";
}

TEST_F(TraceStoreTest, RemovesATraceWhenARemovalOfItsNameWasInterrupted) {
  make_trace("a", 1);
  make_trace(".removing-a", 1);
  EXPECT_TRUE(TraceStore(root).remove("a"));
  EXPECT_TRUE(fs::is_empty(root));
}

// A concurrent reader sees a complete trace or none.
TEST_F(TraceStoreTest, NeverShowsAPartlyRemovedTrace) {
  constexpr int kFiles = 2000;
  make_trace("a", 1);
  for (int i = 0; i < kFiles; ++i) std::ofstream(root / "a/ctf" / fmt::format("cpu{}", i)) << "x";
  TraceStore store(root);
  std::thread remover([&] { EXPECT_TRUE(store.remove("a")); });
  while (!names().empty()) EXPECT_THAT(store.list_unfinished("").value(), IsEmpty());
  EXPECT_FALSE(fs::exists(root / "a"));
  EXPECT_THAT(store.list_unfinished("").value(), IsEmpty());
  remover.join();
}

TEST_F(TraceStoreTest, ListsAndRemovesUnfinishedTraces) {
  make_trace("k-2.partial", 2);
  make_trace("k-1.partial", 1);
  make_trace("k-3", 3);
  make_trace("other.partial", 1);
  TraceStore store(root);
  std::vector<std::string> unfinished;
  for (const StoredTrace& trace : std::vector(store.list_unfinished("k-").value()))
    unfinished.push_back(trace.name);
  EXPECT_THAT(unfinished, ElementsAre("k-1.partial", "k-2.partial"));
  EXPECT_TRUE(store.remove_any("k-1.partial"));
  EXPECT_TRUE(store.remove_any("k-3"));
  EXPECT_FALSE(fs::exists(root / "k-1.partial"));
  EXPECT_FALSE(fs::exists(root / "k-3"));
  EXPECT_TRUE(fs::exists(root / "k-2.partial"));
  EXPECT_FALSE(store.remove_any("k-1.partial"));
}

TEST_F(TraceStoreTest, KnowsEveryFileThatIsWritten) {
  test::write_trace(root / "k-1.partial", {.packets = {{.cpu = 0}}, .begin_ns = 1, .end_ns = 2});
  TraceStore store(root);
  ASSERT_EQ(store.list_unfinished("k-").value().size(), 1U);
  EXPECT_EQ(store.list_unfinished("k-").value().front().name, "k-1.partial");
}

TEST_F(TraceStoreTest, CreatesItsDirectory) {
  TraceStore store(root / "x/y");
  EXPECT_TRUE(store.claim());
  EXPECT_TRUE(store.check_room(1000));
  EXPECT_TRUE(fs::is_directory(root / "x/y"));
}

// Who owns a directory above it can put a link in its place.
TEST_F(TraceStoreTest, IsNotLedElsewhere) {
  if (::geteuid() != 0) return;  // only root can give links away
  fs::create_directory(root / "elsewhere");
  test::write_trace(root / "elsewhere/k-1", {.packets = {{.cpu = 0}}, .begin_ns = 1, .end_ns = 2});
  fs::create_directory_symlink("elsewhere", root / "traces");
  ASSERT_EQ(::lchown((root / "traces").c_str(), 54321, 54321), 0);
  TraceStore store(root / "traces");
  EXPECT_EQ(store.claim().error().code, ExitCode::no_permission);
  EXPECT_EQ(store.remove("k-1").error().code, ExitCode::no_permission);
  EXPECT_FALSE(set_keep_mark(root / "traces/k-1", true));
  EXPECT_TRUE(fs::exists(root / "elsewhere/k-1/manifest.json"));
  EXPECT_FALSE(fs::exists(root / "elsewhere/k-1" / kKeepMark));
}

TEST_F(TraceStoreTest, ReportsWhyItsDirectoryCannotBeUsed) {
  std::ofstream(root / "file") << "x";
  auto file = TraceStore(root / "file/x").claim();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ExitCode::io);
  EXPECT_THAT(file.error().message, HasSubstr((root / "file/x").string()));
  auto full = TraceStore(root).check_room(uint64_t{1} << 60);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ExitCode::io);
  EXPECT_THAT(full.error().message, HasSubstr("not enough room in " + root.string()));
}

TEST_F(TraceStoreTest, ReportsWhenItCannotOpenFiles) {
  const TraceStore store(root);
  EXPECT_TRUE(store.check_descriptors(10));
  auto many = store.check_descriptors(size_t{1} << 24);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ExitCode::io);
  EXPECT_THAT(many.error().message, HasSubstr(root.string() + ": too many open files"));
  EXPECT_TRUE(store.check_descriptors(10)) << "those are closed";
}

}  // namespace
}  // namespace ktraced

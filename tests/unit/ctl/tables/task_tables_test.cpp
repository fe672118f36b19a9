// SPDX-License-Identifier: BSD-2-Clause
// What the tables of threads and processes know of lives that go on over several traces, and of
// programs that were started before.
#include "ctl/tables/tables.h"

#include "unit/ctl/query/query_fixture.h"

namespace ktraced::test {
namespace {

class TaskTables : public QueryTest {
 protected:
  static constexpr uint64_t kTickNs = 10'000'000;

  // Two switches on CPU 0, at 100 and 200 ns after `begin`, of threads with these names.
  std::filesystem::path trace(const std::string& name, uint64_t begin, std::vector<Bytes> names,
                              std::vector<Bytes> records = {}) {
    records.insert(records.begin(), to(begin + 100, 0, 8));
    records.push_back(to(begin + 200'000, 8, 0));
    const auto path = directory_.path() / name;
    write_trace(path, {.schema = built_schema(),
                       .packets = {{.cpu = 0, .records = std::move(records)}},
                       .names = std::move(names),
                       .begin_ns = begin,
                       .end_ns = begin + 300'000});
    return path;
  }
  // Process 8 lives in both; 9 and its thread 10 end between them, 11 begins there.
  void open_two() {
    const auto first = trace("first", kSecond,
                             {task_name(8, 1, 8, "stays", 1), task_name(9, 2, 9, "goes", 2),
                              task_name(10, 3, 9, "thread", 3)});
    const auto second =
        trace("second", 2 * kSecond,
              {task_name(8, 1, 8, "stays", 1), task_name(11, 4, 11, "new", kSecond + kTickNs)});
    open(std::vector<std::filesystem::path>{first, second});
  }
  // Thread 8 runs a program.
  static Bytes exec(uint64_t ts, std::string_view argv) {
    const size_t argv_at = sizeof(rec_sched_process_exec) + sizeof("/bin/x");
    const size_t size = (argv_at + argv.size() + 1 + 7) / 8 * 8;
    rec_sched_process_exec fixed{
        .pid = 8,
        .old_pid = 8,
        .argv = static_cast<u32>(argv_at | (argv.size() + 1) << LOCATED_COUNT_SHIFT)};
    fixed.h = {.ts = ts, .id = EVENT_sched_process_exec, .size = static_cast<u16>(size), .tid = 8};
    Bytes bytes = bytes_of(fixed);
    bytes.resize(size);
    std::memcpy(&bytes[sizeof(fixed)], "/bin/x", sizeof("/bin/x"));
    std::memcpy(&bytes[argv_at], argv.data(), argv.size());
    return bytes;
  }
  std::string argv() { return query("SELECT argv, argv_read_ts FROM processes WHERE pid = 8"); }
};

TEST_F(TaskTables, KnowWhoHasEndedBetweenTwoTraces) {
  open_two();
  EXPECT_EQ(query("SELECT tid, end_ts, alive FROM threads"), "8||1;9||0;10||0;11||1;");
  EXPECT_EQ(query("SELECT pid, end_ts, alive FROM processes"), "8||1;9||0;11||1;");
}

TEST_F(TaskTables, OfAWindowHaveOnlyThoseThatMayLiveInIt) {
  open_two();
  set_window({.begin_ns = 2 * kSecond, .end_ns = UINT64_MAX});
  EXPECT_EQ(query("SELECT tid FROM threads"), "8;11;");
  EXPECT_EQ(query("SELECT pid FROM processes"), "8;11;");
  set_window({.begin_ns = 0, .end_ns = kSecond + 300'000});
  EXPECT_EQ(query("SELECT tid, alive FROM threads"), "8|1;9|1;10|1;") << "at its end";
  EXPECT_EQ(query("SELECT pid, alive FROM processes"), "8|1;9|1;");
}

// The second trace lacks names that changed before 2.1 s, so 9 may have lived until then.
TEST_F(TaskTables, DoNotTakeAThreadForGoneBeforeTheNamesOfALaterTraceAreComplete) {
  const auto first = trace("first", kSecond, {task_name(9, 2, 9, "goes", 2)});
  const TraceSpec spec{.schema = built_schema(),
                       .packets = {{.cpu = 0, .records = {to(2 * kSecond + 100, 0, 8)}}},
                       .names = {task_name(8, 1, 8, "stays", 1)},
                       .begin_ns = 2 * kSecond,
                       .end_ns = 3 * kSecond};
  const auto second = directory_.path() / "second";
  auto writer = begin_trace(second, spec);
  Manifest manifest = manifest_of(*writer, spec);
  manifest.kind = TraceKind::snapshot;
  manifest.names_since_ns = 2 * kSecond + kSecond / 10;
  check(writer->finish(manifest, spec.symbols));
  open(std::vector<std::filesystem::path>{first, second});
  set_window({.begin_ns = 2 * kSecond, .end_ns = UINT64_MAX});
  EXPECT_EQ(query("SELECT tid, alive FROM threads"), "8|1;9|0;");
  set_window({.begin_ns = manifest.names_since_ns, .end_ns = UINT64_MAX});
  EXPECT_EQ(query("SELECT tid FROM threads"), "8;");
}

TEST_F(TaskTables, DoNotTakeATraceWithoutNamesForTheEnd) {
  const auto first = trace("first", kSecond, {task_name(8, 1, 8, "stays", 1)});
  const auto second = trace("second", 2 * kSecond, {});
  open(std::vector<std::filesystem::path>{first, second});
  EXPECT_EQ(query("SELECT tid, alive FROM threads"), "8|1;");
}

TEST_F(TaskTables, KnowThatAThreadHasEndedWhenItsIdIsUsedAgain) {
  open({trace("one", kSecond,
              {task_name(8, 1, 8, "old", 1), task_name(8, kSecond, 8, "new", kSecond)})});
  EXPECT_EQ(query("SELECT comm, alive FROM threads"), "old|0;new|1;");
}

TEST_F(TaskTables, HaveTheCommandLinesThatTheDaemonHasRead) {
  open({trace("one", kSecond,
              {task_name(8, 1, 8, "sh", 3 * kTickNs + 5), task_name(9, 1, 9, "kworker", 1),
               command_line(8, kSecond + 50,
                            "sh -c a\x1f"
                            "b\x1b",
                            3 * kTickNs),
               command_line(9, kSecond + 50, "of another process", 7 * kTickNs)})});
  EXPECT_EQ(argv(), "sh -c $'a b\\033'|1000000050;");
  EXPECT_EQ(query("SELECT argv FROM processes WHERE pid = 9"), ";");
}

TEST_F(TaskTables, HaveTheParentsThatTheDaemonHasRead) {
  open({trace(
      "one", kSecond,
      {task_name(8, 1, 8, "sh", kTickNs), command_line(8, kSecond, "sh", kTickNs, 7),
       task_of_parent(9, 1, "make", 8, kTickNs), command_line(9, kSecond, "make", kTickNs, 1)})});
  EXPECT_EQ(query("SELECT pid, parent_pid FROM processes"), "8|7;9|8;") << "the first one stays";
}

TEST_F(TaskTables, PreferTheArgumentsOfAnExec) {
  const std::vector<Bytes> names = {task_name(8, 1, 8, "sh"), command_line(8, kSecond + 50, "sh")};
  open({trace("one", kSecond, names, {exec(kSecond + 1000, "make all")})});
  EXPECT_EQ(argv(), "make all|;") << "it was read before";
  set_window({.begin_ns = 0, .end_ns = kSecond + 500});
  EXPECT_EQ(argv(), "sh|1000000050;") << "up to the exec";
  set_window({.begin_ns = kSecond + 2000, .end_ns = UINT64_MAX});
  EXPECT_EQ(argv(), "make all|;") << "before the window";
}

TEST_F(TaskTables, DistinguishAnEmptyArgumentFromNone) {
  open({trace("one", kSecond, {task_name(8, 1, 8, "sh")}, {exec(kSecond + 1000, "")})});
  EXPECT_EQ(argv(), "''|;") << "as exec -a '' does";
  EXPECT_EQ(query("SELECT argv, argv_cut FROM sched_process_exec"), "''|0;");
}

// As a snapshot does, at its end.
TEST_F(TaskTables, DoNotShowALaterProgramBeforeItsExec) {
  const std::vector<Bytes> names = {task_name(8, 1, 8, "sh"),
                                    command_line(8, kSecond + 400'000, "title")};
  open({trace("one", kSecond, names, {exec(kSecond + 1000, "make all")})});
  EXPECT_EQ(argv(), "make all|;") << "not the title that it has set";
  set_window({.begin_ns = 0, .end_ns = kSecond + 500});
  EXPECT_EQ(argv(), "|;");
}

}  // namespace
}  // namespace ktraced::test

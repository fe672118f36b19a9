// SPDX-License-Identifier: BSD-2-Clause
// Users without a role rename threads, exec and move between control groups without end: no stream
// and no recording ends, and what is not known of names is said.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/mapping.h"
#include "harness/client/show.h"
#include "harness/client/stream.h"
#include "harness/client/stream_output.h"
#include "harness/machine/cgroups.h"
#include "harness/machine/puppet.h"
#include "harness/traces/trace_files.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;

constexpr uid_t kUnprivileged = 65534;
constexpr unsigned kLongMs = 2000;     // for batches of more names than are followed
constexpr uint64_t kMany = 1'000'000;  // far more than is followed, however long they take

// Control groups that an unprivileged user owns.
class OwnGroups {
 public:
  // Throws if they cannot be made.
  OwnGroups() {
    for (const Cgroup* group : {&parent_, &first_, &second_})
      for (const fs::path& path : {group->path(), group->path() / "cgroup.procs"})
        if (::chown(path.c_str(), kUnprivileged, kUnprivileged) != 0)
          throw std::runtime_error("chown " + path.string());
  }
  OwnGroups(const OwnGroups&) = delete;
  OwnGroups& operator=(const OwnGroups&) = delete;
  ~OwnGroups() { ::rmdir(made_.c_str()); }

  void enter(pid_t pid) const { first_.write("cgroup.procs", std::to_string(pid)); }
  // Moves the calling process into one of two groups, while another one is made and removed. False
  // if it has not moved. Makes only system calls.
  [[nodiscard]] bool move(bool into_first) const {
    ::mkdir(made_.c_str(), 0755);
    const int procs = ::open((into_first ? first_procs_ : second_procs_).c_str(), O_WRONLY);
    const bool moved = ::write(procs, "0", 1) == 1;
    ::close(procs);
    ::rmdir(made_.c_str());
    return moved;
  }

 private:
  const Cgroup parent_{cgroup2_mount(), "ktraced-own"};
  const Cgroup first_{parent_.path(), "first"}, second_{parent_.path(), "second"};
  const std::string first_procs_ = first_.path() / "cgroup.procs";
  const std::string second_procs_ = second_.path() / "cgroup.procs";
  const std::string made_ = parent_.path() / "made";
};

// Nothing where control groups v2 are not mounted, or cannot be made.
std::unique_ptr<OwnGroups> own_groups() {
  try {
    return std::make_unique<OwnGroups>();
  } catch (const std::runtime_error& error) {
    fmt::print("without moves between control groups: {}\n", error.what());
    return nullptr;
  }
}

// Processes of an unprivileged user that act in a loop: three rename themselves, of which one also
// forks; one execs with long arguments; one moves itself between control groups, where there are
// any.
class Renamers {
 public:
  enum class Act : uint8_t { rename, exec, move };

  Renamers() {
    const Fd memory(::memfd_create("renames", MFD_CLOEXEC));
    if (::ftruncate(memory.get(), kBytes) != 0) throw std::runtime_error("ftruncate");
    shared_ = Mapping::map(memory.get(), kBytes, PROT_READ | PROT_WRITE).value();
    for (const bool forks : {false, false, true}) start([=, this] { rename_for_ever(forks); });
    start([this] { exec_for_ever(); });
    if (!groups_) return;
    start([this] { move_for_ever(); });
    groups_->enter(pids_.back());
  }
  Renamers(const Renamers&) = delete;
  Renamers& operator=(const Renamers&) = delete;
  ~Renamers() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  // Returns when they have done this so often from now on.
  void wait_for(uint64_t times, Act act = Act::rename) {
    if (act == Act::move && !groups_) return;
    const uint64_t enough = count(act).load() + times;
    EXPECT_TRUE(eventually([&] { return count(act).load() >= enough; }));
  }

 private:
  static constexpr size_t kBytes = 4096;

  [[nodiscard]] std::atomic_ref<uint64_t> count(Act act) {
    return std::atomic_ref(reinterpret_cast<uint64_t*>(shared_.data())[static_cast<size_t>(act)]);
  }

  // The child of a process with threads makes only system calls.
  void start(auto&& act_for_ever) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::signal(SIGCHLD, SIG_IGN);  // nobody waits for them
      const bool became =
          ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
          ::syscall(SYS_setresgid, kUnprivileged, kUnprivileged, kUnprivileged) == 0 &&
          ::syscall(SYS_setresuid, kUnprivileged, kUnprivileged, kUnprivileged) == 0;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // another user would clear it
      if (became) act_for_ever();
      ::_exit(1);
    }
    pids_.push_back(pid);
  }
  [[noreturn]] void rename_for_ever(bool forks) {
    std::array<char, COMM_LEN> name{"r"};
    for (uint64_t i = 0;; ++i) {
      for (size_t digit = 1; digit < 9; ++digit)
        name.at(digit) = static_cast<char>('a' + (i >> 4 * (digit - 1)) % 16);
      ::prctl(PR_SET_NAME, name.data());
      count(Act::rename).fetch_add(1);
      if (forks && ::fork() == 0) ::_exit(0);
    }
  }
  // posix_spawn(3) makes the system calls vfork and exec.
  [[noreturn]] void exec_for_ever() {
    std::array<char*, 9> arguments{};
    std::fill_n(arguments.begin(), arguments.size() - 1, argument_.data());
    std::array<char*, 1> environment{};
    for (;;)
      if (::posix_spawn(nullptr, "/bin/true", nullptr, nullptr, arguments.data(),
                        environment.data()) == 0)
        count(Act::exec).fetch_add(1);
  }
  [[noreturn]] void move_for_ever() {
    for (bool into_first = false;; into_first = !into_first)
      if (groups_->move(into_first)) count(Act::move).fetch_add(1);
  }

  Mapping shared_;
  std::string argument_ = std::string(100'000, '\x1b');
  std::unique_ptr<OwnGroups> groups_ = own_groups();  // in use until the processes have ended
  std::vector<pid_t> pids_;
};

void rename_this_thread(int times) {
  for (int i = 0; i < times; ++i) ::prctl(PR_SET_NAME, i % 2 == 0 ? "even" : "odd");
  ::prctl(PR_SET_NAME, "live_tests");
}

using Names = std::map<uint64_t, std::string>;

// The name shown with each numbered call of a process, by number.
Names names_of_calls(const Trace& trace, pid_t pid) {
  Names names;
  for (const json& event : trace.events("sys_enter", pid))
    names[numbers_of(event, "args").at(1)] = event["comm"].get<std::string>();
  return names;
}

Trace lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return Trace(std::move(lines));
}

Trace shown(const fs::path& path) {
  const Shown result = show({path});
  EXPECT_EQ(result.finished.exit_code, 0) << result.finished.err;
  return Trace(result.lines);
}

// Nothing but names, also of control groups, is missing, and that is said.
void expect_only_names_missing(const fs::path& trace) {
  const json manifest = manifest_of(trace);
  std::vector<std::string> reasons = manifest["incomplete_because"];
  EXPECT_THAT(reasons, Contains(HasSubstr("threads may carry wrong names from"))) << trace;
  EXPECT_THAT(reasons, Each(AnyOf(HasSubstr("wrong names"), HasSubstr("paths of control groups"),
                                  HasSubstr("the kernel skipped"))));
  EXPECT_EQ(manifest["lost"], 0) << manifest["cpus"];
}

class RenamingUsers : public testing::Test {
 protected:
  RenamingUsers() {
    quiet.rename("quiet");
    late.rename("early");
  }

  void start(unsigned max_latency_ms) {
    json config = output_config(directory.path() / "stream");
    config["stream"]["max_latency_ms"] = max_latency_ms;
    daemon.emplace(for_processes({quiet.pid(), late.pid()}, config));
  }

  [[nodiscard]] bool subscribed(size_t clients) {
    return eventually([&] { return daemon->call("status")["subscribers"].size() == clients; });
  }

  TempDir directory;
  Puppet quiet, late;
  std::optional<Daemon> daemon;
};

TEST_F(RenamingUsers, EndNoStreamAndNoRecordingAndLoseOnlyNames) {
  start(kLongMs);
  const fs::path recorded = directory.path() / "recording";
  Process recording(daemon->ctl_command({"record", "-o", recorded}));
  Process stream(daemon->ctl_command({"stream", "--format", "json"}));
  ASSERT_TRUE(subscribed(2));
  quiet.call(1);
  late.call(1);
  {
    Renamers renamers;
    renamers.wait_for(kMany);
    late.rename("late");
    late.call(2);
    quiet.call(2);
    renamers.wait_for(kMany);
    quiet.call(3);
    late.call(3);
  }
  for (Process* client : {&recording, &stream}) client->send(SIGINT);
  const Finished streamed = stream.wait();
  EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
  EXPECT_THAT(streamed.err, HasSubstr("threads may carry wrong names from"));
  const Names expected_quiet = {{1, "quiet"}, {2, "quiet"}, {3, "quiet"}};
  EXPECT_EQ(names_of_calls(lines_of(streamed.out), quiet.pid()), expected_quiet);

  const Finished finished = recording.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  expect_only_names_missing(recorded);
  EXPECT_EQ(daemon->stop().exit_code, 0);
  const auto traces = traces_in(directory.path() / "stream");
  ASSERT_EQ(traces.size(), 1U);
  expect_only_names_missing(traces.front());
  const Names expected_late = {{1, "early"}, {2, "late"}, {3, "late"}};
  for (const fs::path& trace : {recorded, traces.front()}) {
    EXPECT_EQ(names_of_calls(shown(trace), quiet.pid()), expected_quiet) << trace;
    EXPECT_EQ(names_of_calls(shown(trace), late.pid()), expected_late) << trace;
  }
}

TEST_F(RenamingUsers, LetARecordingBeginAndRootGetTheStatus) {
  using Act = Renamers::Act;
  start(kLongMs);
  Renamers renamers;
  for (const Act act : {Act::rename, Act::exec, Act::move}) renamers.wait_for(1, act);
  const fs::path recorded = directory.path() / "recording";
  Process recording(daemon->ctl_command({"record", "-o", recorded}));
  ASSERT_TRUE(subscribed(1));
  quiet.call(1);
  for (const Act act : {Act::rename, Act::exec, Act::move})
    for (int i = 0; i < 3; ++i) {
      renamers.wait_for(10, act);
      EXPECT_EQ(daemon->call("status")["subscribers"].size(), 1U);
    }
  quiet.call(2);
  recording.send(SIGINT);
  const Finished finished = recording.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(manifest_of(recorded)["lost"], 0) << manifest_of(recorded)["cpus"];
  EXPECT_EQ(names_of_calls(shown(recorded), quiet.pid()), (Names{{1, "quiet"}, {2, "quiet"}}));
  EXPECT_EQ(daemon->stop().exit_code, 0);
}

// The names that were left behind are sent while the stream goes on.
TEST_F(RenamingUsers, LeaveAStreamThatKnowsTheLastNames) {
  start(kLongMs);
  Stream stream(*daemon, only_of({late.pid()}));
  {
    Renamers renamers;
    renamers.wait_for(kMany);
    late.rename("late");
    renamers.wait_for(kMany);
  }
  Stream other(*daemon, only_of({late.pid()}));
  late.call(1);
  EXPECT_EQ(names_of_calls(other.finish(), late.pid()), (Names{{1, "late"}}));
  EXPECT_EQ(names_of_calls(stream.finish(), late.pid()), (Names{{1, "late"}}));
}

// More than find room in the ring of names, and then more than the kernel remembers.
TEST_F(RenamingUsers, LoseOnlyNamesWhileNoDaemonRuns) {
  start(50);
  daemon->end(SIGKILL);
  rename_this_thread(8000);
  late.rename("middle");
  late.call(1);
  late.rename("late");
  late.call(2);
  rename_this_thread(40'000);
  daemon->start();
  EXPECT_EQ(daemon->stop().exit_code, 0);
  const auto traces = traces_in(directory.path() / "stream");
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_THAT(manifest_of(traces.front())["incomplete_because"].dump(),
              HasSubstr("threads may carry wrong names from"));
  EXPECT_EQ(names_of_calls(shown(traces.front()), late.pid())[2], "late");
}

// A reader that takes nothing loses the names that do not fit, and that is reported to it.
TEST_F(RenamingUsers, CloseNoReaderThatIsSlow) {
  start(50);
  Process stream(daemon->ctl_command({"stream", "--format", "json"}));
  ASSERT_TRUE(subscribed(1));
  stream.send(SIGSTOP);
  const auto queued = [&] {
    return daemon->call("status")["subscribers"][0]["queued_bytes"].get<uint64_t>();
  };
  // Not more at once than are followed: else they are not queued.
  const auto rename = [] {
    rename_this_thread(5000);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  EXPECT_TRUE(eventually([&] {
    rename();
    return queued() > (7U << 20);
  }));
  for (int round = 0; round < 10; ++round) rename();
  late.rename("late");
  stream.send(SIGCONT);
  ASSERT_TRUE(eventually([&] { return queued() < (64U << 10); }));
  quiet.call(1);
  late.call(1);
  stream.send(SIGINT);
  const Finished finished = stream.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("threads may carry wrong names from"));
  EXPECT_EQ(names_of_calls(lines_of(finished.out), quiet.pid()), (Names{{1, "quiet"}}));
  EXPECT_EQ(names_of_calls(lines_of(finished.out), late.pid()), (Names{{1, "late"}}));
}

}  // namespace
}  // namespace ktraced::live

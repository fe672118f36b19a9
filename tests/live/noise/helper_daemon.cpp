// SPDX-License-Identifier: BSD-2-Clause
#include "helper_daemon.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>
#include <utility>

namespace noise {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto kEndLimit = 60s;
constexpr auto kLookInterval = 100ms;
constexpr size_t kLogEnd = 4000;  // bytes

int execute_program(const char* program, const auto&... words) {
  ::execl(program, program, words..., nullptr);
  std::perror(program);
  return 127;
}

// Standard output and standard error.
void write_output_to(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
}

}  // namespace

HelperDaemon::HelperDaemon(fs::path program, fs::path directory, Dice dice)
    : program_(std::move(program)),
      directory_(std::move(directory)),
      pins_("/sys/fs/bpf" / directory_.filename()),
      config_(directory_ / "config.json"),
      socket_(directory_ / "control.sock"),
      log_(directory_ / "log"),
      dice_(std::move(dice)) {
  write_config();
  pid_ = fork_child(SIGTERM, [this] { return execute(); });
  ::setpgid(pid_, pid_);  // the child does it too: the first of both counts
}

HelperDaemon::~HelperDaemon() { stop(); }

// The rings are small, and few snapshots are kept, so that neither memory nor disk fills.
void HelperDaemon::write_config() {
  constexpr std::array kRecords = {"both", "completed"};
  nlohmann::json config = {
      {"events", {{"syscalls", {{"strings", dice_.coin()}, {"record", dice_.pick(kRecords)}}}}},
      {"exact", {{"kmem", dice_.coin()}, {"syscalls", dice_.coin()}}},
      {"flight",
       {{"enabled", true},
        {"buffer_kb", 64 << dice_.below(3)},
        {"banks", dice_.between(2, 4)},
        {"directory", directory_ / "snapshots"},
        {"max_snapshots", 2},
        {"max_total_mb", 16}}},
      {"control", {{"socket", socket_}}},
      {"log", {{"level", "warning"}}},
      {"persist", dice_.coin()},
      {"bpffs", pins_}};
  for (const char* group : {"sched", "process", "signal", "oom", "kmem"})
    config["events"][group] = true;
  std::ofstream(config_) << config.dump(2) << '\n';
}

// In the child. In a process group of its own, Ctrl-C does not end it: this program does.
int HelperDaemon::execute() const {
  ::setpgid(0, 0);
  write_output_to(log_);
  return execute_program(program_.c_str(), "--config", config_.c_str());
}

bool HelperDaemon::running() {
  if (pid_ > 0 && ::waitpid(pid_, &wait_status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

// It listens while it starts, and then answers.
bool HelperDaemon::answers() {
  const std::string request = R"({"jsonrpc":"2.0","id":1,"method":"version"})" + std::string("\n");
  if (!connection_) {
    ktraced::Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    socket_.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      return false;
    std::ignore = ::send(connection.get(), request.data(), request.size(), MSG_DONTWAIT);
    connection_ = std::move(connection);
  }
  char byte;
  return ::recv(connection_.get(), &byte, 1, MSG_DONTWAIT) == 1;
}

bool HelperDaemon::snapshot_if_due(Children& children) {
  if (pid_ < 0 || Clock::now() < due_) return false;
  if (up_) {
    request_snapshot(children);
    due_ = Clock::now() + std::chrono::milliseconds(dice_.between(1'000, 20'000));
    return true;
  }
  due_ = Clock::now() + kLookInterval;
  if (!answers()) return false;
  up_ = true;
  connection_.reset();
  start_cost_ = clock_of_process();
  return false;
}

// Only when it is up: early in its start, SIGUSR1 would kill it.
void HelperDaemon::request_snapshot(Children& children) {
  if (dice_.coin()) {
    ::kill(pid_, SIGUSR1);
    return;
  }
  children.keep([this] {
    write_output_to("/dev/null");
    return execute_program((program_.parent_path() / "ktracectl").c_str(), "--socket",
                           socket_.c_str(), "snapshot", "take");
  });
}

std::chrono::nanoseconds HelperDaemon::clock_of_process() const {
  clockid_t clock;
  timespec time = {};
  if (pid_ > 0 && ::clock_getcpuclockid(pid_, &clock) == 0) ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::chrono::nanoseconds HelperDaemon::cpu_time() const {
  return up_ ? clock_of_process() - start_cost_ : 0ns;
}

bool HelperDaemon::stop() {
  const auto limit = Clock::now() + kEndLimit;
  if (pid_ > 0) ::kill(pid_, SIGTERM);
  while (running()) {
    if (Clock::now() > limit) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(10ms);
  }
  std::error_code ignored;  // a daemon that does not persist has removed them
  fs::remove_all(pins_, ignored);
  return !up_ || wait_status_ == 0;
}

std::string HelperDaemon::end() const {
  if (WIFSIGNALED(wait_status_)) return "signal " + std::to_string(WTERMSIG(wait_status_));
  return "exit code " + std::to_string(WEXITSTATUS(wait_status_));
}

std::string HelperDaemon::end_of_log() const {
  std::ifstream file(log_);
  std::string text(std::istreambuf_iterator<char>(file), {});
  return text.size() > kLogEnd ? "…" + text.substr(text.size() - kLogEnd) : text;
}

}  // namespace noise

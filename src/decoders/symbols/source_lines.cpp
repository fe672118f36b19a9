// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/source_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "base/files/read_file.h"

namespace ktraced {
namespace {

constexpr size_t kMaxAnswer = size_t{96} << 10;  // bytes; a packet must fit into the socket
constexpr size_t kMaxText = size_t{16} << 10;    // of a name or path
constexpr uint64_t kMaxMemory = uint64_t{4} << 30;
constexpr rlim_t kMaxSeconds = 60;
// The first byte of an answer.
constexpr char kFunctions = 'f';
constexpr char kError = 'e';

// ---- the process ----

constexpr int kSocket = 3, kFile = 4, kShared = 5;  // its descriptors

void keep_only(int socket, int file, int shared) {
  const int null = ::open("/dev/null", O_RDWR);
  const std::array<std::pair<int, int>, 6> kept = {{{null, STDIN_FILENO},
                                                    {null, STDOUT_FILENO},
                                                    {null, STDERR_FILENO},
                                                    {socket, kSocket},
                                                    {file, kFile},
                                                    {shared < 0 ? null : shared, kShared}}};
  // First to numbers that none of them has.
  std::array<int, kept.size()> high{};
  for (size_t i = 0; i < kept.size(); i++) high[i] = ::fcntl(kept[i].first, F_DUPFD, 16);
  for (size_t i = 0; i < kept.size(); i++)
    if (::dup2(high[i], kept[i].second) < 0) ::_exit(EXIT_FAILURE);
  ::close_range(kShared + 1, ~0U, 0);
}

void set_limit(__rlimit_resource resource, rlim_t limit) {
  rlimit limits{};
  if (::getrlimit(resource, &limits) != 0) return;
  limits.rlim_cur = std::min(limit, limits.rlim_max);
  ::setrlimit(resource, &limits);
}

void limit_memory() {
  struct stat status{};
  const auto pages = read_file("/proc/self/statm", 4096);
  if (!pages || ::fstat(kFile, &status) != 0) return;
  const uint64_t now =
      std::strtoull(pages->c_str(), nullptr, 10) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  set_limit(RLIMIT_AS, now + static_cast<uint64_t>(status.st_size) + kMaxMemory);
}

// The limit is of all that the process takes, so it is moved with each request.
void limit_time() {
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) != 0) return;
  const auto seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1;
  set_limit(RLIMIT_CPU, static_cast<rlim_t>(seconds) + kMaxSeconds);
}

void limit_process() {
  limit_memory();
  set_limit(RLIMIT_CORE, 0);
  // DWARF may name further files, which libdw would open: also a FIFO, which never answers.
  set_limit(RLIMIT_NOFILE, 0);
  for (int number = 1; number < SIGRTMIN; number++) std::signal(number, SIG_DFL);
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE}) std::signal(number, SIG_IGN);
  sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string answer_of(const std::vector<SourceFunction>& functions) {
  std::string answer(1, kFunctions);
  for (const SourceFunction& function : functions) {
    const auto name = function.function.substr(0, kMaxText);
    const auto file = function.file.substr(0, kMaxText);
    if (answer.size() + name.size() + file.size() + 16 > kMaxAnswer) break;
    answer += fmt::format("{}{}{}{}{}{}", name, '\0', file, '\0', function.line, '\0');
  }
  return answer;
}

void answer_requests(int shared) {
  limit_time();
  const auto reader = LineReader::open(kFile, shared);
  uint64_t address = 0;
  while (::recv(kSocket, &address, sizeof address, 0) == sizeof address) {
    limit_time();
    const std::string answer =
        reader ? answer_of(reader->at(address)) : kError + reader.error().message;
    if (::send(kSocket, answer.data(), answer.size(), 0) < 0) return;
  }
}

[[noreturn]] void run_process(int socket, int file, int shared) {
  keep_only(socket, file, shared);
  limit_process();
  try {
    answer_requests(shared < 0 ? -1 : kShared);
  } catch (const std::exception&) {
    ::_exit(LineReader::kOutOfMemory);
  }
  ::_exit(EXIT_SUCCESS);
}

// ---- the one that asks ----

// The text at the start of `answer` up to a NUL, which it loses.
std::string take_text(std::string_view& answer) {
  const size_t end = std::min(answer.find('\0'), answer.size());
  std::string text(answer.substr(0, end));
  answer.remove_prefix(std::min(end + 1, answer.size()));
  return text;
}

std::vector<SourceFunction> functions_of_answer(std::string_view answer) {
  std::vector<SourceFunction> functions;
  while (!answer.empty()) {
    SourceFunction function;
    function.function = take_text(answer);
    function.file = take_text(answer);
    const std::string line = take_text(answer);
    std::from_chars(line.data(), line.data() + line.size(), function.line);
    functions.push_back(std::move(function));
  }
  return functions;
}

}  // namespace

SourceLines::SourceLines(std::string name, pid_t process, Fd socket)
    : name_(std::move(name)), process_(process), socket_(std::move(socket)) {}

SourceLines::SourceLines(SourceLines&& other) noexcept
    : name_(std::move(other.name_)),
      process_(std::exchange(other.process_, -1)),
      socket_(std::move(other.socket_)),
      error_(std::move(other.error_)) {}

SourceLines::~SourceLines() {
  if (process_ > 0) ::kill(process_, SIGKILL);
  static_cast<void>(why_it_ended());
}

Result<SourceLines> SourceLines::start(const ElfFile& file, const ElfFile* shared) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(ExitCode::os, "cannot make a socket: {}", errno_text(errno));
  Fd socket(ends[0]), other(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return fail(ExitCode::os, "cannot start a process: {}", errno_text(errno));
  if (process == 0)
    run_process(other.get(), file.file().get(), shared != nullptr ? shared->file().get() : -1);
  return SourceLines(file.name(), process, std::move(socket));
}

Result<std::vector<SourceFunction>> SourceLines::at(uint64_t address) {
  if (error_) return std::unexpected(*error_);
  std::string answer(kMaxAnswer, '\0');
  ssize_t got = ::send(socket_.get(), &address, sizeof address, MSG_NOSIGNAL);
  if (got > 0) do
      got = ::recv(socket_.get(), answer.data(), answer.size(), 0);
    while (got < 0 && errno == EINTR);
  answer.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (answer.starts_with(kFunctions))
    return functions_of_answer(std::string_view(answer).substr(1));
  const std::string why = answer.empty() ? why_it_ended() : answer.substr(1);
  error_ = Error{.code = ExitCode::data,
                 .message = fmt::format("cannot read the lines of {}: {}", name_, why),
                 .excerpt = {}};
  return std::unexpected(*error_);
}

// Waits for the end.
std::string SourceLines::why_it_ended() {
  int status = 0;
  socket_.reset();
  const pid_t process = std::exchange(process_, -1);
  while (process > 0 && ::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    return fmt::format("an answer takes more than {} s", kMaxSeconds);
  if (WIFSIGNALED(status))
    return fmt::format("libdw failed at it ({})", ::sigabbrev_np(WTERMSIG(status)));
  if (WEXITSTATUS(status) == LineReader::kOutOfMemory)
    return fmt::format("it takes more than {} GiB of memory", kMaxMemory >> 30);
  return "libdw failed at it";
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Ground truth of user stacks: what it has done, and where its functions are, reported as JSON.
//
//   stack_truth STEP…
//
// Steps are done one after the other. Some hold for the calls after them:
//
//   number=N           of the next call; each call has the next one
//   depth=N            how often descend() calls itself
//   through=WHAT       none, library (after open=), or jit: a function in anonymous memory, of
//                      which /tmp/perf-PID.map has the name
//   in=WHERE           main, thread, or child: a process that ends at once
//   above=START        start, broken, unreadable: what the frame pointer says above
//   do=ACTION          call, sleep, signal, or library: the C library makes the call, with 0 as the
//                      frame pointer
//   repeat=N           so many calls
//
// Others act:
//
//   call               makes the calls
//   wait               prints {"ready":PID}, and waits for a line on standard input
//   open=LIBRARY       dlopen()
//   close              dlclose()
//   map=THREADS        starts threads that map and unmap executable memory until the end
//   delete             removes the file of the program
//   same-addresses     the programs that are executed have the same addresses
//   exec=PROGRAM       executes it with the steps that follow
//   memfd              executes itself with them, from memory
//
// Before it ends or executes a program it prints a report: the file of the program, its build id,
// its process, the functions with their addresses and offsets in their files, and the calls.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "code.h"

namespace stack_truth {
namespace {

using nlohmann::json;
using Steps = std::span<const std::string>;

pid_t gettid_now() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

std::string own_file() {
  std::string path(PATH_MAX, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length < 0) die("readlink");
  path.resize(static_cast<size_t>(length));
  return path;
}

class Program {
 public:
  void run(Steps steps);

 private:
  void act(const std::string& step, const std::string& value, Steps rest);
  void call();
  void make_calls(uint64_t first) const;
  void wait() const;
  void report();
  [[noreturn]] void execute(int fd, Steps rest);
  [[nodiscard]] std::vector<std::string> frames() const;

  uint64_t number_ = 1;
  int depth_ = 0;
  std::string through_ = "none", where_ = "main", above_ = "start", action_ = "call";
  uint64_t repeat_ = 1;
  json calls_ = json::array();
  json functions_ = json::object();
  std::optional<std::string> perf_map_;
  std::optional<std::string> library_build_id_;
  Range jitted_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Mappers> mappers_;
};

// A function of a file.
void note(json& functions, const std::string& name, const Range& range) {
  functions[name] = {
      {"begin", range.begin}, {"end", range.end}, {"offset", place_of(range.begin).offset}};
}

void print(const json& line) {
  std::puts(line.dump().c_str());
  std::fflush(stdout);
}

// The innermost first.
std::vector<std::string> Program::frames() const {
  std::vector<std::string> names = {"leaf"};
  names.insert(names.end(), static_cast<size_t>(depth_) + 1, "descend");
  if (through_ == "library") names.emplace_back("through_library");
  if (through_ == "jit") names.emplace_back("jitted");
  names.insert(names.end(), {"plain_function", "turn", "call_below"});
  return names;
}

void Program::make_calls(uint64_t first) const {
  for (uint64_t i = 0; i < repeat_; ++i) {
    Call call{.action = action_ == "sleep"     ? Action::sleep
                        : action_ == "signal"  ? Action::signal
                        : action_ == "library" ? Action::library
                                               : Action::call,
              .number = first + i,
              .depth = depth_};
    if (through_ == "library") call.through = library_->function();
    if (through_ == "jit") call.through = reinterpret_cast<Through>(jitted_.begin);
    make(call, above_ == "broken"       ? Above::broken
               : above_ == "unreadable" ? Above::unreadable
                                        : Above::start);
  }
}

void Program::call() {
  if (through_ == "jit" && jitted_.begin == 0) {
    jitted_ = make_function();
    perf_map_ = write_perf_map(jitted_, "jitted");
    functions_["jitted"] = {{"begin", jitted_.begin}, {"end", jitted_.end}};
  }
  pid_t pid = ::getpid(), tid = gettid_now();
  if (where_ == "thread") {
    std::thread([&] {
      tid = gettid_now();
      make_calls(number_);
    }).join();
  } else if (where_ == "child") {
    pid = tid = ::fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
      make_calls(number_);
      ::_exit(0);
    }
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid || status != 0) die("the child has failed");
  } else {
    make_calls(number_);
  }
  calls_.push_back({{"first", number_},
                    {"count", repeat_},
                    {"pid", pid},
                    {"tid", tid},
                    {"frames", frames()},
                    {"end", above_},
                    {"do", action_}});
  number_ += repeat_;
}

void Program::wait() const {
  print({{"ready", ::getpid()}});
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
  }
}

void Program::report() {
  json line = {{"program", own_file()}, {"pid", ::getpid()}, {"calls", calls_}};
  for (const auto& [name, range] : known_functions()) note(functions_, name, range);
  line["functions"] = functions_;
  line["build_id"] = place_of(known_functions()["leaf"].begin).build_id;
  if (library_build_id_) line["library_build_id"] = *library_build_id_;
  if (perf_map_) line["perf_map"] = *perf_map_;
  if (mappers_) line["mapped"] = mappers_->mapped();
  print(line);
}

void Program::execute(int fd, Steps rest) {
  report();
  std::vector<std::string> words = {"stack_truth", "number=" + std::to_string(number_)};
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::fexecve(fd, arguments.data(), environ);
  die("execve");
}

int open_program(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) die("cannot open " + path);
  return fd;
}

int copy_in_memory() {
  const int from = open_program("/proc/self/exe");
  const int to = ::memfd_create("stack_truth", MFD_CLOEXEC);
  struct stat status{};
  if (to < 0 || ::fstat(from, &status) != 0) die("memfd_create");
  for (off_t done = 0; done < status.st_size;)
    if (::sendfile(to, from, &done, static_cast<size_t>(status.st_size - done)) <= 0)
      die("sendfile");
  return to;
}

void Program::act(const std::string& step, const std::string& value, Steps rest) {
  const std::map<std::string, std::function<void()>> steps = {
      {"number", [&] { number_ = std::stoull(value); }},
      {"depth", [&] { depth_ = std::stoi(value); }},
      {"through", [&] { through_ = value; }},
      {"in", [&] { where_ = value; }},
      {"above", [&] { above_ = value; }},
      {"do", [&] { action_ = value; }},
      {"repeat", [&] { repeat_ = std::stoull(value); }},
      {"call", [&] { call(); }},
      {"wait", [&] { wait(); }},
      {"open",
       [&] {
         library_ = std::make_unique<Library>(value);
         note(functions_, "through_library", library_->range());
         library_build_id_ = place_of(library_->range().begin).build_id;
       }},
      {"close", [&] { library_.reset(); }},
      {"map", [&] { mappers_ = std::make_unique<Mappers>(std::stoi(value)); }},
      {"delete",
       [&] {
         if (::unlink(own_file().c_str()) != 0) die("unlink");
       }},
      {"same-addresses",
       [&] {
         if (::personality(ADDR_NO_RANDOMIZE) < 0) die("personality");
       }},
      {"exec", [&] { execute(open_program(value), rest); }},
      {"memfd", [&] { execute(copy_in_memory(), rest); }},
  };
  const auto found = steps.find(step);
  if (found == steps.end()) die("there is no step " + step);
  found->second();
}

void Program::run(Steps steps) {
  for (size_t at = 0; at < steps.size(); ++at) {
    const size_t equals = steps[at].find('=');
    act(steps[at].substr(0, equals),
        equals == std::string::npos ? "" : steps[at].substr(equals + 1), steps.subspan(at + 1));
  }
  report();
}

}  // namespace
}  // namespace stack_truth

int main(int argc, char** argv) {
  const std::vector<std::string> steps(argv + 1, argv + argc);
  stack_truth::Program().run(steps);
  return 0;
}

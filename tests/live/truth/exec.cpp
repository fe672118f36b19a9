// SPDX-License-Identifier: BSD-2-Clause
// A chain of execve calls, and one of execveat, of this program under other names.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "truth.h"

namespace truth {
namespace {

namespace fs = std::filesystem;

// Path names for the program: short, with blanks and quotes, and longer than a record keeps.
std::vector<std::string> link_names(const std::string& directory) {
  std::string deep = directory;
  while (deep.size() < 400) deep += "/" + std::string(100, 'd');
  fs::create_directories(deep);
  std::vector<std::string> names = {directory + "/hop-one", directory + "/hop \"two\"\\n",
                                    deep + "/hop-three"};
  fs::path program = fs::read_symlink("/proc/self/exe");
  for (const std::string& name : names) {
    fs::remove(name);
    fs::create_symlink(program, name);
  }
  return names;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\") == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// What a record of exec keeps of the own arguments, as a shell reads them.
json kept_arguments() {
  constexpr size_t kKept = 512;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  const bool cut = text.size() > kKept;
  text.resize(cut ? kKept : text.size() - 1);
  std::string words;
  for (size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = text.find('\0', at);
    words += (at == 0 ? "" : " ") + quoted(text.substr(at, end - at));
  }
  return {{"text", words}, {"cut", cut}};
}

[[noreturn]] void become(const std::string& path, const json& report, bool by_execveat) {
  const std::string words = report.dump();
  const char* const arguments[] = {path.c_str(), "exec", words.c_str(), nullptr};
  if (by_execveat)
    ::syscall(SYS_execveat, AT_FDCWD, path.c_str(), arguments, environ, 0);
  else
    ::syscall(SYS_execve, path.c_str(), arguments, environ);
  die("exec " + path);
}

}  // namespace

// exec DIRECTORY: makes links to itself in DIRECTORY and runs through them; the second hop is an
// execveat, and the last one is taken by a thread that is not the leader. The state travels as an
// argument.
json exec_chain(Arguments arguments) {
  if (arguments.empty()) die("exec needs a directory");
  json report;
  if (arguments[0].starts_with("{"))
    report = json::parse(arguments[0]);
  else
    report = {{"left", link_names(arguments[0])}, {"hops", json::array()}};
  if (!report["hops"].empty()) {
    report["hops"].back()["comm"] = comm_now();
    report["hops"].back()["argv"] = kept_arguments();
  }
  report["parent"] = ::getppid();
  if (report["left"].empty()) return report;
  std::string next = report["left"][0];
  report["left"].erase(0);
  const bool by_thread = report["left"].empty(), by_execveat = report["left"].size() == 1;
  auto hop = [&] {
    report["hops"].push_back({{"filename", next}, {"caller", gettid_now()}, {"tid", ::getpid()}});
    become(next, report, by_execveat);
  };
  if (!by_thread) hop();
  std::thread(hop).join();
  die("the thread did not exec");
}

}  // namespace truth

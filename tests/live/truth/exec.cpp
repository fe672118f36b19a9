// SPDX-License-Identifier: BSD-2-Clause
// Programs that are executed: a chain of this program under other names, and by each call.
#include <elf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
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

// Memory that a 32-bit call can point to, shared with children.
struct LowMemory {
  pid_t caller;
  std::array<uint64_t, 2> arguments;       // for the 64-bit entry
  std::array<uint32_t, 2> arguments_ia32;  // for the 32-bit entry
  std::array<char, 512> path;
};

LowMemory& low_memory() {
  void* memory = ::mmap(nullptr, sizeof(LowMemory), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  return *static_cast<LowMemory*>(memory);
}

// A way to execute a program.
struct ExecCall {
  unsigned nr, abi;
  bool by_thread = false;
};

void exec_by(const ExecCall& way, LowMemory& low) {
  const auto path = reinterpret_cast<unsigned long>(low.path.data());
  const auto arguments = reinterpret_cast<unsigned long>(
      way.abi == 1 ? static_cast<void*>(low.arguments_ia32.data()) : low.arguments.data());
  low.arguments = {path, 0};
  low.arguments_ia32 = {static_cast<uint32_t>(path), 0};
  low.caller = gettid_now();
  constexpr unsigned kExecve = 59, kExecveIa32 = 11;
  if (way.abi == 1 && way.nr == kExecveIa32)
    ia32_call(way.nr, {static_cast<unsigned>(path), static_cast<unsigned>(arguments), 0, 0, 0});
  else if (way.abi == 1)
    ia32_call(way.nr, {static_cast<unsigned>(AT_FDCWD), static_cast<unsigned>(path),
                       static_cast<unsigned>(arguments), 0, 0});
  else if (way.nr == kExecve)
    raw_syscall(way.nr, {path, arguments, 0, 0, 0, 0});
  else
    raw_syscall(way.nr, {static_cast<unsigned long>(AT_FDCWD), path, arguments, 0, 0, 0});
}

// A child that executes `path`; "failed": it has gone on.
json child_that_execs(const ExecCall& way, const std::string& path, LowMemory& low) {
  constexpr int kFailed = 77;
  path.copy(low.path.data(), low.path.size() - 1);
  low.path.at(path.size()) = 0;
  const auto child = static_cast<pid_t>(check(::fork(), "fork"));
  if (child == 0) {
    if (way.by_thread)
      std::thread([&] { exec_by(way, low); }).join();
    else
      exec_by(way, low);
    ::_exit(kFailed);
  }
  json report = reap(child);
  report["nr"] = way.nr;
  report["abi"] = way.abi;
  report["caller"] = low.caller;
  report["failed"] = report["exit_code"] == kFailed;
  return report;
}

// A 64-bit program that the kernel begins to execute, and then cannot map: it ends the process.
void write_broken_program(const std::string& path) {
  struct {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
  } program = {};
  std::copy_n(ELFMAG, SELFMAG, program.header.e_ident);
  program.header.e_ident[EI_CLASS] = ELFCLASS64;
  program.header.e_ident[EI_DATA] = ELFDATA2LSB;
  program.header.e_ident[EI_VERSION] = EV_CURRENT;
  program.header.e_type = ET_EXEC;
  program.header.e_machine = EM_X86_64;
  program.header.e_version = EV_CURRENT;
  program.header.e_phoff = offsetof(decltype(program), segment);
  program.header.e_ehsize = sizeof(Elf64_Ehdr);
  program.header.e_phentsize = sizeof(Elf64_Phdr);
  program.header.e_phnum = 1;
  program.segment.p_type = PT_LOAD;
  program.segment.p_flags = PF_R | PF_X;
  program.segment.p_vaddr = program.segment.p_paddr = 0xffff800000000000;
  program.segment.p_filesz = program.segment.p_memsz = sizeof(program);
  program.segment.p_align = kPage;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(&program), sizeof(program));
  check(::chmod(path.c_str(), 0700), "chmod");
}

// A program that has a capability which no process may get that calls this before.
void write_program_beyond_rights(const std::string& path) {
  check(::prctl(PR_CAPBSET_DROP, CAP_NET_RAW), "prctl");
  write_broken_program(path);
  vfs_cap_data rights{};
  rights.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  rights.data[0].permitted = 1U << CAP_NET_RAW;
  check(::setxattr(path.c_str(), "security.capability", &rights, XATTR_CAPS_SZ_2, 0), "setxattr");
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

// exec-calls DIRECTORY: children that execute a 64-bit program by each call of both ABIs, one that
// is not there, and one that cannot be run.
json exec_calls(Arguments arguments) {
  if (arguments.empty()) die("exec-calls needs a directory");
  const std::string broken = arguments[0] + "/broken", missing = arguments[0] + "/missing";
  write_broken_program(broken);
  LowMemory& low = low_memory();
  json children = json::array();
  for (const bool by_thread : {false, true})
    for (const auto& [nr, abi] :
         {std::pair(59U, 0U), std::pair(322U, 0U), std::pair(11U, 1U), std::pair(358U, 1U)})
      for (const std::string& path : {std::string("/bin/true"), missing, broken})
        children.push_back(
            child_that_execs({.nr = nr, .abi = abi, .by_thread = by_thread}, path, low));
  return {{"children", std::move(children)}};
}

// exec-refused DIRECTORY: an execveat that the kernel refuses late, as its program would get rights
// that it may not have, and then an execve of a program that is not there.
json refused_execs(Arguments arguments) {
  if (arguments.empty()) die("exec-refused needs a directory");
  const std::string refused = arguments[0] + "/refused", missing = arguments[0] + "/missing";
  write_program_beyond_rights(refused);
  ::syscall(SYS_execveat, AT_FDCWD, refused.c_str(), nullptr, nullptr, 0);
  ::syscall(SYS_execve, missing.c_str(), nullptr, nullptr);
  return json::object();
}

}  // namespace truth

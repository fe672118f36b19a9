// SPDX-License-Identifier: BSD-2-Clause
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "truth.h"

namespace truth {
namespace {

const std::map<std::string_view, Action> kActions = {
    {"getppid", getppid_calls},
    {"numbered", numbered_calls},
    {"load", load},
    {"syscalls", known_syscalls},
    {"ia32", ia32_syscall},
    {"fork", fork_children},
    {"tree", process_tree},
    {"rename", rename_threads},
    {"exec", exec_chain},
    {"signal", signals},
    {"switch", switches},
    {"migrate", migrations},
    {"call", call_once},
    {"names", changing_names},
    {"kmem", kernel_memory},
    {"oom", out_of_memory},
    {"messages", leave_messages},
    {"harmless", harmless_calls},
    {"strings", string_arguments},
    {"nodes", memory_of_nodes},
    {"reuse", reused_ids},
    {"exec-calls", exec_calls},
    {"ends", ends_of_processes},
    {"users", changing_users},
    {"exec-refused", refused_execs},
};

void become_user(uid_t uid) {
  check(::setgroups(0, nullptr), "setgroups");
  check(::setresgid(uid, uid, uid), "setresgid");
  check(::setresuid(uid, uid, uid), "setresuid");
}

void enter_cgroup(const std::string& directory) {
  std::ofstream procs(directory + "/cgroup.procs");
  procs << ::getpid() << std::flush;
  if (!procs) die("cannot enter " + directory);
}

void wait_for_line() {
  std::string ready = json{{"ready", ::getpid()}}.dump() + "\n";
  check(::write(STDOUT_FILENO, ready.data(), ready.size()), "write");
  char byte = 0;
  while (check(::read(STDIN_FILENO, &byte, 1), "read") == 1 && byte != '\n') {
  }
}

// Applies the options and returns the index of the action's name.
size_t apply_options(Arguments words) {
  bool wait = false;
  size_t at = 0;
  for (; at < words.size() && words[at].starts_with("--"); ++at) {
    if (words[at] == "--wait") {
      wait = true;
      continue;
    }
    const std::string& option = words[at];
    if (++at == words.size()) die("an option lacks its value");
    const std::string& value = words[at];
    if (option == "--comm")
      check(::prctl(PR_SET_NAME, value.c_str()), "prctl");
    else if (option == "--uid")
      become_user(static_cast<uid_t>(std::stoul(value)));
    else if (option == "--cpu")
      pin_to_cpu(std::stoi(value));
    else if (option == "--cgroup")
      enter_cgroup(value);
    else
      die("unknown option " + option);
  }
  if (wait) wait_for_line();
  return at;
}

int run(Arguments words) {
  size_t at = apply_options(words);
  auto action = at < words.size() ? kActions.find(words[at]) : kActions.end();
  if (action == kActions.end()) die("no such action");
  json report = action->second(words.subspan(at + 1));
  report["pid"] = ::getpid();
  report["comm"] = comm_now();
  report["prio"] = prio_now();
  std::puts(report.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace truth

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  return truth::run(words);
}

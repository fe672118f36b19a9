// SPDX-License-Identifier: BSD-2-Clause
// Processes and threads: how they begin and end, and their names.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>

#include "truth.h"

namespace truth {
namespace {

pid_t fork_or_die() { return static_cast<pid_t>(check(::fork(), "fork")); }

// Results that the processes of a tree write into memory shared with their root.
struct TreeBook {
  struct Node {
    pid_t pid, parent;
    pid_t thread;  // its second thread
    int calls;     // getpriority calls of the whole process
  };
  static constexpr int kCapacity = 256;
  std::atomic<int> count = 0;
  std::array<Node, kCapacity> nodes;
};

TreeBook* shared_book() {
  void* memory =
      ::mmap(nullptr, sizeof(TreeBook), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  return new (memory) TreeBook;
}

constexpr int kCallsOfThread = 3;

void make_calls() {
  for (int i = 0; i < kCallsOfThread; ++i)
    raw_syscall(SYS_getpriority, {0, static_cast<unsigned long>(gettid_now()), 0, 0, 0, 0});
}

void write_down(TreeBook& book, pid_t parent) {
  pid_t thread = 0;
  std::thread([&] {
    thread = gettid_now();
    make_calls();
  }).join();
  make_calls();
  int index = book.count++;
  if (index >= TreeBook::kCapacity) die("the tree is too large");
  book.nodes[index] = {::getpid(), parent, thread, 2 * kCallsOfThread};
}

// Grows `width` children of depth - 1 each; every process waits for its own children,
// except for the first one of the root, which leaves its children as orphans.
void grow(TreeBook& book, pid_t parent, long width, long depth, bool abandons_children) {
  write_down(book, parent);
  std::vector<pid_t> children;
  pid_t self = ::getpid();
  for (long i = 0; depth > 0 && i < width; ++i) {
    pid_t child = fork_or_die();
    if (child == 0) {
      grow(book, self, width, depth - 1, parent == 0 && i == 0);
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children)
    if (!abandons_children) ::waitpid(child, nullptr, 0);
}

// Waits until only the calling thread lives.
void outlive_main_thread() {
  for (char state = ' '; state != 'Z';) {
    std::string text;
    std::getline(std::ifstream("/proc/self/stat"), text);
    state = text.at(text.rfind(')') + 2);
  }
}

// The ways in which the last thread of a process can end it.
[[noreturn]] void end_process(const std::string& way) {
  if (way == "exit") ::syscall(SYS_exit, 9);
  if (way == "exit-group") ::syscall(SYS_exit_group, 3);
  if (way == "killed") ::kill(::getpid(), SIGKILL);
  if (way == "terminated") ::kill(::getpid(), SIGTERM);
  if (way == "exec") ::execl("/bin/sh", "sh", "-c", "exit 0", nullptr);
  if (way == "exec-fails") ::execl("/bin/sh", "sh", "-c", "exit 4", nullptr);
  if (way == "exec-killed") ::execl("/bin/sh", "sh", "-c", "kill -TERM $$", nullptr);
  for (;;) ::pause();
}

}  // namespace

// ends: children whose main thread ends with 7, and then another thread in each way. In the last
// one the main thread ends after the other one, with 0.
json ends_of_processes(Arguments) {
  json children = json::array();
  for (const char* way :
       {"exit", "exit-group", "killed", "terminated", "exec", "exec-fails", "exec-killed"}) {
    const pid_t child = fork_or_die();
    if (child == 0) {
      std::thread([&] {
        outlive_main_thread();
        end_process(way);
      }).detach();
      ::syscall(SYS_exit, 7);
    }
    children.push_back(reap(child));
  }
  const pid_t child = fork_or_die();
  if (child == 0) {
    std::thread([] { ::syscall(SYS_exit, 5); }).join();
    ::_exit(0);
  }
  children.push_back(reap(child));
  return {{"children", std::move(children)}};
}

// fork N [THREADS]: N children ending with exit codes 0 … N-1, one killed by SIGKILL, one
// by SIGTERM, and THREADS threads of the process itself.
json fork_children(Arguments arguments) {
  json children = json::array(), threads = json::array();
  for (long i = 0; i < number(arguments, 0, 3); ++i) {
    pid_t child = fork_or_die();
    if (child == 0) ::_exit(static_cast<int>(i));
    children.push_back(reap(child));
  }
  for (int signal : {SIGKILL, SIGTERM}) {
    pid_t child = fork_or_die();
    if (child == 0)
      for (;;) ::pause();
    ::kill(child, signal);
    children.push_back(reap(child));
  }
  for (long i = 0; i < number(arguments, 1, 2); ++i) {
    pid_t tid = 0;
    std::thread([&] { tid = gettid_now(); }).join();
    threads.push_back(tid);
  }
  return {{"children", children}, {"threads", threads}};
}

// tree [WIDTH [DEPTH]]: a process tree, each process with a second thread and a known
// number of getpriority(0, TID) calls; some processes outlive their parent.
json process_tree(Arguments arguments) {
  // Orphans are reparented to this process, so that it ends last.
  check(::prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
  TreeBook& book = *shared_book();
  grow(book, 0, number(arguments, 0, 2), number(arguments, 1, 3), false);
  while (::wait(nullptr) > 0) {
  }
  json nodes = json::array();
  for (int i = 0; i < book.count; ++i) {
    const TreeBook::Node& node = book.nodes[i];
    nodes.push_back({{"pid", node.pid},
                     {"parent", node.parent},
                     {"thread", node.thread},
                     {"calls", node.calls}});
  }
  return {{"nodes", nodes}};
}

// rename: renames itself three times (the second name is too long and is truncated), and another of
// its threads through /proc.
json rename_threads(Arguments) {
  json renames = json::array();
  auto add = [&](pid_t tid, const std::string& from, const std::string& to) {
    renames.push_back({{"tid", tid}, {"old", from}, {"new", to}});
  };
  for (const char* name : {"first", "a-name-far-too-long", "spaced \"name\""}) {
    std::string old = comm_now();
    check(::prctl(PR_SET_NAME, name), "prctl");
    add(gettid_now(), old, comm_now());
  }
  std::atomic<pid_t> tid = 0;
  std::atomic<bool> done = false;
  std::thread other([&] {
    tid = gettid_now();
    tid.notify_one();
    done.wait(false);
  });
  tid.wait(0);
  std::string old = comm_now();  // a thread begins with the name of its creator
  std::ofstream("/proc/self/task/" + std::to_string(tid) + "/comm") << "other-thread";
  add(tid, old, "other-thread");
  done = true;
  done.notify_one();
  other.join();
  return {{"renames", renames}};
}

}  // namespace truth

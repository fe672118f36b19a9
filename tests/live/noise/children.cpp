// SPDX-License-Identifier: BSD-2-Clause
#include "children.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace noise {
namespace {

constexpr size_t kMostChildren = 8, kMostThreads = 6;

void prepare_child(pid_t parent, int parent_death_signal) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_PDEATHSIG, parent_death_signal);
  if (::getppid() != parent) ::_exit(1);  // it has died before the prctl
}

}  // namespace

pid_t fork_child(int parent_death_signal, const std::function<int()>& body) {
  const pid_t parent = ::getpid(), child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
  if (child > 0) return child;
  prepare_child(parent, parent_death_signal);
  ::_exit(body());
}

void Children::run(const std::function<int()>& body, const std::function<void(pid_t)>& meanwhile) {
  const pid_t child = fork_child(SIGKILL, body);
  if (meanwhile) meanwhile(child);
  ::waitpid(child, nullptr, 0);
}

void Children::keep(const std::function<int()>& body) {
  if (kept_.size() >= kMostChildren) {
    ::kill(kept_.front(), SIGKILL);
    ::waitpid(kept_.front(), nullptr, 0);
    kept_.erase(kept_.begin());
  }
  kept_.push_back(fork_child(SIGKILL, body));
}

void Children::signal_one(Dice& dice, int signal) {
  const uint64_t which = dice.below(kMostChildren);
  if (!kept_.empty()) ::kill(kept_[which % kept_.size()], signal);
}

void Children::reap() {
  // 0: the process group, to which the daemon does not belong.
  for (pid_t ended; (ended = ::waitpid(0, nullptr, WNOHANG)) > 0;) std::erase(kept_, ended);
}

void Children::end_all() {
  for (const pid_t child : kept_) ::kill(child, SIGKILL);
  kept_.clear();
  while (::waitpid(0, nullptr, 0) > 0 || errno == EINTR) {
  }
}

void Threads::start(std::function<void(std::stop_token)> body) {
  if (threads_.size() >= kMostThreads) threads_.erase(threads_.begin());
  threads_.emplace_back(std::move(body));
}

void Threads::stop_one(Dice& dice) {
  const uint64_t which = dice.below(kMostThreads);
  if (!threads_.empty())
    threads_.erase(threads_.begin() + static_cast<ptrdiff_t>(which % threads_.size()));
}

}  // namespace noise

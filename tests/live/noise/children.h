// SPDX-License-Identifier: BSD-2-Clause
// Processes and threads that the noise has started.
#pragma once

#include <sys/types.h>

#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "dice.h"

namespace noise {

// Forks a child that exits with the result of `body`. It blocks no signals, leaves no core file,
// and gets `parent_death_signal` when this program dies. Throws if it cannot fork.
pid_t fork_child(int parent_death_signal, const std::function<int()>& body);

// Children in this program's process group, and orphans of them. Kills them at the end.
class Children {
 public:
  Children() = default;
  ~Children() { end_all(); }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Runs `body` in a child and waits for its end. `meanwhile` gets its pid.
  void run(const std::function<int()>& body, const std::function<void(pid_t)>& meanwhile = {});
  // Runs `body` in a child that is kept. If there are too many, kills the oldest one.
  void keep(const std::function<int()>& body);
  // Sends a signal to one that is kept, if there is any.
  void signal_one(Dice& dice, int signal);
  // Waits for those that have ended.
  void reap();
  void end_all();

 private:
  std::vector<pid_t> kept_;  // in the order of their start; none has been waited for
};

// Threads that run until they are stopped.
class Threads {
 public:
  // If there are too many, stops the oldest one.
  void start(std::function<void(std::stop_token)> body);
  void stop_one(Dice& dice);

 private:
  std::vector<std::jthread> threads_;
};

}  // namespace noise

// SPDX-License-Identifier: BSD-2-Clause
// The ground-truth program.
#pragma once

#include "harness/daemon.h"

namespace ktraced::live {

// What it told: the last line it, or a command that ran it, wrote. Throws if that failed.
json told_by(const Finished& finished);

// Runs it to its end and returns what it told.
json run_truth(const Command& words);

// One that exists already but acts only when told to.
class WaitingTruth {
 public:
  // Starts it; then it sleeps until it is told to act, and no event is of it.
  explicit WaitingTruth(Command words);
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  // Lets it act, without waiting for it.
  void go();
  // Lets it act, if go() was not called, and returns what it told.
  json act();
  // Ends its input and returns what it told.
  json finish();

 private:
  Process process_;
  bool gone_ = false;
};

}  // namespace ktraced::live

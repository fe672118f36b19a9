// SPDX-License-Identifier: BSD-2-Clause
// The ground-truth program.
#pragma once

#include <cstdint>

#include "harness/client/daemon.h"

namespace ktraced::live {

// The result it printed: the last line of it, or of a command that ran it. Throws if that failed.
json truth_of(const Finished& finished);

// A name for its option --comm: threads of other tests, and of tests that another user of this
// machine runs, do not have it.
[[nodiscard]] std::string own_name();

// Runs it to its end and returns its result.
json run_truth(const Command& words);

// A process that already exists but waits before it acts.
class WaitingTruth {
 public:
  // Starts it. It sleeps and causes no events until go() or act().
  explicit WaitingTruth(Command words);
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  // Lets it act, without waiting for it.
  void go();
  // Lets it act, if go() was not called, and returns its result.
  json act();
  // Waits until it has slept again as often: an action with pauses sleeps after each call.
  void sleeps(uint64_t times) const;
  // Ends its input and returns its result.
  json finish();

 private:
  Process process_;
  bool gone_ = false;
};

}  // namespace ktraced::live

// The ground-truth program.
#pragma once

#include "harness/daemon.h"

namespace ktraced::live {

// Runs it to its end and returns what it told.
json run_truth(const Command& words);

// One that exists already but acts only when told to.
class WaitingTruth {
 public:
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

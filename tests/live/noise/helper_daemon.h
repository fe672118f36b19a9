// SPDX-License-Identifier: BSD-2-Clause
// Another ktraced on the machine, with its own configuration, socket and pins.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "children.h"
#include "dice.h"

namespace noise {

// Records all events into a small flight recorder and takes a snapshot now and then. Its files are
// in the directory; its pins in a directory of the same name in bpffs. The destructor ends it and
// removes the pins.
class HelperDaemon {
 public:
  // `dice` decides the configuration and the times of snapshots.
  HelperDaemon(std::filesystem::path program, std::filesystem::path directory, Dice dice);
  ~HelperDaemon();
  HelperDaemon(const HelperDaemon&) = delete;
  HelperDaemon& operator=(const HelperDaemon&) = delete;

  // False if it has ended by itself.
  [[nodiscard]] bool running();
  // Takes a snapshot if it is time for one; true if so. A client, if one is needed, is a child.
  bool snapshot_if_due(Children& children);
  // CPU time since it has been up; the start is not counted.
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const;
  // Ends it by SIGTERM, or by SIGKILL if that takes too long. False unless it ends with exit code
  // 0.
  bool stop();
  // How it has ended: "exit code N" or "signal N".
  [[nodiscard]] std::string end() const;
  // The last lines that it has written.
  [[nodiscard]] std::string end_of_log() const;

 private:
  using Clock = std::chrono::steady_clock;

  void write_config();
  [[nodiscard]] int execute() const;
  [[nodiscard]] bool answers();
  [[nodiscard]] std::chrono::nanoseconds clock_of_process() const;
  void request_snapshot(Children& children);

  std::filesystem::path program_, directory_, pins_, config_, socket_, log_;
  Dice dice_;
  pid_t pid_ = -1;  // -1: has been waited for
  int wait_status_ = 0;
  bool up_ = false;
  ktraced::Fd connection_;  // until it is up
  std::chrono::nanoseconds start_cost_{0};
  Clock::time_point due_ = Clock::now();
};

}  // namespace noise

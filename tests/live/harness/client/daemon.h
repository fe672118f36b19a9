// SPDX-License-Identifier: BSD-2-Clause
// A private ktraced for a test, and its client.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/client/rpc.h"
#include "harness/machine/process.h"
#include "harness/machine/temp_dir.h"

namespace ktraced::live {

using nlohmann::json;

// The programs under test.
extern const std::string kDaemonProgram, kClientProgram, kTruthProgram;

// The configuration with a filter for these processes: what others do fills no ring and is not
// counted.
[[nodiscard]] json for_processes(const std::vector<pid_t>& pids, json config);

// A running daemon with a private configuration, socket and directory. stop() stops and checks it;
// the destructor kills it otherwise. If the test has failed by then, the destructor prints its log.
class Daemon {
 public:
  // write_config() completes `config`. `wrapper` is a command that runs the words after it. Throws,
  // with the log, if the daemon does not answer.
  explicit Daemon(json config = json::object(), Command wrapper = {});
  ~Daemon();

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] const std::string& config_file() const { return config_file_; }
  // Directory in the BPF file system for pinned objects that outlive it.
  [[nodiscard]] const std::filesystem::path& pins() const { return pins_; }
  // The directory of the only object that is pinned there; throws if there is none.
  [[nodiscard]] std::filesystem::path pinned_object() const;
  [[nodiscard]] std::filesystem::path directory() const { return directory_.path(); }
  [[nodiscard]] std::string log() const { return process_->err() + process_->out(); }
  // True if the text is in its log, or appears soon: the log arrives through a pipe.
  [[nodiscard]] testing::AssertionResult logged(const std::string& text) const;
  [[nodiscard]] bool running() { return process_->running(); }
  void send(int signal) { process_->send(signal); }

  // Replaces the configuration file without a reload. Socket and directories are the test's, except
  // for those that `config` names. Events and the flight recorder are disabled unless `config` sets
  // them.
  void write_config(json config);
  void write_config_text(std::string_view text);

  // The result of a method; throws if it is an error.
  json call(std::string_view method, const json& params = json::object());
  // Returns the error object of a method that must fail.
  json call_error(std::string_view method, const json& params = json::object());
  // status.events[name]
  json event_status(const std::string& name);
  void enable(const std::vector<std::string>& names) { call("events.enable", {{"names", names}}); }
  void disable(const std::vector<std::string>& names) {
    call("events.disable", {{"names", names}});
  }
  void set_filter(const json& filter) { call("filter.set", {{"filter", filter}}); }

  // Runs ktracectl against this daemon.
  [[nodiscard]] Finished ctl(const Command& words) const;
  // The same, but it must succeed; returns its standard output.
  std::string ctl_ok(const Command& words) const;
  [[nodiscard]] Command ctl_command(const Command& words) const;

  // Sends SIGTERM and waits for the end.
  Finished stop();
  // Ends it by `signal` without checks; its pinned objects stay.
  void end(int signal);
  // Restarts it after stop() or end(), with the current configuration.
  void start();

 private:
  TempDir directory_;
  Command wrapper_;
  std::string socket_, config_file_;
  std::filesystem::path pins_;
  std::unique_ptr<Process> process_;
};

}  // namespace ktraced::live

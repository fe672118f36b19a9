// SPDX-License-Identifier: BSD-2-Clause
// A ktraced of the test's own, and its client.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/process.h"
#include "harness/rpc.h"
#include "harness/temp_dir.h"

namespace ktraced::live {

using nlohmann::json;

// The programs under test.
extern const std::string kDaemonProgram, kClientProgram, kTruthProgram;

// A running daemon with a configuration, a socket and a directory of its own. Stopped and
// checked by stop(); killed when it goes out of scope without it. If the test has failed
// by then, its log is printed.
class Daemon {
 public:
  // `config` is completed by write_config(); `wrapper` is a command that runs the one it is
  // followed by. Throws, with the log, if the daemon does not answer.
  explicit Daemon(json config = json::object(), Command wrapper = {});
  ~Daemon();

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] const std::string& config_file() const { return config_file_; }
  // Where in the BPF file system it pins what is to outlive it.
  [[nodiscard]] const std::filesystem::path& pins() const { return pins_; }
  [[nodiscard]] std::filesystem::path directory() const { return directory_.path(); }
  [[nodiscard]] std::string log() const { return process_->err() + process_->out(); }
  // Is that in its log, now or soon? What it writes comes through a pipe.
  [[nodiscard]] testing::AssertionResult logged(const std::string& text) const;
  [[nodiscard]] bool running() { return process_->running(); }
  void send(int signal) { process_->send(signal); }

  // Replaces the configuration file; the daemon is not told. Socket and directories are
  // the test's own, but for those that `config` names; events and the flight recorder are off
  // unless `config` speaks of them.
  void write_config(json config);
  void write_config_text(std::string_view text);

  // The result of a method; throws if it is an error.
  json call(std::string_view method, const json& params = json::object());
  // The error object of a method that must fail.
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

  // SIGTERM, and the end that follows.
  Finished stop();
  // Ends it by `signal` without a check; what it has pinned stays.
  void end(int signal);
  // Starts it again, after stop() or end(), with the configuration as it is now.
  void start();

 private:
  TempDir directory_;
  Command wrapper_;
  std::string socket_, config_file_;
  std::filesystem::path pins_;
  std::unique_ptr<Process> process_;
};

}  // namespace ktraced::live

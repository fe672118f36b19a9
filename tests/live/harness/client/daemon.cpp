// SPDX-License-Identifier: BSD-2-Clause
#include "harness/client/daemon.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace ktraced::live {

namespace {

// ktraced and ktracectl may be those of another build, with a sanitizer for instance.
std::string tested_program(const std::string& name) {
  const char* directory = std::getenv("KTRACED_TEST_PROGRAMS");
  return std::string(directory == nullptr ? KTRACED_BINARY_DIR : directory) + "/" + name;
}

}  // namespace

const std::string kDaemonProgram = tested_program("ktraced");
const std::string kClientProgram = tested_program("ktracectl");
const std::string kTruthProgram = KTRACED_BINARY_DIR "/truth";

json for_processes(const std::vector<pid_t>& pids, json config) {
  config["filter"]["pid"] = pids;
  return config;
}

Daemon::Daemon(json config, Command wrapper)
    : wrapper_(std::move(wrapper)),
      socket_(directory_.path() / "control.sock"),
      config_file_(directory_.path() / "config.json"),
      pins_("/sys/fs/bpf" / directory_.path().filename()) {
  write_config(std::move(config));
  start();
}

void Daemon::start() {
  Command command = wrapper_;
  command.insert(command.end(), {kDaemonProgram, "--config", config_file_});
  process_ = std::make_unique<Process>(command);
  const auto up = [this] {
    try {
      return RpcConnection::answers(socket_) && call("version").is_object();
    } catch (const std::runtime_error&) {  // it has listened, and then failed
      return false;
    }
  };
  if (!eventually([&] { return !running() || up(); }) || !running()) {
    const std::string how =
        running() ? "" : fmt::format(" (exit code {})", process_->wait().exit_code);
    throw std::runtime_error(fmt::format("the daemon did not come up{}; it wrote: {}", how, log()));
  }
}

Daemon::~Daemon() {
  std::string written = log();
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(pins_, ignored);  // left by a daemon that was killed
  if (testing::Test::HasFailure()) std::cerr << "---- log of the daemon:\n" << written << "----\n";
}

void Daemon::write_config(json config) {
  config["control"]["socket"] = socket_;
  if (!config.contains("bpffs")) config["bpffs"] = pins_;
  if (!config.contains("events")) config["events"] = json::object();
  if (!config.contains("flight")) config["flight"]["enabled"] = false;
  if (!config["flight"].contains("directory"))
    config["flight"]["directory"] = directory_.path() / "snapshots";
  write_config_text(config.dump(2));
}

void Daemon::write_config_text(std::string_view text) {
  std::ofstream(config_file_, std::ios::trunc) << text;
}

json Daemon::call(std::string_view method, const json& params) {
  json answer = RpcConnection(socket_).call(method, params);
  if (!answer.contains("result"))
    throw std::runtime_error(fmt::format("{} failed: {}", method, answer.dump()));
  return answer["result"];
}

json Daemon::call_error(std::string_view method, const json& params) {
  json answer = RpcConnection(socket_).call(method, params);
  if (!answer.contains("error"))
    throw std::runtime_error(fmt::format("{} should have failed: {}", method, answer.dump()));
  return answer["error"];
}

std::filesystem::path Daemon::pinned_object() const {
  for (const auto& entry : std::filesystem::directory_iterator(pins_))
    if (entry.path().filename().string().starts_with("object-")) return entry.path();
  throw std::runtime_error("no object is pinned in " + pins_.string());
}

json Daemon::event_status(const std::string& name) { return call("status")["events"][name]; }

Command Daemon::ctl_command(const Command& words) const {
  Command command = {kClientProgram, "--socket", socket_};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

Finished Daemon::ctl(const Command& words) const { return run(ctl_command(words)); }

std::string Daemon::ctl_ok(const Command& words) const {
  Finished finished = ctl(words);
  EXPECT_EQ(finished.exit_code, 0)
      << "ktracectl " << fmt::format("{}", fmt::join(words, " ")) << ": " << finished.err;
  return finished.out;
}

testing::AssertionResult Daemon::logged(const std::string& text) const {
  if (eventually([&] { return log().contains(text); })) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the log does not say '" << text << "'";
}

Finished Daemon::stop() {
  send(SIGTERM);
  return process_->wait();
}

void Daemon::end(int signal) {
  send(signal);
  static_cast<void>(process_->wait());
}

}  // namespace ktraced::live

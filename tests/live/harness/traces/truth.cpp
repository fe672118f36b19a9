// SPDX-License-Identifier: BSD-2-Clause
#include "harness/traces/truth.h"

#include <fmt/format.h>
#include <unistd.h>

namespace ktraced::live {
namespace {

Command truth_command(const Command& words) {
  Command command = {kTruthProgram};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

// How often the main thread of a process has given up its CPU by itself.
uint64_t voluntary_switches(pid_t pid) {
  const std::string switches = process_status(pid, "voluntary_ctxt_switches");
  if (switches.empty()) throw std::runtime_error("truth has ended");
  return std::stoull(switches);
}

}  // namespace

json truth_of(const Finished& finished) {
  if (finished.exit_code != 0)
    throw std::runtime_error(fmt::format("truth failed with {} (signal {}): {}", finished.exit_code,
                                         finished.signal, finished.err));
  std::string_view text = finished.out;
  if (text.ends_with('\n')) text.remove_suffix(1);
  return json::parse(text.substr(text.rfind('\n') + 1));
}

std::string own_name() { return fmt::format("own-{}", ::getpid()); }

json run_truth(const Command& words) { return truth_of(run(truth_command(words))); }

WaitingTruth::WaitingTruth(Command words)
    : process_(truth_command([&] {
        words.insert(words.begin(), "--wait");
        return words;
      }())) {
  const auto waits = [this] { return process_.out().ends_with('\n') && process_.asleep(); };
  if (!eventually([&] { return waits() || !process_.running(); }) || !process_.running())
    throw std::runtime_error("truth did not get ready: " + process_.err());
}

void WaitingTruth::go() {
  if (!gone_) process_.write_input("\n");
  gone_ = true;
}

void WaitingTruth::sleeps(uint64_t times) const {
  const uint64_t until = voluntary_switches(pid()) + times;
  if (!eventually([&] { return voluntary_switches(pid()) >= until; }))
    throw std::runtime_error("truth does not sleep");
}

json WaitingTruth::act() {
  go();
  return truth_of(process_.wait());
}

json WaitingTruth::finish() {
  process_.close_input();
  return truth_of(process_.wait());
}

}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/command_lines.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "trace/metadata/command_record.h"

namespace ktraced {
namespace {

// By process id. A process that ends makes room for another one with its id.
using Commands = std::map<uint32_t, ProcCommand>;

}  // namespace

// Shared with the thread, which may outlive its owner.
struct CommandLines::State {
  explicit State(Source from) : source(std::move(from)) {}

  void work();
  void scan();

  const Source source;
  std::mutex mutex;
  std::condition_variable changed;
  Commands known;         // guarded by mutex
  uint64_t asked = 0;     // scans; guarded by mutex
  uint64_t done = 0;      // the last scan that has ended; guarded by mutex
  bool running = false;   // there is a thread; guarded by mutex
  bool is_stuck = false;  // a scan takes too long; guarded by mutex
  bool ending = false;    // guarded by mutex
};

void CommandLines::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ending || done != asked; });
    if (ending) return;
    const uint64_t number = asked;
    lock.unlock();
    try {
      scan();
    } catch (const std::exception& error) {  // no memory: those read so far stay known
      spdlog::warn("not all command lines of processes were read: {}", error.what());
    }
    lock.lock();
    done = number;
    is_stuck = false;
    changed.notify_all();
  }
}

// What was known stays until the end: the next process may hang.
void CommandLines::State::scan() {
  Commands found;
  size_t bytes = 0;
  source.for_each_process([&](uint32_t pid) {
    auto command = source.read(pid);
    const std::lock_guard lock(mutex);
    if (command) {
      bytes += command_record_size(command->text.size());
      if (bytes > kMaxBytes) return false;
      known[pid] = *command;
      found[pid] = std::move(*command);
    }
    return !ending;
  });
  const std::lock_guard lock(mutex);
  known = std::move(found);
}

CommandLines::CommandLines() : CommandLines(Source(), kPatience) {}

CommandLines::CommandLines(Source source, std::chrono::milliseconds patience)
    : state_(std::make_shared<State>(std::move(source))), patience_(patience) {}

CommandLines::~CommandLines() {
  const std::lock_guard lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
}

std::vector<std::byte> CommandLines::records(std::optional<uid_t> only_of) const {
  std::unique_lock lock(state_->mutex);
  if (!state_->running) {
    try {
      std::thread thread([state = state_] { state->work(); });
      ::pthread_setname_np(thread.native_handle(), "commands");
      thread.detach();
      state_->running = true;
    } catch (const std::system_error&) {
      return {};  // no thread is left; the next trace may have them
    }
  }
  const uint64_t number = ++state_->asked;
  state_->changed.notify_all();
  if (!state_->is_stuck)
    state_->is_stuck = !state_->changed.wait_for(
        lock, patience_, [&] { return state_->done >= number || state_->is_stuck; });
  std::vector<std::byte> records;
  for (const auto& [pid, command] : state_->known)
    if (!only_of || command.uid == only_of)
      append_command_record({.pid = pid,
                             .read_ns = command.read_ns,
                             .start_ns = command.start_ns,
                             .text = command.text,
                             .cut = command.cut},
                            records);
  return records;
}

}  // namespace ktraced

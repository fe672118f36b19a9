// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/symbols/command_lines.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "trace/metadata/command_record.h"
#include "trace/metadata/lost_names.h"

namespace ktraced {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// Shared with the thread, which may outlive its owner.
struct CommandLines::State {
  // A process as it was read.
  struct Known {
    ProcProgram program;
    std::optional<ProcCommand> command;  // nothing: it has none, or could not be read now
    bool settled = false;                // it need not be read again
    uint64_t seen = 0;                   // the last look that has met it

    [[nodiscard]] size_t bytes() const {
      return sizeof(*this) + (command ? command->text.size() : 0);
    }
  };

  State(Source from, const Limits& at_most) : source(std::move(from)), limits(at_most) {}

  static bool ask(const std::shared_ptr<State>& state);
  void work();
  void look(uint64_t number);
  void drop_ended();
  [[nodiscard]] std::vector<uint32_t> pids_to_visit();
  void visit(uint32_t pid, uint64_t number);
  bool is_read(uint32_t pid, const ProcProgram& program, uint64_t number);
  void keep(uint32_t pid, Known process);
  void wait(std::unique_lock<std::mutex>& lock, uint64_t number, Wait wait);

  const Source source;
  const Limits limits;
  std::mutex mutex;
  std::condition_variable changed;
  // Processes by id. One that ends makes room for another one with its id.
  std::map<uint32_t, Known> known;  // guarded by mutex
  size_t bytes = 0;                 // of all in `known`; guarded by mutex
  uint64_t asked = 0;               // looks; guarded by mutex
  uint64_t done = 0;                // the last look that has ended; guarded by mutex
  uint64_t complete = 0;            // the last look that has met all; guarded by mutex
  uint64_t omitted = 0;             // the last look that had no room for one; guarded by mutex
  Clock::time_point progress;       // a look began, or visited a process; guarded by mutex
  bool running = false;             // there is a thread; guarded by mutex
  bool ending = false;              // guarded by mutex
};

// Call it with the mutex. False: no thread is left; a later look may get one.
bool CommandLines::State::ask(const std::shared_ptr<State>& state) {
  if (!state->running) {
    try {
      std::thread thread([state] { state->work(); });
      ::pthread_setname_np(thread.native_handle(), "commands");
      thread.detach();
      state->running = true;
    } catch (const std::system_error&) {
      return false;
    }
  }
  if (state->done == state->asked) state->progress = Clock::now();
  ++state->asked;
  state->changed.notify_all();
  return true;
}

void CommandLines::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ending || done != asked; });
    if (ending) return;
    const uint64_t number = asked;
    progress = Clock::now();
    lock.unlock();
    bool failed = false;
    try {
      look(number);
    } catch (const std::exception& error) {  // no memory: those read so far stay known
      spdlog::warn("not all command lines of processes were read: {}", error.what());
      failed = true;
    }
    lock.lock();
    done = number;
    if (!failed) complete = number;
    changed.notify_all();
  }
}

// What was known stays until the end: the next process may hang.
void CommandLines::State::look(uint64_t number) {
  drop_ended();
  for (const uint32_t pid : pids_to_visit()) {
    visit(pid, number);
    const std::lock_guard lock(mutex);
    progress = Clock::now();
    if (ending) return;
  }
}

// A process that the last complete look has not met had ended by then.
void CommandLines::State::drop_ended() {
  const std::lock_guard lock(mutex);
  std::erase_if(known, [this](const auto& process) {
    if (process.second.seen >= complete) return false;
    bytes -= process.second.bytes();
    return true;
  });
}

// The unknown ones first: somebody may wait for them.
std::vector<uint32_t> CommandLines::State::pids_to_visit() {
  std::vector<uint32_t> pids;
  source.for_each_process([&](uint32_t pid) {
    pids.push_back(pid);
    return true;
  });
  const std::lock_guard lock(mutex);
  std::ranges::stable_partition(pids, [this](uint32_t pid) { return !known.contains(pid); });
  return pids;
}

// The program is read before its command line: if an exec comes in between, the next look finds
// another program.
void CommandLines::State::visit(uint32_t pid, uint64_t number) {
  auto program = source.program(pid);
  if (!program || is_read(pid, *program, number)) return;
  const auto age = std::chrono::nanoseconds(boottime_ns() - program->start_ns);
  auto command = source.read(pid);
  if (command && command->start_ns != program->start_ns) return;  // another one has its id now
  const bool settled = command && age >= limits.settles;
  keep(pid, {.program = std::move(*program),
             .command = std::move(command),
             .settled = settled,
             .seen = number});
}

// True: the same program has been read, and has settled.
bool CommandLines::State::is_read(uint32_t pid, const ProcProgram& program, uint64_t number) {
  const std::lock_guard lock(mutex);
  const auto found = known.find(pid);
  if (found == known.end() || found->second.program != program) return false;
  found->second.seen = number;
  return found->second.settled;
}

// A process that has no command line any more is a zombie, or could not be read now: it keeps the
// one of its program. During an exec the new program has none for a moment.
void CommandLines::State::keep(uint32_t pid, Known process) {
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(pid); found != known.end()) {
    Known& before = found->second;
    bytes -= before.bytes();
    if (!process.command && before.program == process.program)
      process.command = std::move(before.command);
    known.erase(found);
  }
  if (bytes + process.bytes() > limits.bytes) {
    if (process.command) omitted = process.seen;
    return;
  }
  bytes += process.bytes();
  known.emplace(pid, std::move(process));
}

// Nobody waits while a process hangs, also if the look that it holds up was asked for by another.
void CommandLines::State::wait(std::unique_lock<std::mutex>& lock, uint64_t number, Wait wait) {
  const auto deadline = Clock::now() + (wait == Wait::briefly ? limits.briefly : limits.for_all);
  while (done < number) {
    const auto until = std::min(deadline, progress + limits.patience);
    if (Clock::now() >= until) return;
    changed.wait_until(lock, until);
  }
}

CommandLines::CommandLines() : CommandLines(Source(), Limits()) {}

CommandLines::CommandLines(Source source, const Limits& limits)
    : state_(std::make_shared<State>(std::move(source), limits)) {}

CommandLines::~CommandLines() {
  const std::lock_guard lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
}

void CommandLines::look() const {
  const std::lock_guard lock(state_->mutex);
  State::ask(state_);
}

std::vector<std::byte> CommandLines::records(std::optional<uid_t> only_of, Wait wait) const {
  std::unique_lock lock(state_->mutex);
  if (!State::ask(state_)) return unread_commands_record();
  const uint64_t number = state_->asked;
  state_->wait(lock, number, wait);
  std::vector<std::byte> records;
  records.reserve(state_->bytes);  // a record is not longer
  for (const auto& [pid, process] : state_->known) {
    const auto& command = process.command;
    if (command && (!only_of || command->uid == only_of))
      append_command_record({.pid = pid,
                             .read_ns = command->read_ns,
                             .start_ns = command->start_ns,
                             .text = command->text,
                             .cut = command->cut,
                             .parent = command->parent},
                            records);
  }
  if (state_->omitted != 0 && state_->omitted >= state_->complete) {
    const std::vector<std::byte> lost = lost_commands_record();
    records.insert(records.end(), lost.begin(), lost.end());
  }
  if (state_->complete < number) {
    const std::vector<std::byte> unread = unread_commands_record();
    records.insert(records.end(), unread.begin(), unread.end());
  }
  return records;
}

}  // namespace ktraced

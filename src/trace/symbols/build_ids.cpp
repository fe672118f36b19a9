// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/build_ids.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/files/lines.h"
#include "base/files/read_file.h"
#include "trace/symbols/elf_file.h"
#include "trace/symbols/perf_map.h"

namespace ktraced {
namespace {

using Clock = std::chrono::steady_clock;

// Overlays and btrfs report another device than the kernel has.
bool is_same(const struct stat& status, const MappedFile& file) {
  constexpr uint64_t kSecond = 1'000'000'000;
  return status.st_ino == file.inode && static_cast<uint64_t>(status.st_ctim.tv_sec) * kSecond +
                                                static_cast<uint64_t>(status.st_ctim.tv_nsec) ==
                                            file.changed_ns;
}

// Nothing: the file is not at this path. Another one there is not opened: that may have effects on
// a device, and a file system of a user may let it wait.
std::optional<std::string> build_id_at(const std::string& path, const MappedFile& file) {
  auto opened = open_expected_at(AT_FDCWD, path,
                                 [&](const struct stat& status) { return is_same(status, file); });
  if (!opened) return std::nullopt;
  auto elf = ElfFile::read(std::move(*opened), path);
  return elf && is_build_id(elf->build_id()) ? elf->build_id() : std::string();
}

uint64_t number_of(std::string_view digits, int base) {
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return number;
}

// The links to the mappings of a process that have this inode: "/proc/7/map_files/400000-401000".
std::vector<std::string> links_to(uint64_t inode, uint32_t process) {
  std::vector<std::string> links;
  const std::string directory = fmt::format("/proc/{}", process);
  // "7f0000026000-7f000017c000 r-xp 00026000 fe:00 332835    /usr/lib/libc.so.6"
  static_cast<void>(for_each_line_of(directory + "/maps", [&](std::string_view line) {
    std::array<std::string_view, 5> fields;
    std::string_view rest = line;
    for (std::string_view& field : fields) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      field = rest.substr(0, rest.find(' '));
      rest.remove_prefix(field.size());
    }
    const std::string_view addresses = fields[0];
    const size_t dash = std::min(addresses.find('-'), addresses.size() - 1);
    if (number_of(fields[4], 10) == inode && fields[1].contains('x'))
      links.push_back(fmt::format("{}/map_files/{:x}-{:x}", directory,
                                  number_of(addresses.substr(0, dash), 16),
                                  number_of(addresses.substr(dash + 1), 16)));
  }));
  return links;
}

}  // namespace

std::string read_build_id(const MappedFile& file, uint32_t process) {
  std::vector<std::string> paths;
  if (!file.deleted && file.path.starts_with('/')) {
    paths.push_back(file.path);
    if (process != 0) paths.push_back(fmt::format("/proc/{}/root{}", process, file.path));
  }
  for (const std::string& path : paths)
    if (auto id = build_id_at(path, file)) return std::move(*id);
  if (process == 0) return {};
  for (const std::string& link : links_to(file.inode, process))
    if (auto id = build_id_at(link, file)) return std::move(*id);
  return {};
}

// Shared with the threads, which may outlive their owner.
struct BuildIds::State {
  struct Asked {
    uint64_t number;
    std::function<std::string()> read;
  };

  State(Read from, const Limits& at_most) : read(std::move(from)), limits(at_most) {}

  static void start(const std::shared_ptr<State>& state);
  static void ask(const std::shared_ptr<State>& state, Asked next);
  void work(uint64_t thread);
  [[nodiscard]] bool hangs() const { return busy && Clock::now() >= begun + limits.patience; }
  [[nodiscard]] bool done() const { return asked.empty() && !busy; }

  const Read read;
  const Limits limits;
  std::mutex mutex;
  std::condition_variable changed;
  // Everything below is guarded by the mutex.
  std::unordered_map<uint64_t, std::string> known;  // by number: of a file, or of another read
  std::deque<Asked> asked;
  std::unordered_set<uint64_t> pending;  // numbers of those, and of the file that is being read
  bool busy = false;                     // a file is being read
  Clock::time_point begun;               // since then
  uint64_t thread = 0;                   // the thread that works
  size_t left_behind = 0;                // threads before it that still hang
  uint64_t others = 0;                   // reads that are of no mapped file: 1, 2, …
  bool running = false;                  // there is one
  bool ending = false;
};

// Call it with the mutex. A thread that hangs is replaced: it returns when its file does.
void BuildIds::State::start(const std::shared_ptr<State>& state) {
  if (state->running && !state->hangs()) return;
  if (state->running && state->left_behind >= state->limits.hanging) return;
  const uint64_t number = state->thread + 1;
  try {
    std::thread thread([state, number] { state->work(number); });
    ::pthread_setname_np(thread.native_handle(), "build-ids");
    thread.detach();
  } catch (const std::system_error&) {
    return;  // the next one who asks gets it
  }
  if (state->running) ++state->left_behind;
  state->thread = number;
  state->running = true;
  state->busy = false;
}

void BuildIds::State::work(uint64_t number) {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return ending || thread != number || !asked.empty(); });
    if (ending || thread != number) return;
    const Asked next = std::move(asked.front());
    asked.pop_front();
    busy = true;
    begun = Clock::now();
    changed.notify_all();
    lock.unlock();
    std::string id;
    try {
      id = next.read();
    } catch (const std::exception&) {  // no memory
    }
    lock.lock();
    if (pending.erase(next.number) != 0) {  // somebody waits for it
      if (known.size() >= limits.known) known.clear();
      known.insert_or_assign(next.number, std::move(id));
    }
    if (thread != number) {
      --left_behind;
      return;
    }
    busy = false;
    changed.notify_all();
  }
}

BuildIds::BuildIds() : BuildIds(read_build_id, Limits()) {}

BuildIds::BuildIds(Read read, const Limits& limits)
    : state_(std::make_shared<State>(std::move(read), limits)) {}

BuildIds::~BuildIds() {
  const std::lock_guard lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
}

// Call it with the mutex.
void BuildIds::State::ask(const std::shared_ptr<State>& state, Asked next) {
  if (state->asked.size() >= state->limits.asked) return;
  start(state);
  state->pending.insert(next.number);
  state->asked.push_back(std::move(next));
  state->changed.notify_all();
}

void BuildIds::ask(const MappedFile& file, uint32_t process) const {
  const std::lock_guard lock(state_->mutex);
  if (state_->known.contains(file.number) || state_->pending.contains(file.number)) return;
  State::ask(state_, {.number = file.number, .read = [read = state_->read, file, process] {
                        return read(file, process);
                      }});
}

uint64_t BuildIds::ask(std::function<std::string()> read) const {
  const std::lock_guard lock(state_->mutex);
  const uint64_t number = ++state_->others;
  State::ask(state_, {.number = number, .read = std::move(read)});
  return number;
}

void BuildIds::wait() const {
  std::unique_lock lock(state_->mutex);
  const auto deadline = Clock::now() + state_->limits.for_all;
  while (!state_->done() && Clock::now() < deadline) {
    State::start(state_);
    const auto until = state_->busy ? state_->begun + state_->limits.patience : deadline;
    if (state_->hangs()) return;  // no thread is left to replace it
    state_->changed.wait_until(lock, std::min(deadline, until));
  }
}

std::optional<std::string> BuildIds::find(uint64_t number) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->known.find(number);
  return found == state_->known.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> BuildIds::take(uint64_t number) const {
  const std::lock_guard lock(state_->mutex);
  if (auto taken = state_->known.extract(number); !taken.empty()) return std::move(taken.mapped());
  state_->pending.erase(number);
  std::erase_if(state_->asked, [&](const State::Asked& each) { return each.number == number; });
  return std::nullopt;
}

namespace {

constexpr size_t kMaxJitProcesses = 64;  // of a trace

// A mapping with code that a process has made.
struct JitMapping {
  uint64_t shown = 0;  // where the trace has it
  uint64_t start = 0, end = 0;
};

// The code of a process, and where its names are.
struct JitProcess {
  ProcessId process;
  std::vector<JitMapping> mappings = {};
  std::vector<uint64_t> addresses = {};
  uint64_t read = 0;  // number of the read; 0: whose process it is, is not known
  // Why it failed, once its result is known.
  std::shared_ptr<Result<>> failure = std::make_shared<Result<>>();
};

void add_mapping(const JitCode::Mapping& mapping, const RealStart& real, JitProcess& process) {
  const auto start = real ? real(mapping.start) : mapping.start;
  if (!start) return;
  process.mappings.push_back(
      {.shown = mapping.start, .start = *start, .end = *start + (mapping.end - mapping.start)});
  for (const uint64_t address : mapping.addresses)
    process.addresses.push_back(*start + (address - mapping.start));
}

std::vector<JitProcess> jit_processes(const JitCode& code, const RealStart& real) {
  std::vector<JitProcess> processes;
  for (const JitCode::Mapping& mapping : code.mappings()) {
    if (processes.empty() || processes.back().process != mapping.process) {
      if (processes.size() == kMaxJitProcesses) break;
      processes.push_back({.process = mapping.process});
    }
    add_mapping(mapping, real, processes.back());
  }
  for (JitProcess& process : processes) std::ranges::sort(process.addresses);
  return processes;
}

// Functions that are not in one of the mappings are left out: a process may say anything.
void add_functions(const JitProcess& process, std::string_view lines, TraceWriter& writer) {
  for_each_line(lines, [&](std::string_view text) {
    const auto line = perf_map_line(text);
    if (!line) return;
    const auto mapping = std::ranges::find_if(process.mappings, [&](const JitMapping& each) {
      return line->address >= each.start && line->address < each.end &&
             line->size <= each.end - line->address;
    });
    if (mapping == process.mappings.end()) return;
    writer.add_jit_function({.process = process.process,
                             .address = mapping->shown + (line->address - mapping->start),
                             .size = line->size,
                             .name = std::string(line->name)});
  });
}

void ask_functions(const BuildIds& ids, const TraceWriter& writer, JitProcess& each) {
  const auto user = writer.user_of(each.process);
  if (!user) return;
  each.read = ids.ask([process = each.process, user = *user, addresses = each.addresses,
                       failure = each.failure]() -> std::string {
    auto lines = read_perf_map(process, user, addresses);
    if (lines) return std::move(*lines);
    *failure = propagate(lines);
    return {};
  });
}

// Fails with a sentence without its end.
Result<> add_functions_of(const BuildIds& ids, const JitProcess& process, TraceWriter& writer) {
  const auto lines = ids.take(process.read);
  if (lines && *process.failure) {
    add_functions(process, *lines, writer);
    return {};
  }
  return fail(
      ExitCode::data, "functions that process {} has made have no names: {}", process.process.tgid,
      lines ? fmt::format("its perf map cannot be used: {}", process.failure->error().message)
            : "its perf map could not be read in time");
}

// Returns how many files could not be read in time.
size_t add_build_ids(const BuildIds& ids, TraceWriter& writer) {
  std::vector<MappedFile> files;
  size_t unread = 0;
  for (const auto& [number, file] : writer.mapped_files()) {
    auto id = ids.find(number);
    if (!id) ++unread;
    if (!id || id->empty()) continue;
    files.push_back(file);
    files.back().build_id = std::move(*id);
  }
  for (MappedFile& file : files) writer.add_file(std::move(file));
  return unread;
}

}  // namespace

std::vector<std::string> add_user_code(const BuildIds& ids, TraceWriter& writer,
                                       const RealStart& real) {
  for (const auto& [number, file] : writer.mapped_files()) ids.ask(file, writer.process_of(number));
  std::vector<JitProcess> processes = jit_processes(writer.jit_code(), real);
  for (JitProcess& each : processes) ask_functions(ids, writer, each);
  ids.wait();
  std::vector<std::string> problems;
  if (const size_t unread = add_build_ids(ids, writer); unread != 0)
    problems.push_back(fmt::format(
        "build ids of {} files of user stacks are missing: they could not be read in time",
        unread));
  for (const JitProcess& each : processes)
    if (each.read != 0)
      if (auto added = add_functions_of(ids, each, writer); !added)
        problems.push_back(std::move(added.error().message));
  return problems;
}

}  // namespace ktraced

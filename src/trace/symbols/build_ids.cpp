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

namespace ktraced {
namespace {

using Clock = std::chrono::steady_clock;

// Overlays and btrfs report another device than the kernel has.
bool is_same(int fd, const MappedFile& file) {
  constexpr uint64_t kSecond = 1'000'000'000;
  struct stat status{};
  return ::fstat(fd, &status) == 0 && status.st_ino == file.inode &&
         static_cast<uint64_t>(status.st_ctim.tv_sec) * kSecond +
                 static_cast<uint64_t>(status.st_ctim.tv_nsec) ==
             file.changed_ns;
}

// Nothing: the file is not at this path.
std::optional<std::string> build_id_at(const std::string& path, const MappedFile& file) {
  auto opened = open_regular_at(AT_FDCWD, path);
  if (!opened || !is_same(opened->get(), file)) return std::nullopt;
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
    MappedFile file;
    uint32_t process = 0;
  };

  State(Read from, const Limits& at_most) : read(std::move(from)), limits(at_most) {}

  static void start(const std::shared_ptr<State>& state);
  void work(uint64_t thread);
  [[nodiscard]] bool hangs() const { return busy && Clock::now() >= begun + limits.patience; }
  [[nodiscard]] bool done() const { return asked.empty() && !busy; }

  const Read read;
  const Limits limits;
  std::mutex mutex;
  std::condition_variable changed;
  // Everything below is guarded by the mutex.
  std::unordered_map<uint64_t, std::string> known;  // by number
  std::deque<Asked> asked;
  std::unordered_set<uint64_t> pending;  // numbers of those, and of the file that is being read
  bool busy = false;                     // a file is being read
  Clock::time_point begun;               // since then
  uint64_t thread = 0;                   // the thread that works; those before it hang
  bool running = false;                  // there is one
  bool ending = false;
};

// Call it with the mutex. A thread that hangs is replaced: it returns when its file does.
void BuildIds::State::start(const std::shared_ptr<State>& state) {
  if (state->running && !state->hangs()) return;
  if (state->running && state->thread > state->limits.hanging) return;
  const uint64_t number = state->thread + 1;
  try {
    std::thread thread([state, number] { state->work(number); });
    ::pthread_setname_np(thread.native_handle(), "build-ids");
    thread.detach();
  } catch (const std::system_error&) {
    return;  // the next one who asks gets it
  }
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
      id = read(next.file, next.process);
    } catch (const std::exception&) {  // no memory
    }
    lock.lock();
    if (known.size() >= limits.known) known.clear();
    known.insert_or_assign(next.file.number, std::move(id));
    pending.erase(next.file.number);
    if (thread != number) return;
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

void BuildIds::ask(const MappedFile& file, uint32_t process) const {
  const std::lock_guard lock(state_->mutex);
  if (state_->known.contains(file.number) || state_->pending.contains(file.number)) return;
  if (state_->asked.size() >= state_->limits.asked) return;
  State::start(state_);
  state_->pending.insert(file.number);
  state_->asked.push_back({file, process});
  state_->changed.notify_all();
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

void add_build_ids(const BuildIds& ids, TraceWriter& writer) {
  for (const auto& [number, file] : writer.mapped_files()) ids.ask(file, writer.process_of(number));
  ids.wait();
  std::vector<MappedFile> files;
  for (const auto& [number, file] : writer.mapped_files())
    if (auto id = ids.find(number); id && !id->empty()) {
      files.push_back(file);
      files.back().build_id = std::move(*id);
    }
  for (MappedFile& file : files) writer.add_file(std::move(file));
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/files/lines.h"
#include "base/files/proc_stat.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kSecond = 1'000'000'000;

// The number at the start of `line`, which loses it and the space after it.
std::optional<uint64_t> take_hex(std::string_view& line) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (error != std::errc() || !line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  return number;
}

// The last line that names each of some addresses.
class NamedAddresses {
 public:
  explicit NamedAddresses(const std::vector<uint64_t>& addresses)
      : addresses_(addresses), lines_(addresses.size()) {}

  // Returns how many addresses the line names.
  size_t add(std::string_view text) {
    const auto line = perf_map_line(text);
    if (!line) return 0;
    const auto first = std::ranges::lower_bound(addresses_, line->address);
    const auto last = std::ranges::lower_bound(first, addresses_.end(), line->address + line->size);
    if (first == last) return 0;
    std::fill(lines_.begin() + (first - addresses_.begin()),
              lines_.begin() + (last - addresses_.begin()),
              Line(++added_, fmt::format("{:x} {:x} {}\n", line->address, line->size,
                                         line->name.substr(0, PerfMapLimits::kName))));
    return static_cast<size_t>(last - first);
  }
  // Each of them once, in the order in which they were added.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [number, line] : std::set<Line>(lines_.begin(), lines_.end())) text += line;
    return text;
  }

 private:
  using Line = std::pair<uint64_t, std::string>;  // with its number

  const std::vector<uint64_t>& addresses_;
  std::vector<Line> lines_;  // by address; empty: none names it
  uint64_t added_ = 0;
};

// A directory of /proc stays that of its process, whatever gets the number later.
Fd open_process(const ProcessId& process) {
  Fd directory(
      ::open(fmt::format("/proc/{}", process.tgid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return directory;
  const auto stat = read_file_at(directory.get(), "stat", kProcBytesMax);
  const auto start = start_in_stat(stat.value_or(""));
  if (!start || *start / proc_tick_ns() != process.start_ns / proc_tick_ns()) return {};
  return directory;
}

// The directory /tmp of another root, where symbolic links end too.
Fd open_tmp_in(int process) {
  const Fd root(::openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), "tmp", &how, sizeof(how))));
}

std::string name_of_map(uint32_t pid) { return fmt::format("perf-{}.map", pid); }

Fd open_in_root_of(const ProcessId& process, uid_t user, uint64_t since) {
  const Fd directory = open_process(process);
  if (!directory) return {};
  const auto status = read_file_at(directory.get(), "status", kProcBytesMax);
  // The last one is that in the innermost namespace, which is its own.
  const auto ids = numbers_behind<uint32_t>("\nNStgid:", status.value_or(""));
  const Fd tmp = open_tmp_in(directory.get());
  return ids.empty() || !tmp ? Fd()
                             : open_perf_map(tmp.get(), name_of_map(ids.back()), user, since);
}

std::unexpected<Error> too_slow(const PerfMapLimits& limits) {
  return fail(ExitCode::data, "reading it takes longer than {} ms", limits.time.count());
}

}  // namespace

std::optional<PerfMapLine> perf_map_line(std::string_view line) {
  const auto address = take_hex(line);
  const auto size = address ? take_hex(line) : std::nullopt;
  if (!size || *size == 0 || *size > UINT64_MAX - *address || line.empty()) return std::nullopt;
  return PerfMapLine{.address = *address, .size = *size, .name = line};
}

Result<std::string> perf_map_lines(const Fd& file, const std::vector<uint64_t>& addresses,
                                   const PerfMapLimits& limits) {
  constexpr size_t kPiece = size_t{256} << 10;
  constexpr size_t kWork = 4096;  // lines and addresses between two looks at the clock
  const auto deadline = Clock::now() + limits.time;
  NamedAddresses named(addresses);
  std::string piece(kPiece + PerfMapLimits::kLine, '\0');
  size_t kept = 0;  // of a line that has no end yet
  bool is_long = false;
  size_t work = 0;
  const auto take = [&](std::string_view line) {
    if (!std::exchange(is_long, false) && line.size() <= PerfMapLimits::kLine)
      work += named.add(line);
    if (++work < kWork) return true;
    work = 0;
    return Clock::now() < deadline;
  };
  for (size_t total = 0;;) {
    const ssize_t got = ::read(file.get(), piece.data() + kept, kPiece);
    if (got < 0 && errno == EINTR) continue;
    total += static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (got < 0) return fail(ExitCode::io, "{}", errno_text(errno));
    if (total > limits.bytes)
      return fail(ExitCode::data, "it has more than {} MiB", limits.bytes >> 20);
    if (total > kPiece && Clock::now() >= deadline) return too_slow(limits);
    std::string_view rest(piece.data(), kept + static_cast<size_t>(got));
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      if (!take(rest.substr(0, end))) return too_slow(limits);
      rest.remove_prefix(end + 1);
    }
    if (got == 0) {
      take(rest);
      return named.text();
    }
    is_long = is_long || rest.size() > PerfMapLimits::kLine;
    if (is_long) rest = {};
    std::ranges::copy(rest, piece.begin());
    kept = rest.size();
  }
}

Fd open_perf_map(int directory, const std::string& name, uid_t owner, uint64_t since) {
  auto file = open_expected_at(
      directory, name,
      [&](const struct stat& status) {
        const auto changed = static_cast<uint64_t>(status.st_mtim.tv_sec) * kSecond +
                             static_cast<uint64_t>(status.st_mtim.tv_nsec);
        return status.st_uid == owner && changed >= since;
      },
      O_NOFOLLOW);
  return file ? std::move(*file) : Fd();
}

Result<std::string> read_perf_map(const ProcessId& process, uid_t user,
                                  const std::vector<uint64_t>& addresses) {
  // The wall clock may have been adjusted since.
  const uint64_t since = process.start_ns + static_cast<uint64_t>(clock_offset_ns()) - kSecond;
  Fd file = open_in_root_of(process, user, since);
  if (!file) file = open_perf_map(AT_FDCWD, "/tmp/" + name_of_map(process.tgid), user, since);
  return file ? perf_map_lines(file, addresses) : std::string();
}

}  // namespace ktraced

#include "kernel/symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

namespace {

constexpr size_t kBufferBytes = size_t{256} * 1024;  // the longest line has some 600

// Calls `visit` with each line, without its end. Returns a positive errno, or 0.
template <class Visit>
int for_each_line(const std::filesystem::path& path, Visit&& visit) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno;
  auto buffer = std::make_unique<char[]>(kBufferBytes);
  size_t kept = 0;  // bytes of a line whose end has not been read yet
  while (true) {
    ssize_t got = ::read(file.get(), buffer.get() + kept, kBufferBytes - kept);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : 0;
    std::string_view text(buffer.get(), kept + static_cast<size_t>(got));
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      visit(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    kept = text.size();
    std::memmove(buffer.get(), text.data(), kept);
  }
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::optional<std::string> KernelSymbols::resolve(uint64_t address) {
  std::lock_guard lock(mutex_);
  if (!table_) load();
  auto name = table_->resolve(address);
  if (name || !modules_changed()) return name;
  load();
  return table_->resolve(address);
}

std::string KernelSymbols::reason() const {
  std::lock_guard lock(mutex_);
  return reason_;
}

void KernelSymbols::load() {
  loaded_modules_ = read_file(modules_);
  last_check_ = std::chrono::steady_clock::now();
  table_.emplace();
  int error = for_each_line(kallsyms_, [this](std::string_view line) { table_->add_line(line); });
  table_->finish();
  reason_.clear();
  if (error != 0)
    reason_ =
        fmt::format("kernel symbols: cannot read {}: {}", kallsyms_.string(), errno_text(error));
  else if (table_->functions() == 0 && table_->hidden() > 0)
    reason_ =
        "kernel symbols: the kernel hides its addresses (needs CAP_SYSLOG, or sysctl "
        "kernel.kptr_restrict=0)";
  else if (table_->functions() == 0)
    reason_ = fmt::format("kernel symbols: {} lists none", kallsyms_.string());
}

bool KernelSymbols::modules_changed() {
  auto now = std::chrono::steady_clock::now();
  if (now - last_check_ < check_interval_) return false;
  last_check_ = now;
  return read_file(modules_) != loaded_modules_;
}

}  // namespace ktraced

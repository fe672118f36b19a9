// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/lines.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/files/read_file.h"

namespace ktraced {
namespace {

constexpr size_t kBufferBytes = size_t{256} * 1024;  // the longest line of kallsyms has some 600

}  // namespace

Result<> for_each_line_of(const std::filesystem::path& path,
                          const std::function<void(std::string_view)>& visit) {
  auto file = open_file(path);
  if (!file) return propagate(file);
  auto buffer = std::make_unique<char[]>(kBufferBytes);
  size_t kept = 0;  // bytes of a line whose end has not been read yet
  while (true) {
    const ssize_t got = ::read(file->get(), buffer.get() + kept, kBufferBytes - kept);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ExitCode::io, "cannot read {}: {}", path.string(), errno_text(errno));
    std::string_view text(buffer.get(), kept + static_cast<size_t>(got));
    if (got == 0) {
      if (!text.empty()) visit(text);
      return {};
    }
    const size_t end = text.rfind('\n');
    const size_t whole = end == std::string_view::npos ? 0 : end + 1;
    for_each_line(text.substr(0, whole), visit);
    kept = text.size() - whole;
    if (kept == kBufferBytes)
      return fail(ExitCode::data, "{} has a line of {} bytes or more", path.string(), kBufferBytes);
    std::memmove(buffer.get(), text.data() + whole, kept);
  }
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/directory.h"

#include <system_error>

namespace ktraced {

namespace {

namespace fs = std::filesystem;

std::unexpected<Error> cannot_read(const fs::path& directory, const std::error_code& error) {
  const bool missing = error == std::errc::no_such_file_or_directory ||
                       error == std::errc::not_a_directory || error == std::errc::no_such_process ||
                       error == std::errc::no_such_device;
  const bool refused =
      error == std::errc::permission_denied || error == std::errc::operation_not_permitted;
  return fail(missing   ? ExitCode::data
              : refused ? ExitCode::no_permission
                        : ExitCode::io,
              "cannot read the directory {}: {}", directory.string(), error.message());
}

}  // namespace

// Not a range-for: its increment throws.
Result<> for_each_entry(const fs::path& directory,
                        const std::function<void(const fs::directory_entry&)>& visit) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    visit(*it);
  if (error) return cannot_read(directory, error);
  return {};
}

Result<std::vector<std::string>> names_in(int directory) {
  std::vector<std::string> names;
  auto read = for_each_entry("/proc/self/fd/" + std::to_string(directory),
                             [&](const auto& entry) { names.push_back(entry.path().filename()); });
  if (!read) return propagate(read);
  return names;
}

}  // namespace ktraced

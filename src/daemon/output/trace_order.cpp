// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/trace_order.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/files/directory.h"
#include "base/files/own_directory.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSecond = 1'000'000'000;
// Some file systems have times that do not fit; no clock is set to them.
constexpr uint64_t kSecondsMax = UINT64_MAX / kSecond - 1;

uint64_t modified_ns(const struct stat& status) {
  if (status.st_mtim.tv_sec < 0) return 0;
  const auto seconds = std::min(static_cast<uint64_t>(status.st_mtim.tv_sec), kSecondsMax);
  return seconds * kSecond + static_cast<uint64_t>(status.st_mtim.tv_nsec);
}

// All zero if there is no manifest.
struct stat manifest_status(const fs::path& trace) {
  struct stat status{};
  if (::lstat((trace / kManifestFile).c_str(), &status) != 0) status = {};
  return status;
}

}  // namespace

uint64_t written_ns(const fs::path& trace) { return modified_ns(manifest_status(trace)); }

TraceWriter::WrittenTime written_time_in(const fs::path& directory, RealtimeClock clock) {
  uint64_t newest = 0;
  // A directory that cannot be read has no order.
  static_cast<void>(for_each_entry(directory, [&](const fs::directory_entry& entry) {
    const struct stat status = manifest_status(entry.path());
    if (is_of_root_or_us(status)) newest = std::max(newest, modified_ns(status));
  }));
  return [newest, clock = std::move(clock)] { return std::max(clock(), newest + 1); };
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// An archive of a trace. What is unpacked has the names of a trace and at most the size that is
// allowed; what is refused has a message.
#include <sys/stat.h>

#include <fstream>

#include "base/limits.h"
#include "ctl/archive/unpack.h"
#include "fuzz/fuzz.h"
#include "fuzz/temporary_directory.h"
#include "trace/directory/trace_files.h"

namespace ktraced::fuzz {
namespace {

constexpr uint64_t kMaxBytes = 1U << 20;

bool is_of_a_trace(std::string_view name) {
  return is_trace_file(name) || (name.starts_with("ctf/") && cpu_of_file(name.substr(4)));
}

}  // namespace

void check_input(std::string_view input) {
  static const TemporaryDirectory directory;
  allow_many_descriptors();
  const auto path = directory.path() / "trace.tar.zst";
  std::ofstream(path, std::ios::binary) << input;
  const auto trace = unpack_trace(path, kMaxBytes);
  if (!trace) return require_error(trace.error(), ExitCode::data);
  uint64_t bytes = 0;
  for (const auto& [name, file] : trace->files) {
    require(is_of_a_trace(name), "a file has a name of a trace", name);
    struct stat status{};
    require(::fstat(file.get(), &status) == 0, "a file is open");
    bytes += static_cast<uint64_t>(status.st_size);
  }
  require(trace->files.contains(kManifestFile), "a trace has a manifest");
  require(bytes <= kMaxBytes, "the size is limited");
}

}  // namespace ktraced::fuzz

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/output_target.h"

#include <unistd.h>

#include "ctl/terminal/output.h"

namespace ktraced {

Result<OutputTarget> OutputTarget::open(const std::string& name, const FileAccess& access) {
  if (name == "-") return OutputTarget(std::nullopt);
  auto file = NewFile::create(name, access);
  if (!file) return propagate(file);
  return OutputTarget(std::move(*file));
}

Result<> OutputTarget::write(std::string_view bytes) {
  bytes_ += bytes.size();
  if (file_) return file_->write(bytes);
  auto written = write_all(STDOUT_FILENO, bytes);
  if (!written) return propagate(written);
  gone_ = !*written;
  return {};
}

}  // namespace ktraced

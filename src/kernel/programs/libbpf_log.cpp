// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/libbpf_log.h"

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstdio>

namespace ktraced {
namespace {

// libbpf's print function has no context argument, so the state is global per thread.
thread_local std::string* libbpf_log = nullptr;

int collect_libbpf_log(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || libbpf_log == nullptr) return 0;
  va_list again;
  va_copy(again, arguments);
  // The verifier's log is a single message of up to MiB.
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  if (length > 0) {
    const size_t before = libbpf_log->size(), added = static_cast<size_t>(length);
    libbpf_log->resize(before + added + 1);
    std::vsnprintf(libbpf_log->data() + before, added + 1, format, again);
    libbpf_log->resize(before + added);
  }
  va_end(again);
  return length;
}

}  // namespace

LibbpfLog::LibbpfLog() {
  [[maybe_unused]] static const auto before = libbpf_set_print(collect_libbpf_log);
  libbpf_log = &text_;
}

LibbpfLog::~LibbpfLog() { libbpf_log = nullptr; }

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer's entry points of every target.
#include <spdlog/spdlog.h>

#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ktraced::fuzz::check_input({reinterpret_cast<const char*>(data), size});
  return 0;
}

// SPDX-License-Identifier: BSD-2-Clause
// The schema of the BPF object that was built.
#pragma once

#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <vector>

#include "schema/schema_from_btf.h"

namespace ktraced::test {

// With a few allocation flags of Linux 6.18.
inline const Schema& built_schema() {
  static const Schema schema = [] {
    std::ifstream file(KTRACED_BINARY_DIR "/ktraced.bpf.o", std::ios::binary);
    std::vector<char> chars(std::istreambuf_iterator<char>(file), {});
    auto built = schema_from_object(std::as_bytes(std::span(chars)));
    if (!built) throw std::runtime_error(built.error().message);
    built->gfp_flags = {{0x400cc0, "GFP_KERNEL_ACCOUNT"},
                        {0xcc0, "GFP_KERNEL"},
                        {0x100, "__GFP_ZERO"},
                        {0x400000, "__GFP_ACCOUNT"}};
    return std::move(*built);
  }();
  return schema;
}

}  // namespace ktraced::test

// SPDX-License-Identifier: BSD-2-Clause
// Names of allocation flags, cached.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema/names.h"

namespace ktraced {

// Caches texts: kernels use a few dozen combinations of flags.
class GfpText {
 public:
  // `names` must outlive this.
  explicit GfpText(const std::vector<FlagName>& names) : names_(names) {}

  // "GFP_KERNEL|__GFP_ZERO". Valid until the next call.
  const std::string& of(uint32_t flags) {
    if (texts_.size() > kMax) texts_.clear();
    auto [text, is_new] = texts_.try_emplace(flags);
    if (is_new) text->second = gfp_names(flags, names_);
    return text->second;
  }

 private:
  static constexpr size_t kMax = 4096;
  const std::vector<FlagName>& names_;
  std::unordered_map<uint32_t, std::string> texts_;
};

}  // namespace ktraced

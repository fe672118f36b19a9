// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_layout.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ktraced {

Field& ProbeLayout::add(const std::string& name, std::string type, Meaning meaning, uint32_t size,
                        uint32_t count) {
  align(size);
  fields_.push_back({.name = name,
                     .type = std::move(type),
                     .meaning = meaning,
                     .offset = size_,
                     .size = size,
                     .count = count});
  size_ += size * count;
  return fields_.back();
}

Field& ProbeLayout::add_located(const std::string& name) {
  constexpr uint32_t kLocation = sizeof(u32);
  align(kLocation);
  fields_.push_back({.name = name,
                     .type = "char[]",
                     .meaning = Meaning::text,
                     .offset = size_,
                     .size = 1,
                     .count = 0,
                     .located = true});
  size_ += kLocation;
  return fields_.back();
}

std::vector<ProbeLayout::Hole> ProbeLayout::holes() const {
  constexpr uint16_t kLongest = 8;
  std::vector<bool> covered(size_, false);
  for (const Field& field : fields_) {
    const size_t bytes = field.located ? sizeof(u32) : size_t{field.size} * field.count;
    std::fill_n(covered.begin() + field.offset, bytes, true);
  }
  std::vector<Hole> holes;
  for (uint32_t at = sizeof(record); at < size_;) {
    uint16_t bytes = 1;
    auto fits = [&](uint16_t more) {
      return at % more == 0 && at + more <= size_ &&
             std::none_of(covered.begin() + at, covered.begin() + at + more, std::identity());
    };
    while (bytes < kLongest && fits(static_cast<uint16_t>(bytes * 2))) bytes *= 2;
    if (!covered[at]) holes.push_back({.offset = at, .bytes = bytes});
    at += covered[at] ? 1 : bytes;
  }
  return holes;
}

}  // namespace ktraced

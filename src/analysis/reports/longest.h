// SPDX-License-Identifier: BSD-2-Clause
// Selects the items that took longest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ktraced {

// Keeps the `max` items with the largest `ns`.
template <class Thing>
class Longest {
 public:
  explicit Longest(size_t max) : max_(max) {}

  // True if an item of that time would be kept. Check this before creating costly items.
  [[nodiscard]] bool keeps(uint64_t ns) const {
    return max_ != 0 && (things_.size() < max_ || things_.front().ns < ns);
  }
  // Add only what is kept, see keeps().
  void add(Thing thing) {
    if (things_.size() == max_) {
      std::ranges::pop_heap(things_, longer);
      things_.pop_back();
    }
    things_.push_back(std::move(thing));
    std::ranges::push_heap(things_, longer);
  }
  // The longest first.
  [[nodiscard]] std::vector<Thing> sorted() const {
    std::vector<Thing> things = things_;
    std::ranges::stable_sort(things, longer);
    return things;
  }

 private:
  static bool longer(const Thing& a, const Thing& b) { return a.ns > b.ns; }

  size_t max_;
  std::vector<Thing> things_;  // a heap, the shortest first
};

}  // namespace ktraced

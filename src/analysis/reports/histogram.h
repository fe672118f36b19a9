// SPDX-License-Identifier: BSD-2-Clause
// How values are distributed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace ktraced {

// Counts values in bins, 16 for each power of two: results are at most a sixteenth too large.
// Memory grows with the largest value, up to 8 KiB.
class Histogram {
 public:
  void add(uint64_t value) {
    const size_t bin = bin_of(value);
    if (bin >= bins_.size()) bins_.resize(bin + 1);
    ++bins_[bin];
    ++count_;
    sum_ += value;
    max_ = std::max(max_, value);
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] uint64_t sum() const { return sum_; }
  [[nodiscard]] uint64_t max() const { return max_; }
  // The smallest bin limit that `percent` of the values, and at least one, do not exceed; 0 if
  // there are no values.
  [[nodiscard]] uint64_t percentile(double percent) const {
    if (count_ == 0) return 0;
    const double share = std::clamp(percent, 0.0, 100.0) * static_cast<double>(count_) / 100;
    auto rank = static_cast<uint64_t>(share);
    if (static_cast<double>(rank) < share || rank == 0) ++rank;
    uint64_t seen = 0;
    for (size_t bin = 0; bin < bins_.size(); ++bin) {
      seen += bins_[bin];
      if (seen >= rank) return std::min(max_, last_of(bin));
    }
    return max_;
  }
  // The number of values in [2^power, 2^(power+1)); the first also counts values below 1.
  [[nodiscard]] std::vector<uint64_t> by_power_of_two() const {
    std::vector<uint64_t> powers;
    for (size_t bin = 0; bin < bins_.size(); ++bin) {
      if (bins_[bin] == 0) continue;
      const auto power = static_cast<size_t>(std::bit_width(last_of(bin) | 1) - 1);
      if (power >= powers.size()) powers.resize(power + 1);
      powers[power] += bins_[bin];
    }
    return powers;
  }

 private:
  static constexpr unsigned kSubBits = 4;
  static constexpr uint64_t kSub = 1U << kSubBits;

  // Values below 16 have a bin each.
  static size_t bin_of(uint64_t value) {
    if (value < kSub) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
    return (shift + 1) * kSub + (value >> shift) - kSub;
  }
  // The largest value of a bin.
  static uint64_t last_of(size_t bin) {
    if (bin < kSub) return bin;
    const size_t shift = bin / kSub - 1;
    return ((bin % kSub + kSub + 1) << shift) - 1;
  }

  std::vector<uint64_t> bins_;
  uint64_t count_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace ktraced

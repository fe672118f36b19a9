// SPDX-License-Identifier: BSD-2-Clause
// The text in which Prometheus reads metrics.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ktraced {

enum class MetricsFormat { prometheus, openmetrics };

// The value of the HTTP field Content-Type.
[[nodiscard]] std::string_view content_type_of(MetricsFormat format);

// Writes families of metrics, one after the other: first family(), then its samples.
class Exposition {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Exposition(MetricsFormat format) : format_(format) {}

  // A value that only rises, but for resets. `name` ends in _total.
  Exposition& counter(std::string_view name, std::string_view help);
  // A value that rises and falls.
  Exposition& gauge(std::string_view name, std::string_view help);

  // Samples of the current family. Each has other labels; names of labels are valid as they are.
  template <std::integral Number>
  Exposition& sample(Number value, Labels labels = {}) {
    return add(std::to_string(value), labels);
  }
  Exposition& sample(double value, Labels labels = {});

  // The whole text; the last call.
  [[nodiscard]] std::string finish() &&;

 private:
  void begin(std::string_view type, std::string_view name, std::string_view help);
  Exposition& add(std::string_view value, Labels labels);

  MetricsFormat format_;
  std::string name_;  // of the current family
  std::string text_;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/exposition.h"

#include <fmt/format.h>

#include <cmath>

namespace ktraced {
namespace {

// Appends a label value (with `quotes`) or a help text with its special characters escaped.
void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || (quotes && c == '"'))
      (out += '\\') += c;
    else
      out += c;
  }
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  return fmt::format("{}", value);
}

}  // namespace

std::string_view content_type_of(MetricsFormat format) {
  return format == MetricsFormat::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

Exposition& Exposition::counter(std::string_view name, std::string_view help) {
  begin("counter", name, help);
  return *this;
}

Exposition& Exposition::gauge(std::string_view name, std::string_view help) {
  begin("gauge", name, help);
  return *this;
}

// In OpenMetrics the name of a counter's family is without the suffix of its samples.
void Exposition::begin(std::string_view type, std::string_view name, std::string_view help) {
  constexpr std::string_view kSuffix = "_total";
  const bool openmetrics = format_ == MetricsFormat::openmetrics;
  name_ = name;
  if (openmetrics && name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  text_ += fmt::format("# HELP {} ", name);
  append_escaped(text_, help, openmetrics);
  text_ += fmt::format("\n# TYPE {} {}\n", name, type);
}

Exposition& Exposition::sample(double value, Labels labels) {
  return add(number_text(value), labels);
}

Exposition& Exposition::add(std::string_view value, Labels labels) {
  text_ += name_;
  char separator = '{';
  for (const auto& [label, label_value] : labels) {
    ((text_ += separator) += label) += "=\"";
    append_escaped(text_, label_value, true);
    text_ += '"';
    separator = ',';
  }
  if (separator != '{') text_ += '}';
  ((text_ += ' ') += value) += '\n';
  return *this;
}

std::string Exposition::finish() && {
  if (format_ == MetricsFormat::openmetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace ktraced

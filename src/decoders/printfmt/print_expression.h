// SPDX-License-Identifier: BSD-2-Clause
// C expressions in the "print fmt" of a kernel event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// The value of an expression: a number, a text, or the bytes of an array.
struct PrintValue {
  uint64_t number = 0;
  bool is_signed = false;
  std::optional<std::string> text;
  std::optional<std::span<const std::byte>> bytes;
};

// An expression over the fields of one event. Move-only.
class PrintExpression {
 public:
  // Nothing for unsupported expressions: an unknown function, an unknown field, or a syntax error.
  static std::optional<PrintExpression> parse(std::string_view text, const Event& event);

  [[nodiscard]] PrintValue value(RecordView record) const;
  // The field of which this is the value, cast or not; null for any other expression.
  [[nodiscard]] const Field* field() const;

  struct Node;

 private:
  explicit PrintExpression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}

  std::shared_ptr<const Node> root_;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The syntax tree of a PrintExpression.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "decoders/printfmt/print_expression.h"

namespace ktraced {

struct PrintExpression::Node {
  enum class Kind {
    number,
    text,
    field,    // REC->name
    element,  // REC->name[index]
    cast,     // to an integer of `size` bytes
    unary,    // `op`
    binary,   // `op`
    ternary,
    flags,         // __print_flags(value, delimiter, table)
    symbolic,      // __print_symbolic(value, table)
    hex,           // __print_hex(bytes, length), bytes apart
    hex_str,       // __print_hex_str(bytes, length), bytes not apart
    array,         // __print_array(bytes, count, element size)
    array_length,  // __get_dynamic_array_len(name)
  };
  Kind kind = Kind::number;
  uint64_t number = 0;     // also the size of a cast, in bytes
  bool is_signed = false;  // of a number, and of the result of a cast
  std::string text;        // of a text; the delimiter of flags; an operator
  Field field;
  std::vector<Node> parts;
  int height = 1;                                       // nodes from here to the deepest part
  std::vector<std::pair<uint64_t, std::string>> table;  // of flags and symbolic
};

using PrintNode = PrintExpression::Node;
using PrintKind = PrintNode::Kind;

[[nodiscard]] PrintValue value_of(const PrintNode& node, RecordView record);

// The size and signedness of a C type of the kernel.
struct IntegerType {
  uint64_t size = 0;
  bool is_signed = false;
};
// Nothing if `type` is not an integer type. Pointers count as integers here.
[[nodiscard]] std::optional<IntegerType> integer_type(std::string_view type);

}  // namespace ktraced

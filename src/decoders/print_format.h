// SPDX-License-Identifier: BSD-2-Clause
// How the kernel prints an event: the "print fmt" of its format file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoders/print_expression.h"
#include "decoders/text_buffer.h"

namespace ktraced {

// A print format that was understood as a whole. Pointers are shown as they are, where the kernel
// would scramble them.
class PrintFormat {
 public:
  // "function+0x10/0x80" at an address, or something else if it is not known.
  using Symbol = std::function<void(uint64_t address, TextBuffer& out)>;

  // Parses `"text", argument, …`. Nothing if there is anything in it that is not understood.
  static std::optional<PrintFormat> parse(std::string_view print, const Event& event);

  // One line, without its end; what the record lacks is shown as zeros.
  void append(RecordView record, const Symbol& symbol, TextBuffer& out) const;

 private:
  // "%-8s" and the text before it.
  struct Piece {
    std::string before;
    std::string flags;
    size_t width = 0;
    std::optional<size_t> precision;
    unsigned bytes = 4;        // of an integer
    char conversion = 0;       // 0: none, only text
    std::string pointer_kind;  // "S" of "%pS"
    std::optional<PrintExpression> argument;
  };
  static std::optional<Piece> parse_conversion(std::string_view& format);
  static void append_piece(const Piece& piece, RecordView record, const Symbol& symbol,
                           TextBuffer& out);

  std::vector<Piece> pieces_;
};

}  // namespace ktraced

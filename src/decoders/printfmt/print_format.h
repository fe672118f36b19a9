// SPDX-License-Identifier: BSD-2-Clause
// The "print fmt" of an event's format file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoders/printfmt/print_expression.h"
#include "decoders/text/text_buffer.h"

namespace ktraced {

// A print format that was parsed completely. Pointers are printed unchanged; the kernel would hash
// them.
class PrintFormat {
 public:
  // Appends "function+0x10/0x80" for an address, or another text if it is unknown.
  using Symbol = std::function<void(uint64_t address, TextBuffer& out)>;
  // The name of a field's value; empty: it has none, and is printed as a number.
  using Name = std::function<std::string_view(const Field& field, uint64_t value)>;

  // Parses `"text", argument, …`. Nothing if any part is not supported.
  static std::optional<PrintFormat> parse(std::string_view print, const Event& event);

  // Appends one line without a newline; data missing in the record is printed as zeros. Without
  // `name`, all numbers are printed as such.
  void append(RecordView record, const Symbol& symbol, TextBuffer& out,
              const Name& name = {}) const;

 private:
  // How many characters a conversion takes.
  struct Layout {
    bool left = false;  // padded on the right
    size_t width = 0;
    std::optional<size_t> precision;
  };
  // "%-8s" and the text before it. For "%*.*s", arguments replace the width and the precision.
  struct Piece {
    std::string before;
    std::string flags;
    Layout layout;
    std::optional<PrintExpression> width;
    std::optional<PrintExpression> precision;
    unsigned bytes = 4;        // of an integer
    char conversion = 0;       // 0: none, only text
    std::string pointer_kind;  // "S" of "%pS"
    std::optional<PrintExpression> argument;
  };
  class Arguments;
  static std::optional<Piece> parse_piece(std::string_view& format, Arguments& arguments);
  static bool parse_layout(std::string_view& format, Arguments& arguments, Piece& piece);
  static bool parse_conversion(std::string_view& format, Piece& piece);
  static Layout layout_of(const Piece& piece, RecordView record);
  static void append_piece(const Piece& piece, RecordView record, const Symbol& symbol,
                           const Name& name, TextBuffer& out);
  static void append_text(const PrintValue& value, const Layout& layout, TextBuffer& out);
  static void append_integer(const Piece& piece, uint64_t value, const Layout& layout,
                             TextBuffer& out);
  static void pad(std::string_view text, const Layout& layout, TextBuffer& out);

  std::vector<Piece> pieces_;
};

}  // namespace ktraced

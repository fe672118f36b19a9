// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/safe_text.h"

#include <cstdint>

#include "base/text/plain_text.h"

namespace ktraced {

namespace {

bool plain_in_text(char c) { return c >= 0x20 && c < 0x7f; }
bool plain_in_json(char c) { return plain_in_text(c) && c != '"' && c != '\\'; }

void append_hex_escape(std::string_view prefix, size_t digits, uint8_t byte, TextBuffer& out) {
  out.append(prefix);
  out.append_hex(byte, digits);
}

void append_json_escape(char c, TextBuffer& out) {
  switch (c) {
    case '"':
      out.append("\\\"");
      break;
    case '\\':
      out.append("\\\\");
      break;
    case '\n':
      out.append("\\n");
      break;
    case '\t':
      out.append("\\t");
      break;
    default:
      append_hex_escape("\\u", 4, static_cast<uint8_t>(c), out);
  }
}

// `sequence` has several bytes.
bool shown_as_it_is(std::string_view sequence) { return !is_hidden(code_point(sequence)); }

// All of these have four digits.
void append_json_escape(std::string_view sequence, TextBuffer& out) {
  out.append("\\u");
  out.append_hex(code_point(sequence), 4);
}

}  // namespace

void append_json_string(std::string_view bytes, TextBuffer& out) {
  out.append('"');
  for (size_t at = 0; at < bytes.size();) {
    size_t plain = at;
    while (plain < bytes.size() && plain_in_json(bytes[plain])) ++plain;
    out.append(bytes.substr(at, plain - at));
    at = plain;
    if (at == bytes.size()) break;
    size_t length = utf8_length(bytes.substr(at));
    if (length > 1) {
      if (const std::string_view sequence = bytes.substr(at, length); shown_as_it_is(sequence))
        out.append(sequence);
      else
        append_json_escape(sequence, out);
      at += length;
    } else {
      if (length == 0)
        out.append(kReplacementCharacter);
      else
        append_json_escape(bytes[at], out);
      ++at;
    }
  }
  out.append('"');
}

void append_csv_text(std::string_view text, TextBuffer& out) {
  const bool quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) out.append('"');
  if (!text.empty() && std::string_view("=+-@\t\r").contains(text[0])) out.append('\'');
  if (!quoted) return out.append(text);
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out.append('"');
}

void append_printable(std::string_view bytes, TextBuffer& out) {
  for (size_t at = 0; at < bytes.size();) {
    size_t plain = at;
    while (plain < bytes.size() && plain_in_text(bytes[plain])) ++plain;
    out.append(bytes.substr(at, plain - at));
    at = plain;
    if (at == bytes.size()) break;
    size_t length = utf8_length(bytes.substr(at));
    length = length > 1 ? length : 1;
    out.append(printable(bytes.substr(at, length)));
    at += length;
  }
}

}  // namespace ktraced

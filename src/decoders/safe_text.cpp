#include "decoders/safe_text.h"

#include <array>
#include <cstdint>

namespace ktraced {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

uint8_t byte_at(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

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

// C1 control characters, U+0080 to U+009F, drive terminals just as ESC does.
bool is_c1_control(std::string_view sequence) {
  return sequence.size() == 2 && byte_at(sequence, 0) == 0xc2 && byte_at(sequence, 1) < 0xa0;
}

}  // namespace

size_t utf8_length(std::string_view bytes) {
  struct Lead {
    uint8_t from, to;                // of the first byte
    uint8_t second_from, second_to;  // of the second, which is what forbids overlong forms
    uint8_t length;
  };
  static constexpr std::array<Lead, 9> kLeads{{{0x00, 0x7f, 0, 0, 1},
                                               {0xc2, 0xdf, 0x80, 0xbf, 2},
                                               {0xe0, 0xe0, 0xa0, 0xbf, 3},
                                               {0xe1, 0xec, 0x80, 0xbf, 3},
                                               {0xed, 0xed, 0x80, 0x9f, 3},
                                               {0xee, 0xef, 0x80, 0xbf, 3},
                                               {0xf0, 0xf0, 0x90, 0xbf, 4},
                                               {0xf1, 0xf3, 0x80, 0xbf, 4},
                                               {0xf4, 0xf4, 0x80, 0x8f, 4}}};
  for (const Lead& lead : kLeads) {
    if (byte_at(bytes, 0) < lead.from || byte_at(bytes, 0) > lead.to) continue;
    if (lead.length > bytes.size()) return 0;
    for (size_t i = 1; i < lead.length; ++i) {
      uint8_t from = i == 1 ? lead.second_from : 0x80, to = i == 1 ? lead.second_to : 0xbf;
      if (byte_at(bytes, i) < from || byte_at(bytes, i) > to) return 0;
    }
    return lead.length;
  }
  return 0;
}

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
      out.append(bytes.substr(at, length));
      at += length;
    } else {
      if (length == 0)
        out.append(kReplacement);
      else
        append_json_escape(bytes[at], out);
      ++at;
    }
  }
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
    if (length > 1 && !is_c1_control(bytes.substr(at, length))) {
      out.append(bytes.substr(at, length));
      at += length;
    } else {
      append_hex_escape("\\x", 2, byte_at(bytes, at++), out);
    }
  }
}

std::string printable(std::string_view bytes) {
  TextBuffer out;
  append_printable(bytes, out);
  return std::string(out.view());
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ktraced {

namespace {

uint8_t byte_at(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

bool is_control(char32_t point) { return point < 0x20 || (point >= 0x7f && point <= 0x9f); }

// Embeddings, overrides, isolates and marks: they change the display order of the following text.
bool turns_the_direction(char32_t point) {
  return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0x200e || point == 0x200f || point == 0x061c;
}

bool separates_lines(char32_t point) { return point == 0x2028 || point == 0x2029; }

bool is_plain_ascii(char c) { return c >= 0x20 && c < 0x7f; }

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

char32_t code_point(std::string_view sequence) {
  const uint8_t lead = byte_at(sequence, 0);
  if (sequence.size() == 1) return lead;
  char32_t point = lead & (0x7fU >> sequence.size());
  for (size_t i = 1; i < sequence.size(); ++i) point = point << 6 | (byte_at(sequence, i) & 0x3fU);
  return point;
}

bool is_hidden(char32_t point) {
  return is_control(point) || turns_the_direction(point) || separates_lines(point);
}

std::string with_replacements(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = utf8_length(bytes);
    out += length != 0 ? bytes.substr(0, length) : kReplacementCharacter;
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = is_plain_ascii(bytes[0]) ? 1 : utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    size_t length = utf8_length(bytes);
    const bool shown = length != 0 && !is_hidden(code_point(bytes.substr(0, length)));
    length = std::max<size_t>(length, 1);
    for (size_t i = 0; i < length; ++i) {
      if (shown)
        out += bytes[i];
      else
        out.append("\\x").append(
            {kHexDigits[byte_at(bytes, i) >> 4], kHexDigits[byte_at(bytes, i) & 0xf]});
    }
    bytes.remove_prefix(length);
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += printable(text.substr(0, end));
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Outside of strings, JSON contains only line ends and tabs of these, which stay.
std::string printable_json(std::string document) {
  auto hides = [&](size_t at, size_t length) {
    const char c = document[at];
    if (length < 2) return length == 1 && c == 0x7f;
    return is_hidden(code_point(std::string_view(document).substr(at, length)));
  };
  std::string out;
  size_t copied = 0;
  for (size_t at = 0; at < document.size();) {
    if (is_plain_ascii(document[at])) {
      ++at;
      continue;
    }
    const size_t length = utf8_length(std::string_view(document).substr(at));
    if (hides(at, length)) {
      const char32_t point = code_point(std::string_view(document).substr(at, length));
      out.append(document, copied, at - copied).append("\\u");
      for (int shift = 12; shift >= 0; shift -= 4) out += kHexDigits[point >> shift & 0xf];
      copied = at + length;
    }
    at += std::max<size_t>(length, 1);
  }
  if (copied == 0) return document;
  return out.append(document, copied);
}

size_t utf8_length(std::string_view bytes) {
  struct Lead {
    uint8_t from, to;                // of the first byte
    uint8_t second_from, second_to;  // of the second; this range excludes overlong forms
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

std::string_view unfit_for_a_line(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return "bytes that are not UTF-8";
    const char32_t point = code_point(text.substr(0, length));
    if (is_control(point)) return "a control character";
    if (separates_lines(point)) return "a line separator";
    if (turns_the_direction(point)) return "a character that turns the direction of writing";
    text.remove_prefix(length);
  }
  return {};
}

}  // namespace ktraced

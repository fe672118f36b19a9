// SPDX-License-Identifier: BSD-2-Clause
// The output buffer of decoders. It grows, and costs one bounds check per piece.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace ktraced {

// Like std::string, but appending is inlined, because it dominates the decoding time. Move-only.
class TextBuffer {
 public:
  TextBuffer() = default;

  void append(std::string_view text) {
    if (text.empty()) return;  // data() may be null, which memcpy does not allow
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void append(char c) {
    *room(1) = c;
    ++size_;
  }
  void append(size_t count, char c) {
    if (count == 0) return;  // room() may be null, which memset does not allow
    std::memset(room(count), c, count);
    size_ += count;
  }
  // An integer in decimal.
  template <class Integer>
  void append_decimal(Integer value) {
    char* begin = room(kMaxDigits);
    size_ += static_cast<size_t>(std::to_chars(begin, begin + kMaxDigits, value).ptr - begin);
  }
  // In lower-case hexadecimal, without "0x", at least `width` digits.
  void append_hex(uint64_t value, size_t width = 1) {
    size_t digits = value == 0 ? 1 : (67U - static_cast<size_t>(__builtin_clzll(value))) / 4;
    if (digits < width) digits = width;
    char* at = room(digits);
    for (size_t i = digits; i-- > 0; value >>= 4) at[i] = "0123456789abcdef"[value & 0xf];
    size_ += digits;
  }
  // In decimal, zero-padded to `width` digits.
  void append_padded(uint64_t value, size_t width) {
    char digits[kMaxDigits];
    auto length =
        static_cast<size_t>(std::to_chars(digits, digits + sizeof(digits), value).ptr - digits);
    if (length < width) append(width - length, '0');
    append(std::string_view(digits, length));
  }

  [[nodiscard]] std::string_view view() const { return {data_.get(), size_}; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }  // keeps the memory

 private:
  static constexpr size_t kMaxDigits = 20;

  char* room(size_t bytes) {
    if (bytes > capacity_ - size_) [[unlikely]]
      grow(bytes);
    return data_.get() + size_;
  }
  void grow(size_t bytes);

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace ktraced

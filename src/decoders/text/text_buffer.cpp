// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/text_buffer.h"

#include <algorithm>

namespace ktraced {

void TextBuffer::grow(size_t bytes) {
  size_t capacity = std::max({size_ + bytes, 2 * capacity_, size_t{4096}});
  auto data = std::make_unique_for_overwrite<char[]>(capacity);
  if (size_ != 0) std::memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = capacity;
}

}  // namespace ktraced

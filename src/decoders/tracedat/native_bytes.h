// SPDX-License-Identifier: BSD-2-Clause
// Integers as this machine stores them.
#pragma once

#include <cstring>
#include <string>

namespace ktraced {

template <class Integer>
void append_native(Integer value, std::string& out) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(bytes));
}

}  // namespace ktraced

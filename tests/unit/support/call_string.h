// SPDX-License-Identifier: BSD-2-Clause
// Records of strings of system calls.
#pragma once

#include <cstring>
#include <string_view>

#include "bpf/records.h"
#include "unit/support/packets.h"

namespace ktraced::test {

// sys_enter_string or sys_exit_string: both have the same fields. Sets the length of `fields`.
inline Bytes call_string(uint16_t event, uint64_t ts, uint32_t tid, rec_sys_enter_string fields,
                         std::string_view text) {
  const size_t size = (sizeof(fields) + text.size() + 1 + 7) / 8 * 8;
  fields.h = {.ts = ts, .id = event, .size = static_cast<u16>(size), .tid = tid};
  fields.length = static_cast<u16>(text.size());
  Bytes bytes(size);
  std::memcpy(bytes.data(), &fields, sizeof(fields));
  std::memcpy(bytes.data() + sizeof(fields), text.data(), text.size());
  return bytes;
}

}  // namespace ktraced::test

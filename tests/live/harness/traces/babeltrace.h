// SPDX-License-Identifier: BSD-2-Clause
// What babeltrace2, an independent reader, prints of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ktraced::live {

// One event, names and values as text.
struct Printed {
  uint64_t ts = 0;
  std::string name;
  std::map<std::string, std::string> fields;  // of the packet, the record and the event
};

// The events of a trace directory; fails the test if babeltrace2 fails or warns.
std::vector<Printed> babeltrace(const std::string& path);

// The number in the text of a value: 12, -1, 0xFFFF.
uint64_t printed_number(const std::string& text);

// The numbers of an array: "[ [0] = 0x1, [1] = 0x2 ]".
std::vector<uint64_t> printed_numbers(const std::string& text);

}  // namespace ktraced::live

// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/tracedat/trace_dat_header.h"

#include <fmt/format.h>

#include <string_view>

#include "decoders/tracedat/native_bytes.h"
#include "decoders/tracedat/ring_buffer_pages.h"

namespace ktraced {

namespace {

using namespace std::string_view_literals;

constexpr uint16_t kOptionCpuStatistics = 2, kOptionUname = 5;
constexpr size_t kLong = 8;  // bytes of a long

// The description of ring entries that the kernel has in events/header_event.
constexpr std::string_view kHeaderEvent =
    "# compressed entry header\n"
    "\ttype_len    :    5 bits\n"
    "\ttime_delta  :   27 bits\n"
    "\tarray       :   32 bits\n"
    "\n"
    "\tpadding     : type == 29\n"
    "\ttime_extend : type == 30\n"
    "\ttime_stamp : type == 31\n"
    "\tdata max type_len  == 28\n";

std::string header_page() {
  return fmt::format(
      "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
      "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
      "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
      "\tfield: char data;\toffset:{0};\tsize:{1};\tsigned:1;\n",
      RingBufferPages::kHeaderBytes, RingBufferPages::kPageBytes - RingBufferPages::kHeaderBytes);
}

void append_sized(std::string_view text, std::string& out) {
  append_native(uint64_t{text.size()}, out);
  out += text;
}

void append_option(uint16_t option, std::string_view value, std::string& out) {
  append_native(option, out);
  append_native(static_cast<uint32_t>(value.size() + 1), out);
  out += value;
  out += '\0';
}

void append_formats(const TraceDatHeader& header, std::string& out) {
  append_native(uint32_t{0}, out);  // events of the function tracer and others
  append_native(static_cast<uint32_t>(header.formats.size()), out);
  for (const auto& [group, formats] : header.formats) {
    out += group;
    out += '\0';
    append_native(static_cast<uint32_t>(formats.size()), out);
    for (const std::string& format : formats) append_sized(format, out);
  }
}

}  // namespace

std::string trace_dat_header(const TraceDatHeader& header) {
  std::string out("\x17\x08\x44tracing6\0"sv);
  out += '\0';  // little-endian
  out += static_cast<char>(kLong);
  append_native(static_cast<uint32_t>(RingBufferPages::kPageBytes), out);
  out += "header_page\0"sv;
  append_sized(header_page(), out);
  out += "header_event\0"sv;
  append_sized(kHeaderEvent, out);
  append_formats(header, out);
  append_native(uint32_t{0}, out);  // kernel symbols
  append_native(uint32_t{0}, out);  // formats of trace_printk
  append_sized(header.comms, out);
  append_native(static_cast<uint32_t>(header.cpu_bytes.size()), out);
  out += "options  \0"sv;
  for (const std::string& stats : header.cpu_stats) append_option(kOptionCpuStatistics, stats, out);
  if (!header.kernel.empty()) append_option(kOptionUname, header.kernel, out);
  append_native(uint16_t{0}, out);  // no more options
  out += "flyrecord\0"sv;
  const size_t end = out.size() + header.cpu_bytes.size() * 2 * sizeof(uint64_t);
  constexpr size_t kPage = RingBufferPages::kPageBytes;
  const size_t pages_begin = (end + kPage - 1) / kPage * kPage;
  uint64_t at = pages_begin;
  for (const uint64_t bytes : header.cpu_bytes) {
    append_native(at, out);
    append_native(bytes, out);
    at += bytes;
  }
  out.resize(pages_begin, '\0');
  return out;
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// A recorded trace, of which targets use the schema and the names.
#pragma once

#include <filesystem>

#include "fuzz/fuzz.h"
#include "trace/directory/trace_reader.h"

namespace ktraced::fuzz {

inline const std::filesystem::path kGoldenTrace = KTRACED_SOURCE_DIR "/tests/data/golden/trace";

inline const TraceReader& golden_trace() {
  static const auto trace = TraceReader::open(kGoldenTrace);
  require(trace.has_value(), "the golden trace can be read");
  return *trace;
}

// Aligned records in the input, each with its header set to the bytes that are left.
template <class Visit>
void for_each_record(std::string_view input, Visit&& visit) {
  std::vector<std::byte> bytes;
  while (input.size() >= sizeof(record)) {
    record header;
    std::memcpy(&header, input.data(), sizeof(header));
    const size_t left = input.size() / 8 * 8;
    size_t size = std::max<size_t>(size_of(header), sizeof(header));
    size = std::min(size, std::min<size_t>(left, 65528));
    bytes.resize(size);
    std::memcpy(bytes.data(), input.data(), size);
    header.size = static_cast<u16>(size | (header.size & RECORD_CONTEXT));
    std::memcpy(bytes.data(), &header, sizeof(header));
    bytes.shrink_to_fit();  // so that AddressSanitizer knows the end
    visit(RecordView(bytes.data()));
    input.remove_prefix(size);
  }
}

}  // namespace ktraced::fuzz

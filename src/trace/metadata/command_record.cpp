// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/command_record.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "bpf/records.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

constexpr size_t kHead = offsetof(rec_metadata_command, text);

}  // namespace

std::string CommandLine::shown() const {
  if (text.empty() && !cut) return "''";
  return quoted_words(text) + (cut ? "..." : "");
}

bool is_of_process(const CommandLine& command, uint64_t start_ns) {
  constexpr uint64_t kTickNs = 10'000'000;  // 100 Hz on x86
  return start_ns == 0 || start_ns / kTickNs == command.start_ns / kTickNs;
}

size_t command_record_size(size_t text_size) {
  constexpr size_t kAlign = 8;
  const size_t size = kHead + std::min<size_t>(text_size, ARGV_MAX) + 1;  // a NUL
  return (size + kAlign - 1) / kAlign * kAlign;
}

void append_command_record(const CommandLine& command, std::vector<std::byte>& records) {
  rec_metadata_command r{};
  command.text.copy(r.text, ARGV_MAX);
  const size_t size = command_record_size(std::strlen(r.text));
  r.h = {.ts = command.read_ns,
         .id = METADATA_command,
         .size = static_cast<u16>(size),
         .tid = command.pid};
  r.start_time = command.start_ns;
  r.parent = command.parent;
  r.cut = command.cut || command.text.size() > ARGV_MAX ? 1 : 0;
  const auto bytes = std::as_bytes(std::span(&r, 1)).first(size);
  records.insert(records.end(), bytes.begin(), bytes.end());
}

std::optional<CommandLine> command_of(RecordView record) {
  const auto bytes = record.bytes();
  if (record.id() != METADATA_command || bytes.size() <= kHead) return std::nullopt;
  rec_metadata_command r{};
  std::memcpy(&r, bytes.data(), std::min(bytes.size(), sizeof(r)));
  return CommandLine{.pid = r.h.tid,
                     .read_ns = r.h.ts,
                     .start_ns = r.start_time,
                     .text = std::string(r.text, ::strnlen(r.text, ARGV_MAX)),
                     .cut = r.cut != 0,
                     .parent = r.parent};
}

}  // namespace ktraced

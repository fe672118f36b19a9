// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/mapped_file.h"

#include <cstring>

#include "bpf/records.h"

namespace ktraced {

bool is_build_id(std::string_view text) {
  constexpr size_t kMaxBytes = 64;
  return !text.empty() && text.size() % 2 == 0 && text.size() <= 2 * kMaxBytes &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<MappedFile> file_of(RecordView record) {
  const auto bytes = record.bytes();
  rec_file head{};
  if (record.id() != RECORD_FILE || bytes.size() <= sizeof(head)) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(head));
  const auto path = bytes.subspan(sizeof(head));
  const auto* text = reinterpret_cast<const char*>(path.data());
  const size_t length = ::strnlen(text, path.size());
  if (length == path.size() || (head.number & kFileNumberBit) == 0) return std::nullopt;
  return MappedFile{.number = head.number,
                    .path = std::string(text, length),
                    .inode = head.inode,
                    .changed_ns = head.changed,
                    .device = head.device,
                    .deleted = (head.flags & FILE_DELETED) != 0,
                    .cut = (head.flags & FILE_CUT) != 0,
                    .build_id = {}};
}

}  // namespace ktraced

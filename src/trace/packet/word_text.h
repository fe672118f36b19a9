// SPDX-License-Identifier: BSD-2-Clause
// Texts that are several words: the arguments of a program.
#pragma once

#include <string>
#include <string_view>

#include "trace/packet/field_value.h"

namespace ktraced {

// The words of a recorded text (LOCATED_WORD_BLANK in bpf/records.h) as a shell reads them: in
// single quotes if they are empty, or have anything in them that may mean something else to a
// shell.
[[nodiscard]] std::string quoted_words(std::string_view recorded);

// The text of a field as it is shown: text_of(), or the quoted words. Valid as long as the record's
// bytes and `scratch`.
[[nodiscard]] inline std::string_view shown_text(const Field& field, RecordView record,
                                                 std::string& scratch) {
  const std::string_view text = text_of(field, record);
  if (!field.words) return text;
  scratch = quoted_words(text);
  return scratch;
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Texts that are several words: the arguments of a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/packet/field_value.h"

namespace ktraced {

// A word as a shell reads it: in single quotes if it is empty, or has anything in it that may mean
// something else to a shell; as $'a\nb', which shells with this form of quotes read, if it has
// characters that printable() changes.
[[nodiscard]] std::string quoted_word(std::string_view word);
// The words of a recorded text (LOCATED_WORD_BLANK in bpf/records.h), each as quoted_word(). An
// empty text has no words.
[[nodiscard]] std::string quoted_words(std::string_view recorded);
// The command that shows the traces with these paths as one history.
[[nodiscard]] std::string show_command(const std::vector<std::string>& paths);

// The text of a field as it is shown: text_of(), or the quoted words. A recorded text of words that
// is empty is one empty word, because programs have an argument at least; if it is cut, its words
// could not be read, and it stays empty. Valid as long as the record's bytes and `scratch`.
[[nodiscard]] inline std::string_view shown_text(const Field& field, RecordView record,
                                                 std::string& scratch) {
  const std::string_view text = text_of(field, record);
  if (!field.words) return text;
  // Even an empty text has its NUL, unless the record is too short to have the field.
  const Elements elements = elements_of(field, record);
  if (text.empty() && elements.count != 0 && !elements.cut) return "''";
  scratch = quoted_words(text);
  return scratch;
}

}  // namespace ktraced

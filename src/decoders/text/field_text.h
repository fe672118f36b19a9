// SPDX-License-Identifier: BSD-2-Clause
// The meaning of numbers in events, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/coverage/comm.h"
#include "decoders/text/decoder.h"
#include "decoders/text/gfp_text.h"

namespace ktraced {

// Texts for single numbers: names of threads, symbols, flags, calls, signals and errors.
class FieldText {
 public:
  explicit FieldText(const DecoderSources& sources)
      : sources_(sources), gfp_(sources.schema.gfp_flags) {}

  // The text for `field` with `value`; `context` is its context_of(), see schema/annotations.h.
  // Empty: there is none. Bytes of names come from the kernel. Valid until the next call and until
  // names change.
  std::string_view of(const Field& field, const std::optional<Field>& context, uint64_t value,
                      uint32_t cpu, RecordView record);

 private:
  DecoderSources sources_;
  GfpText gfp_;
  CommScratch comm_;
  std::string text_;
};

}  // namespace ktraced

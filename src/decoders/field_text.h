// SPDX-License-Identifier: BSD-2-Clause
// What the numbers in events mean, in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "decoders/comm.h"
#include "decoders/decoder.h"
#include "decoders/gfp_text.h"

namespace ktraced {

// The field that tells how another is to be read: a system call's number means something else in
// each ABI, a signal code for each signal.
[[nodiscard]] std::optional<Field> context_of(const Event& event, Meaning meaning);

// Texts for single numbers: names of threads, symbols, flags, calls, signals and errors.
class FieldText {
 public:
  explicit FieldText(const DecoderSources& sources)
      : sources_(sources), gfp_(sources.schema.gfp_flags) {}

  // Of `field` with `value`; `context` is its context_of(). Empty: there is none. Bytes of names
  // are the kernel's. Valid until the next call and until names changes.
  std::string_view of(const Field& field, const std::optional<Field>& context, uint64_t value,
                      uint32_t cpu, RecordView record);

 private:
  DecoderSources sources_;
  GfpText gfp_;
  CommScratch comm_;
  std::string text_;
};

}  // namespace ktraced

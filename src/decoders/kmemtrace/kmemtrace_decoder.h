// SPDX-License-Identifier: BSD-2-Clause
// Prints allocations in the formats of kmemtrace.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/reports/kmem_call.h"
#include "decoders/text/decoder.h"
#include "decoders/text/event_time.h"
#include "decoders/text/gfp_text.h"

namespace ktraced {

// "type_id 0 call_site 18446744071565585597 ptr 18446612134405955584 bytes_req 4096 bytes_alloc
// 4096 gfp_flags 208 node -1"; for a free the part up to the pointer. Other events are not shown.
class KmemtraceDecoder : public Decoder {
 public:
  // `names`: flags by name. `time`: lines begin with it; without it they have no time.
  explicit KmemtraceDecoder(const DecoderSources& sources, bool names = false,
                            const std::optional<EventTime>& time = std::nullopt);
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;

 private:
  DecoderSources sources_;
  KmemReader reader_;
  GfpText gfp_;
  bool names_;
  std::optional<EventTime> time_;
};

// A table with one line per event: "+" or "-", K, C or P, bytes, flags, pointer, node and the
// calling function.
class KmemtraceMinimalDecoder : public Decoder {
 public:
  // `gfp_names`: flags by name, in a column as wide as the longest text so far.
  // `time`: as of KmemtraceDecoder.
  KmemtraceMinimalDecoder(const DecoderSources& sources, bool gfp_names,
                          const std::optional<EventTime>& time = std::nullopt);
  void header(TextBuffer& out) override;
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;

 private:
  void append_sizes(const KmemCall& call, TextBuffer& out);
  void append_flags(uint32_t flags, TextBuffer& out);
  void append_caller(uint64_t call_site, TextBuffer& out) const;

  DecoderSources sources_;
  KmemReader reader_;
  GfpText gfp_;
  bool gfp_names_;
  std::optional<EventTime> time_;
  size_t flags_width_;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/kmemtrace/kmemtrace_decoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "decoders/text/loss_comment.h"

namespace ktraced {
namespace {

constexpr size_t kHexFlagsWidth = 8;
constexpr size_t kNamedFlagsWidth = 42;  // "GFP_KERNEL_ACCOUNT|__GFP_ZERO|__GFP_NOWARN"
// Widths of the columns: the largest page allocation has seven digits.
constexpr size_t kBytesWidth = 8;
constexpr size_t kPointerWidth = 18;
constexpr size_t kNodeWidth = 4;

void append_named(std::string_view name, uint64_t value, TextBuffer& out) {
  out.append(name);
  out.append_decimal(value);
}

void append_right(size_t width, auto number, TextBuffer& out) {
  TextBuffer digits;
  digits.append_decimal(number);
  out.append(width - std::min(width, digits.size()), ' ');
  out.append(digits.view());
}

void append_time(std::optional<EventTime>& time, RecordView record, TextBuffer& out) {
  if (!time) return;
  time->append(record.ts(), out);
  out.append("  ");
}

char letter_of(KmemType type) { return "KCP"[static_cast<size_t>(type)]; }

}  // namespace

KmemtraceDecoder::KmemtraceDecoder(const DecoderSources& sources, bool names,
                                   const std::optional<EventTime>& time)
    : sources_(sources),
      reader_(sources.schema),
      gfp_(sources.schema.gfp_flags),
      names_(names),
      time_(time) {}

void KmemtraceDecoder::event(uint32_t /*cpu*/, RecordView record, TextBuffer& out) {
  const auto call = reader_.read(record);
  if (!call) return;
  append_time(time_, record, out);
  append_named("type_id ", static_cast<uint64_t>(call->type), out);
  append_named(" call_site ", call->call_site, out);
  append_named(" ptr ", call->ptr, out);
  if (call->is_alloc) {
    append_named(" bytes_req ", call->bytes_req, out);
    append_named(" bytes_alloc ", call->bytes_alloc, out);
    out.append(" gfp_flags ");
    if (names_)
      append_printable(gfp_.of(call->gfp_flags), out);
    else
      out.append_decimal(call->gfp_flags);
    out.append(" node ");
    out.append_decimal(call->node);
  }
  out.append('\n');
}

void KmemtraceDecoder::loss(const LossItem& loss, TextBuffer& out) {
  if (reader_.is_kmem(loss.event_id)) append_loss_comment(loss, sources_.schema, out);
}

KmemtraceMinimalDecoder::KmemtraceMinimalDecoder(const DecoderSources& sources, bool gfp_names,
                                                 const std::optional<EventTime>& time)
    : sources_(sources),
      reader_(sources.schema),
      gfp_(sources.schema.gfp_flags),
      gfp_names_(gfp_names),
      time_(time),
      flags_width_(gfp_names ? kNamedFlagsWidth : kHexFlagsWidth) {}

void KmemtraceMinimalDecoder::header(TextBuffer& out) {
  out.append("#\n");
  out.append(fmt::format("# ALLOC  TYPE  {:>{}}  {:>{}}  {:<{}}  {:<{}}  {:>{}}  CALLER\n", "REQ",
                         kBytesWidth, "GIVEN", kBytesWidth, "FLAGS", flags_width_, "POINTER",
                         kPointerWidth, "NODE", kNodeWidth));
  out.append(fmt::format("# FREE   |     {:>{}}  {:>{}}  {:<{}}  {:<{}}  {:>{}}  |\n", "|",
                         kBytesWidth, "|", kBytesWidth, "|", flags_width_, "|", kPointerWidth, "|",
                         kNodeWidth));
  out.append("# |\n\n");
}

void KmemtraceMinimalDecoder::event(uint32_t /*cpu*/, RecordView record, TextBuffer& out) {
  const auto call = reader_.read(record);
  if (!call) return;
  append_time(time_, record, out);
  out.append(call->is_alloc ? "  +      " : "  -      ");
  out.append(letter_of(call->type));
  out.append("     ");
  if (call->is_alloc)
    append_sizes(*call, out);
  else
    out.append(kBytesWidth + 2 + kBytesWidth + 2 + flags_width_ + 2, ' ');
  out.append("0x");
  out.append_hex(call->ptr, kPointerWidth - 2);
  out.append("  ");
  if (call->is_alloc)
    append_right(kNodeWidth, call->node, out);
  else
    out.append(kNodeWidth, ' ');
  out.append("  ");
  append_caller(call->call_site, out);
  out.append('\n');
}

void KmemtraceMinimalDecoder::append_sizes(const KmemCall& call, TextBuffer& out) {
  append_right(kBytesWidth, call.bytes_req, out);
  out.append("  ");
  append_right(kBytesWidth, call.bytes_alloc, out);
  out.append("  ");
  append_flags(call.gfp_flags, out);
  out.append("  ");
}

void KmemtraceMinimalDecoder::append_flags(uint32_t flags, TextBuffer& out) {
  if (!gfp_names_) return out.append_hex(flags, kHexFlagsWidth);
  const size_t begin = out.size();
  append_printable(gfp_.of(flags), out);
  const size_t length = out.size() - begin;
  flags_width_ = std::max(flags_width_, length);
  out.append(flags_width_ - length, ' ');
}

// The function name without an offset; "-" for pages, whose events have no call site.
void KmemtraceMinimalDecoder::append_caller(uint64_t call_site, TextBuffer& out) const {
  if (call_site == 0) return out.append('-');
  std::string_view symbol;
  if (sources_.symbols != nullptr && is_kernel_text(call_site))
    symbol = sources_.symbols->resolve(call_site);
  if (!symbol.empty()) return append_printable(symbol.substr(0, symbol.rfind('+')), out);
  out.append("0x");
  out.append_hex(call_site);
}

void KmemtraceMinimalDecoder::loss(const LossItem& loss, TextBuffer& out) {
  if (reader_.is_kmem(loss.event_id)) append_loss_comment(loss, sources_.schema, out);
}

}  // namespace ktraced

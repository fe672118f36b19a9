// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/event_time.h"

#include <algorithm>

#include "base/text/time_point.h"
#include "decoders/text/kernel_time.h"

namespace ktraced {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kFraction = 7;  // ".500000"

}  // namespace

const std::vector<std::string>& time_form_names() {
  static const std::vector<std::string> kNames = {"boot", "wall", "delta", "iso"};
  return kNames;
}

std::optional<TimeForm> time_form_named(std::string_view name) {
  const auto& names = time_form_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<TimeForm>(found - names.begin());
}

void EventTime::append(uint64_t ts, TextBuffer& out) {
  switch (form_) {
    case TimeForm::boot:
      return append_seconds(kernel_time(ts), out);
    case TimeForm::delta:
      return append_delta(ts, out);
    case TimeForm::wall:
    case TimeForm::iso:
      return append_local(ts + static_cast<uint64_t>(clock_offset_ns_), out);
  }
}

void EventTime::append_delta(uint64_t ts, TextBuffer& out) {
  const uint64_t since = last_ns_ == 0 ? ts : std::min(last_ns_, ts);
  last_ns_ = ts;
  out.append('+');
  append_seconds(kernel_time(ts - since), out);
}

// Many events have the same second, so its text is kept.
void EventTime::append_local(uint64_t realtime_ns, TextBuffer& out) {
  if (realtime_ns / kSecond != second_) {
    second_ = realtime_ns / kSecond;
    const std::string iso = iso_time_text(realtime_ns);
    const size_t dot = iso.find('.'), day = iso.find('T') + 1;
    before_ = form_ == TimeForm::iso ? iso.substr(0, dot) : iso.substr(day, dot - day);
    zone_ = form_ == TimeForm::iso ? iso.substr(dot + kFraction) : "";
  }
  out.append(before_);
  out.append('.');
  out.append_padded(realtime_ns % kSecond / 1000, 6);
  out.append(zone_);
}

}  // namespace ktraced

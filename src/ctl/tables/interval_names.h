// SPDX-License-Identifier: BSD-2-Clause
// Texts for how intervals end.
#pragma once

#include <string_view>

#include "analysis/intervals/call_tracker.h"
#include "analysis/intervals/unknown.h"
#include "analysis/reports/kmem_analysis.h"

namespace ktraced {

// Why something is not known: "lost", "config_change" …; empty for Unknown::none.
[[nodiscard]] constexpr std::string_view name_of(Unknown unknown) {
  switch (unknown) {
    case Unknown::none:
      return "";
    case Unknown::unseen:
      return "unseen";
    case Unknown::before_trace:
      return "before_trace";
    case Unknown::lost:
      return "lost";
    case Unknown::config_change:
      return "config_change";
    case Unknown::gap:
      return "gap";
    case Unknown::filter:
      return "filter";
    case Unknown::evicted:
      return "evicted";
    case Unknown::trace_end:
      return "trace_end";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view name_of(CallEnd end) {
  switch (end) {
    case CallEnd::returned:
    case CallEnd::child_returned:
      return "returned";
    case CallEnd::other_returned:
    case CallEnd::unseen:
      return "unseen";
    case CallEnd::thread_ended:
      return "thread_ended";
    case CallEnd::not_followed:
      return "evicted";
    case CallEnd::trace_ended:
      return "trace_end";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view name_of(AllocationEnd end) {
  switch (end) {
    case AllocationEnd::freed:
      return "freed";
    case AllocationEnd::unseen:
      return "unseen";
    case AllocationEnd::held:
      return "held";
  }
  return "";
}

[[nodiscard]] constexpr std::string_view name_of(KmemType type) {
  switch (type) {
    case KmemType::kmalloc:
      return "kmalloc";
    case KmemType::cache:
      return "cache";
    case KmemType::pages:
      return "pages";
  }
  return "";
}

}  // namespace ktraced

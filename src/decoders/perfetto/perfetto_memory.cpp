// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_memory.h"

#include <fmt/format.h>

#include <string>

#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

// The return value of kmalloc(0). Like NULL, it is not memory.
constexpr uint64_t kLastNoMemory = 16;

std::string name_of(const KmemCall& call, const NameTable& names) {
  if (call.type == KmemType::pages) return "pages";
  if (call.type == KmemType::kmalloc) return "kmalloc";
  const std::string_view name = names.cache_name(call.cache);
  return name.empty() ? fmt::format("cache {:#x}", call.cache) : "cache " + printable(name);
}

}  // namespace

void PerfettoMemory::add(const KmemCall& call, const NameTable& names, uint64_t ts) {
  if (call.ptr <= kLastNoMemory) return;
  // The counters have not changed since the last record.
  if (ts >= written_ns_ + kIntervalNs) write(last_ns_);
  last_ns_ = ts;
  const auto before = held_.find(call.ptr);
  if (before != held_.end()) {  // freed, or its free event is missing
    change(before->second, false);
    held_.erase(before);
  }
  if (call.is_alloc && held_.size() < kMaxHeld) {
    const Held held{.counter = counter_of(call, names),
                    .is_slab = call.type != KmemType::pages,
                    .bytes = call.bytes_alloc};
    held_.emplace(call.ptr, held);
    change(held, true);
  }
}

void PerfettoMemory::change(const Held& held, bool added) {
  const uint64_t bytes = added ? held.bytes : 0 - held.bytes;
  set(counters_[held.counter], counters_[held.counter].bytes + bytes);
  if (held.is_slab) set(counters_[kSlab], counters_[kSlab].bytes + bytes);
}

void PerfettoMemory::set(Counter& counter, uint64_t bytes) {
  counter.changed = counter.changed || counter.bytes != bytes;
  counter.bytes = bytes;
}

void PerfettoMemory::restart(uint64_t ts) {
  write(last_ns_);
  held_.clear();
  for (Counter& counter : counters_) set(counter, 0);
  write(ts);
}

void PerfettoMemory::finish() { write(last_ns_); }

void PerfettoMemory::write(uint64_t ts) {
  written_ns_ = ts;
  for (Counter& counter : counters_) {
    if (!counter.changed) continue;
    packets_.count(ts, counter.track, static_cast<int64_t>(counter.bytes));
    counter.changed = false;
  }
}

uint32_t PerfettoMemory::counter_of(const KmemCall& call, const NameTable& names) {
  if (counters_.empty()) {
    root_ = packets_.add_track("Kernel memory allocated and not given back");
    add_counter("slab");
  }
  const uint64_t cache = call.type == KmemType::cache ? call.cache : 0;
  auto [found, is_new] = index_.try_emplace({call.type, cache});
  if (is_new) found->second = add_counter(name_of(call, names));
  return found->second;
}

uint32_t PerfettoMemory::add_counter(std::string_view name) {
  counters_.push_back(
      {.track = packets_.add_counter(name, perfetto::track_descriptor::kBytes, root_)});
  return static_cast<uint32_t>(counters_.size() - 1);
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// What is traced now, and what was before.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernel/bpf_object.h"
#include "kernel/trace_config_log.h"

namespace ktraced {

// The trace configs of the last changes, with their times, also of the daemons before: what one of
// them filtered no other one calls complete. Belongs to the main thread, but for current().
class TraceConfigHistory {
 public:
  using Config = std::shared_ptr<const nlohmann::json>;
  static constexpr size_t kMaxChanges = 1000;

  // Since when what was traced is known, and why not before.
  struct KnownSince {
    uint64_t ns = 0;  // CLOCK_BOOTTIME; 0: it is known of all the time
    std::string reason;
  };

  // `adopted`: the object is that of an earlier daemon, and so is the log beside it. It does not
  // fail: what is not known is reported by known_since().
  TraceConfigHistory(const BpfObject& object, bool adopted);

  // What is traced has changed, or may have. Returns the time if it has.
  std::optional<uint64_t> note(nlohmann::json config);
  // Null before the first note(), unless an earlier daemon has noted something. Thread-safe.
  [[nodiscard]] Config current() const;
  // What was traced at that time, with the "changes" since then: as in manifests. What is not
  // known is not in it.
  [[nodiscard]] nlohmann::json since(uint64_t ns) const;
  [[nodiscard]] const KnownSince& known_since() const { return known_since_; }
  // Something else than the configs is not known of the time up to now.
  void forget(std::string reason);

  // While it lives the kernel is being changed: a daemon that ends then leaves it to the next one
  // that what is traced is not known. May be nested.
  class Change {
   public:
    explicit Change(TraceConfigHistory& history);
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change();

   private:
    TraceConfigHistory& history_;
  };

 private:
  struct Entry {
    uint64_t ns = 0;
    Config config;
  };
  void adopt();
  void append(uint64_t ns, Config config);

  std::optional<TraceConfigLog> log_;  // nothing: it cannot be kept
  std::deque<Entry> changes_;          // the last ones, the oldest first
  KnownSince known_since_;
  int changing_ = 0;
  mutable std::mutex mutex_;
  Config current_;  // guarded by mutex_
};

// What a run-time change of an earlier daemon had set and `now` has not: a line each for the log.
[[nodiscard]] std::vector<std::string> dropped_settings(const nlohmann::json& before,
                                                        const nlohmann::json& now);

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The current trace config and the earlier ones.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/pins/ledger.h"

namespace ktraced {

// The recent config changes with their times, including those of earlier daemons. Snapshots need
// them, because a trace that was filtered in part is not complete. The next daemon finds them in a
// bounded log, from which the oldest are evicted. Belongs to the main thread, except for current().
class TraceConfigHistory {
 public:
  using Config = std::shared_ptr<const nlohmann::json>;
  static constexpr size_t kMaxChanges = 1000;
  // The bytes of all changes as text, because a manifest has them too. The newest change is kept at
  // any length.
  static constexpr size_t kMaxBytes = size_t{8} << 20;

  // Since when the trace config is known, and why not earlier.
  struct KnownSince {
    uint64_t ns = 0;  // CLOCK_BOOTTIME; 0: known for all times
    std::string reason;
  };

  // `log`, that of the Ledger, must outlive this. `adopted`: it is of an earlier daemon, or zero if
  // that has left none. Never fails: known_since() reports what is unknown.
  TraceConfigHistory(ConfigLog& log, bool adopted);

  // Records the trace config. Returns the time if it differs from the current one.
  std::optional<uint64_t> note(nlohmann::json config);
  // Null before the first note(), unless an earlier daemon has recorded a config. Thread-safe.
  [[nodiscard]] Config current() const;
  // The trace config at that time, with the "changes" since then, in the format of manifests.
  // Unknown parts are left out.
  [[nodiscard]] nlohmann::json since(uint64_t ns) const;
  [[nodiscard]] const KnownSince& known_since() const { return known_since_; }

  // Marks the time while the kernel is being changed. If the daemon dies meanwhile, the next daemon
  // treats the trace config as unknown. May be nested.
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
    size_t bytes = 0;  // as text
  };
  void adopt();
  [[nodiscard]] bool read_log();
  void mark_unknown(std::string reason);
  void clear_log(uint64_t known_since_ns);
  void evict_logged(uint64_t next_ns);
  void write(uint64_t ns, std::string_view text);
  void add(Entry change);

  ConfigLog& log_;
  size_t logged_ = 0;          // the last ones of `changes_` are in the log
  std::deque<Entry> changes_;  // the most recent ones, oldest first
  size_t bytes_ = 0;           // of `changes_`, as text
  KnownSince known_since_;
  int changing_ = 0;
  mutable std::mutex mutex_;
  Config current_;  // guarded by mutex_
};

// The settings that an earlier daemon changed at run time and that `now` does not have: one line
// each, for the log.
[[nodiscard]] std::vector<std::string> dropped_settings(const nlohmann::json& before,
                                                        const nlohmann::json& now);

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Who sends signals to whom, and what becomes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/actor.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/limited_rows.h"

namespace ktraced {

// Signals of one number from one process, or from the kernel, to another process. `others`: all
// that came after the table was full.
struct SentSignals {
  bool others = false;
  int32_t signal = 0;
  std::optional<uint32_t> from;  // index in processes(); nothing: the kernel
  uint32_t to = 0;               // index in processes()
  uint64_t count = 0;
  uint64_t first_ns = 0;  // time of the first
  // By what the kernel did: 0 is delivered. Those without a signal_result_name() are together.
  std::map<int32_t, uint64_t> results;
};

// Signals of one number that reached a process. `others`: all that came after the table was full.
struct ReceivedSignals {
  bool others = false;
  int32_t signal = 0;
  uint32_t process = 0;  // index in processes()
  uint64_t count = 0;
  uint64_t handled = 0;   // by a function of the process, not by the default action
  uint64_t first_ns = 0;  // time of the first
};

// Sums up the selected signal_generate and signal_deliver. The sender is the process that ran then,
// if the signal was not sent_by_kernel(). Memory: at most `max_rows` rows in each table, and twice
// as many processes.
class SignalAnalysis : public Analysis {
 public:
  static constexpr size_t kMaxRows = 8192;
  static constexpr int32_t kUnnamedResult = -1;

  explicit SignalAnalysis(size_t max_rows = kMaxRows)
      : numbers_(2 * max_rows), sent_(max_rows), received_(max_rows) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;

  // The processes that send or get signals.
  [[nodiscard]] const std::vector<ActorRow>& processes() const { return processes_; }
  // In the order of their first signals.
  [[nodiscard]] const std::vector<SentSignals>& sent() const { return sent_.rows(); }
  [[nodiscard]] const std::vector<ReceivedSignals>& received() const { return received_.rows(); }
  // Events of signals that were lost.
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, generated, delivered } kind = Kind::other;
    std::optional<Field> sig, code, pid, result, handler;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  void on_generated(const Plan& plan, RecordView record, const NameTable& names);
  void on_delivered(const Plan& plan, RecordView record, const NameTable& names);
  std::optional<uint32_t> process_of(uint32_t tid, uint64_t ts, const NameTable& names);
  template <class Row>
  static void count(Row& row, uint64_t ts) {
    if (row.count++ == 0) row.first_ns = ts;
  }

  std::vector<Source> sources_;
  ActorNumbers numbers_;
  std::vector<ActorRow> processes_;  // by number
  LimitedRows<SentSignals> sent_;
  LimitedRows<ReceivedSignals> received_;
  uint64_t lost_ = 0;
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The interface of tables that are computed when they are read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// NULL, an integer or a text.
struct Value {
  enum class Type : uint8_t { null, integer, text };

  Type type = Type::null;
  bool is_static = false;  // the text is valid as long as the program runs
  int64_t number = 0;
  std::string_view text;

  static Value null() { return {}; }
  // Numbers from 2^63 on become negative: SQLite has no others.
  static Value integer(uint64_t number) {
    return {.type = Type::integer, .number = static_cast<int64_t>(number)};
  }
  static Value of(std::string_view text) { return {.type = Type::text, .text = text}; }
  // A name from a table of the program; NULL if it is empty.
  static Value name(std::string_view text) {
    if (text.empty()) return {};
    return {.type = Type::text, .is_static = true, .text = text};
  }
};

// What conditions on a column limit; a table may use it to read less.
enum class Limits : uint8_t { nothing, time, end_time, wall, cpu, tid, pid, event };

struct Column {
  std::string name;
  bool is_text = false;  // otherwise an integer
  std::string doc;
  Limits limits = Limits::nothing;
};

// The rows that a query can use. A table may return others too: SQLite checks all conditions.
struct ScanLimits {
  uint64_t begin_ns = 0, end_ns = UINT64_MAX;  // of the column that limits time, both included
  uint64_t ended_ns = UINT64_MAX;  // of the column with the end of an interval: up to this time
  // Limits of the column that has `begin_ns` as wall-clock time: ns, CLOCK_REALTIME, both included.
  uint64_t begin_wall_ns = 0, end_wall_ns = UINT64_MAX;
  // Sorted; nothing: all.
  std::optional<std::vector<uint32_t>> cpus, tids, pids;
  std::optional<std::vector<std::string>> events;
};

// One reading of a table, from its first row on.
class RowScan {
 public:
  virtual ~RowScan() = default;
  // Goes to the next row, at first to the first; false: there are no more, or it was stopped.
  virtual bool next() = 0;
  // A value of the current row. Text is valid until the next call of any member.
  virtual Value value(size_t column) = 0;
  // A number that the row has in every scan, whatever its limits.
  virtual int64_t rowid() = 0;
};

// A table without contents of its own. Everything that it reads outlives it.
class QueryTable {
 public:
  QueryTable(std::string name, std::string doc) : name_(std::move(name)), doc_(std::move(doc)) {}
  virtual ~QueryTable() = default;
  QueryTable(const QueryTable&) = delete;
  QueryTable& operator=(const QueryTable&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& doc() const { return doc_; }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  // The column by which rows are in ascending order, if there is one.
  [[nodiscard]] virtual std::optional<size_t> order() const { return std::nullopt; }
  // The time of its rows by that column; there may be others if the trace is damaged.
  struct Span {
    uint64_t begin_ns = 0, end_ns = UINT64_MAX;
  };
  [[nodiscard]] virtual Span span() const { return {}; }
  // Estimates for the query planner: rows, and records that must be read for them. If these are 0,
  // a scan finds rows by their first column quickly.
  [[nodiscard]] virtual uint64_t rows() const = 0;
  [[nodiscard]] virtual uint64_t records() const = 0;
  // The number of rows; nothing if it is not known without a scan.
  [[nodiscard]] virtual std::optional<uint64_t> row_count() const { return std::nullopt; }
  // Why the table cannot be read; empty if it can.
  [[nodiscard]] virtual std::string refusal() const { return {}; }
  // The events of which it needs every hit to have all its rows, and all values of the columns that
  // scans have read since the last call; empty: none of its own.
  [[nodiscard]] virtual std::vector<std::string> take_needs() { return {}; }
  // Must not outlive this. The scan ends soon after `stop` has become true.
  [[nodiscard]] virtual std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                                      const std::atomic<bool>& stop) const = 0;

 protected:
  std::vector<Column> columns_;

 private:
  std::string name_, doc_;
};

}  // namespace ktraced

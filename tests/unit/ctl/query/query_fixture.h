// SPDX-License-Identifier: BSD-2-Clause
// Queries over a small trace.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ctl/query/database.h"
#include "ctl/selection/selection.h"
#include "ctl/tables/tables.h"
#include "trace/merge/history.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {

// Rows as "a|b;" with NULL as nothing.
class RowText : public ResultSink {
 public:
  void begin(const std::vector<std::string>& columns) override { columns_ = columns; }
  Result<bool> row(const ResultRow& row) override {
    for (size_t i = 0; i < row.size(); ++i) {
      if (row.type(i) != ResultRow::Type::null) text_ += row.text(i);
      text_ += i + 1 < row.size() ? "|" : ";";
    }
    return true;
  }
  Result<> end() override { return {}; }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }

 private:
  std::vector<std::string> columns_;
  std::string text_;
};

class QueryTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSymbol = 0xffffffff81000001;

  static Bytes enter(uint64_t ts, uint32_t tid, int32_t nr = 257) {
    return make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr, .args = {1, 2, 3}});
  }
  static Bytes leave(uint64_t ts, uint32_t tid, int64_t ret, int32_t nr = 257) {
    return make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr, .ret = ret});
  }
  static Bytes to(uint64_t ts, int32_t prev, int32_t next, uint32_t state = 1) {
    return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(prev),
                       rec_sched_switch{.prev_pid = prev, .prev_state = state, .next_pid = next});
  }
  static Bytes wake(uint64_t ts, int32_t tid) {
    return make_record(EVENT_sched_wakeup, ts, 0, rec_sched_wakeup{.pid = tid, .target_cpu = 1});
  }
  static Bytes alloc(uint64_t ts, uint64_t ptr) {
    return make_record(
        EVENT_kmalloc, ts, 8,
        rec_kmalloc{.call_site = kSymbol, .ptr = ptr, .bytes_req = 300, .bytes_alloc = 512});
  }
  static Bytes free_at(uint64_t ts, uint64_t ptr) {
    return make_record(EVENT_kfree, ts, 9, rec_kfree{.call_site = kSymbol, .ptr = ptr});
  }
  // Threads 8 (process 8) and 9 (process 8) on two CPUs, two packets each.
  static TraceSpec spec() {
    return {.schema = built_schema(),
            .packets = {{.cpu = 0, .records = {enter(1000, 8), leave(1500, 8, -2)}},
                        {.cpu = 1, .records = {to(1100, 0, 9), alloc(1200, 0x1000)}},
                        {.cpu = 0, .records = {enter(3000, 8), leave(3400, 8, 3)}},
                        {.cpu = 1,
                         .records = {to(2500, 9, 0), wake(2600, 9), to(2700, 0, 9),
                                     free_at(2800, 0x1000), alloc(2900, 0x2000)},
                         .lost = {{.count = 5, .event_id = EVENT_task_rename}}}},
            .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 8, "nine\x1b[31m", 7)},
            .symbols = {{kSymbol, "put_pid+0x1/0x2"}},
            .begin_ns = 1000,
            .end_ns = 4000};
  }
  void open(const TraceSpec& trace, uint64_t memory = Database::kDefaultMemory) {
    const auto path = directory_.path() / "trace";
    write_trace(path, trace);
    open(std::vector<std::filesystem::path>{path}, memory);
  }
  void open(const std::vector<std::filesystem::path>& paths,
            uint64_t memory = Database::kDefaultMemory) {
    auto history = History::open(paths);
    ASSERT_TRUE(history) << history.error().message;
    history_.emplace(std::move(*history));
    selections_.clear();
    add_tables(memory);
  }
  // Limits the tables of the open traces, from then on.
  void select(const SelectionArgs& args) {
    selections_.clear();
    for (const TraceReader& trace : history_->traces()) {
      auto selection = Selection::make(args, trace.schema(), SchemaOf::trace);
      ASSERT_TRUE(selection) << selection.error().message;
      selections_.push_back(std::move(*selection));
    }
    add_tables();
  }
  void set_window(const TimeWindow& window) {
    history_->set_window(window);
    add_tables();
  }
  // The rows, or the error.
  std::string query(std::string_view sql) {
    RowText rows;
    const auto done = database_->run(sql, rows);
    return done ? rows.text() : "error: " + done.error().message;
  }

  void add_tables(uint64_t memory = Database::kDefaultMemory) {
    database_.reset();
    auto database = Database::open(memory);
    ASSERT_TRUE(database);
    database_ = std::move(*database);
    for (auto& table : all_tables({*history_, selections_}))
      ASSERT_TRUE(database_->add(std::move(table)));
  }

  TempDirectory directory_;
  std::optional<History> history_;
  std::vector<Selection> selections_;  // of each trace, or none
  std::unique_ptr<Database> database_;
};

}  // namespace ktraced::test

// SPDX-License-Identifier: BSD-2-Clause
// Runs SQL over tables.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ctl/query/authorizer.h"
#include "ctl/query/query_table.h"
#include "ctl/query/result.h"

namespace ktraced {

// A connection that can only read: nothing is ever written to a file, not even for sorting. Used by
// one thread.
class Database {
 public:
  static constexpr uint64_t kDefaultMemory = uint64_t{512} << 20;
  // Longer SQL is refused; also the limit of a text or blob in bytes.
  static constexpr size_t kMaxSql = 1'000'000;
  static constexpr int kMaxValue = 16 << 20;

  // SQLite uses up to `memory` bytes, for all connections of the process together, and each grouped
  // scan as much again.
  static Result<std::unique_ptr<Database>> open(uint64_t memory = kDefaultMemory);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  Result<> add(std::unique_ptr<QueryTable> table);
  [[nodiscard]] const std::vector<std::unique_ptr<QueryTable>>& tables() const { return tables_; }

  // Runs one or several statements. Fails with ExitCode::usage for SQL that is wrong, or that does
  // more than reading; with ExitCode::os if there is not enough memory.
  Result<> run(std::string_view sql, ResultSink& out);

  // The tables that run() has scanned since the last call, in the order of their first scan.
  [[nodiscard]] std::vector<QueryTable*> take_scanned() { return std::exchange(scanned_, {}); }

  // Ends what is running, which then fails. May be called by another thread.
  void interrupt();
  // Call before run(), so that an earlier interrupt() does not end it.
  void clear_interrupt() { stop_ = false; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  explicit Database(sqlite3* db, uint64_t memory) : db_(db), memory_(memory) {}
  Result<> limit();
  // The statement that begins at `at`, which becomes the end of it; null at the end of `sql`.
  Result<Statement> prepare(std::string_view sql, size_t& at);
  Result<> run(sqlite3_stmt* statement, ResultSink& out);
  [[nodiscard]] Error error_of(int code, std::string_view sql, size_t at) const;

  sqlite3* db_;
  uint64_t memory_;
  Authorizer authorizer_;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<QueryTable>> tables_;
  std::vector<QueryTable*> scanned_;
};

}  // namespace ktraced

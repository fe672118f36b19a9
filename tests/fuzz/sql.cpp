// SPDX-License-Identifier: BSD-2-Clause
// SQL over the golden trace. Whatever it is, nothing is written: afterwards the tables have the
// same rows, and no file has appeared.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "ctl/query/database.h"
#include "ctl/tables/tables.h"
#include "fuzz/fuzz.h"
#include "fuzz/recorded.h"
#include "trace/merge/history.h"

namespace ktraced::fuzz {
namespace {

constexpr auto kTimeLimit = std::chrono::milliseconds(300);
constexpr size_t kRowLimit = 1000;

class Rows : public ResultSink {
 public:
  void begin(const std::vector<std::string>& columns) override { columns_ = columns.size(); }
  Result<bool> row(const ResultRow& row) override {
    require(row.size() == columns_, "a row has all columns");
    text.clear();
    for (size_t i = 0; i < row.size(); ++i)
      if (row.type(i) != ResultRow::Type::null) text += row.text(i);
    return ++count_ < kRowLimit;
  }
  Result<> end() override { return {}; }

  std::string text;  // the last row

 private:
  size_t columns_ = 0, count_ = 0;
};

// Interrupts a query that takes too long.
class Limit {
 public:
  explicit Limit(Database& database)
      : thread_([this, &database](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            std::this_thread::sleep_for(kTimeLimit / 3);
            if (remaining_ > 0 && --remaining_ == 0) database.interrupt();
          }
        }) {}
  void begin() { remaining_ = 4; }
  void end() { remaining_ = 0; }

 private:
  std::atomic<int> remaining_ = 0;  // thirds of the limit; 0: no query is running
  std::jthread thread_;
};

class Queries {
 public:
  Queries() {
    const std::vector<std::filesystem::path> paths = {kGoldenTrace};
    auto history = History::open(paths);
    require(history.has_value(), "the golden trace can be read");
    history_.emplace(std::move(*history));
    auto database = Database::open(uint64_t{64} << 20);
    require(database.has_value(), "a database can be opened");
    database_ = std::move(*database);
    for (auto& table : all_tables(*history_))
      require(database_->add(std::move(table)).has_value(), "a table can be added");
    limit_.emplace(*database_);
    events_ = events();
  }
  void run(std::string_view sql) {
    Rows rows;
    database_->clear_interrupt();
    limit_->begin();
    const auto done = database_->run(sql, rows);
    limit_->end();
    if (!done) require_message(done.error());
    require(events() == events_, "queries only read");
    require(std::filesystem::is_empty("."), "no file has appeared");
  }

 private:
  std::string events() {
    Rows rows;
    database_->clear_interrupt();
    const auto done = database_->run("SELECT count(*), sum(ts) FROM events", rows);
    require(done.has_value(), "a good query succeeds", done ? "" : done.error().message);
    return rows.text;
  }

  std::optional<History> history_;
  std::unique_ptr<Database> database_;
  std::optional<Limit> limit_;
  std::string events_;
};

// An empty one, where relative names of files end up.
void enter_directory() {
  const auto here = std::filesystem::temp_directory_path() / "sql";
  std::filesystem::create_directories(here);
  std::filesystem::current_path(here);
}

}  // namespace

void check_input(std::string_view input) {
  static const bool entered = (enter_directory(), true);
  static Queries queries;
  if (entered) queries.run(input);
}

}  // namespace ktraced::fuzz

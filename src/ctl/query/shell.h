// SPDX-License-Identifier: BSD-2-Clause
// Statements and commands typed one after another.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "ctl/query/database.h"
#include "ctl/query/result_printer.h"

namespace ktraced {

// Runs SQL and the commands of the shell, which begin with a dot. Results and lists go to standard
// output, prompts and errors to standard error.
class Shell {
 public:
  // `needs`: QueryTable::take_needs() of the table.
  using OnScanned =
      std::function<void(const QueryTable& table, const std::vector<std::string>& needs)>;

  // `on_scanned` is called for each table that SQL without errors has scanned, behind its result.
  // `database` and `printer` must outlive this.
  Shell(Database& database, ResultPrinter& printer, OnScanned on_scanned = {})
      : database_(database), printer_(printer), on_scanned_(std::move(on_scanned)) {}

  // Runs one command, or SQL. Fails as Database::run() does.
  Result<> run(std::string_view input);
  // Runs what is read from `in` until its end or .quit; a statement ends with ';', a command with
  // its line. On a terminal, errors are printed, and Ctrl-C cancels a query or what was typed of
  // it; otherwise the first error ends it.
  Result<> run(std::FILE* in);

 private:
  Result<> run_on_terminal(std::FILE* in);
  Result<> run_command(std::string_view line);
  // Runs what a line completes.
  Result<> take_line(std::string_view line);
  Result<> list_tables();
  Result<> list_columns(std::string_view table);

  Database& database_;
  ResultPrinter& printer_;
  OnScanned on_scanned_;
  std::string typed_;  // a statement that has not ended
  bool quit_ = false;
};

}  // namespace ktraced

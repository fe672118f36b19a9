// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/report_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text/suggest.h"
#include "ctl/csv/report_csv.h"

namespace ktraced {

void add_top(CLI::App* sub, uint64_t& top) {
  sub->add_option_function<std::string>(
         "--top",
         [&top](const std::string& text) {
           top = ReportCommand::kAllRows;
           if (text != "all") std::from_chars(text.data(), text.data() + text.size(), top);
         },
         fmt::format("Rows of each table, or all ({})", top))
      ->check([](const std::string& text) {
        uint64_t rows = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
        const bool is_number = error == std::errc() && end == text.data() + text.size();
        if (text == "all" || (is_number && rows != 0)) return std::string();
        return fmt::format("'{}' is not a number above 0, nor 'all'", text);
      })
      ->type_name("N|all");
}

void add_csv(CLI::App* sub, ReportCommand& report) {
  auto* csv = sub->add_flag("--csv", report.csv, "Print one table as comma-separated values");
  const auto tables = csv_table_names(report.kind);
  sub->add_option(
         "--table", report.table,
         fmt::format("With --csv: {} (the default is {})", fmt::join(tables, ", "), tables.front()))
      ->needs(csv)
      ->check([tables](const std::string& text) {
        if (std::ranges::find(tables, text) != tables.end()) return std::string();
        return unknown_name("table", text, tables,
                            fmt::format("there are {}", fmt::join(tables, ", ")));
      })
      ->type_name("TABLE");
}

void add_by(CLI::App* sub, std::string& by, const std::vector<std::string>& keys) {
  sub->add_option("--by", by,
                  fmt::format("What rows are sorted by: {} (the default is {})",
                              fmt::join(keys, ", "), keys.front()))
      ->check([keys](const std::string& text) {
        if (std::ranges::find(keys, text) != keys.end()) return std::string();
        return unknown_name("sort key", text, keys,
                            fmt::format("there are {}", fmt::join(keys, ", ")));
      })
      ->type_name("WHAT");
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/result_printer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ctl/terminal/table.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

constexpr std::string_view kNull = "NULL";

void append_hex(std::string_view bytes, TextBuffer& out) {
  for (const char byte : bytes) out.append_hex(static_cast<unsigned char>(byte), 2);
}

// A blob as a literal of SQL.
std::string literal_of(std::string_view bytes) {
  TextBuffer out;
  out.append("X'");
  append_hex(bytes, out);
  out.append('\'');
  return std::string(out.view());
}

// Names that occur several times get numbers, since members of JSON objects need different ones.
std::vector<std::string> unique(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::string each = name;
    for (int number = 2; std::ranges::find(out, each) != out.end(); ++number)
      each = fmt::format("{}:{}", name, number);
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace

void ResultPrinter::begin(const std::vector<std::string>& columns) {
  columns_ = form_ == ResultForm::json ? unique(columns) : columns;
  measured_.clear();
  widths_.clear();
  rows_ = 0;
  if (form_ != ResultForm::csv) return;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i != 0) out_.append(',');
    append_csv_cell(columns_[i]);
  }
  out_.append('\n');
}

Result<bool> ResultPrinter::row(const ResultRow& row) {
  ++rows_;
  switch (form_) {
    case ResultForm::table:
      add_cells(row);
      break;
    case ResultForm::csv:
      append_csv(row);
      break;
    case ResultForm::json:
      append_json(row);
      break;
  }
  if (auto written = screen_.write(out_, Screen::kLargePiece); !written) return propagate(written);
  return !screen_.gone();
}

Result<> ResultPrinter::end() {
  if (form_ == ResultForm::table && widths_.empty()) flush_table();
  return screen_.write(out_, 1);
}

void ResultPrinter::fail() {
  measured_.clear();
  out_.clear();
}

void ResultPrinter::add_cells(const ResultRow& row) {
  using Type = ResultRow::Type;
  Cells cells;
  for (size_t i = 0; i < row.size(); ++i) {
    const Type type = row.type(i);
    Cell cell{.right = type == Type::integer || type == Type::real};
    cell.text = type == Type::null    ? std::string(kNull)
                : type == Type::bytes ? literal_of(row.text(i))
                                      : printable(row.text(i));
    cell.width = text_columns(cell.text);
    cells.push_back(std::move(cell));
  }
  if (!widths_.empty()) return append_cells(cells, false);
  measured_.push_back(std::move(cells));
  if (measured_.size() >= kMeasuredRows) flush_table();
}

// Prints the heading and the rows that wait.
void ResultPrinter::flush_table() {
  Cells heading;
  for (const std::string& name : columns_) {
    Cell cell{.text = printable(name)};
    cell.width = text_columns(cell.text);
    heading.push_back(std::move(cell));
  }
  for (size_t i = 0; i < heading.size(); ++i) {
    size_t width = heading[i].width;
    for (const Cells& cells : measured_) {
      width = std::max(width, cells[i].width);
      heading[i].right |= cells[i].right;
    }
    widths_.push_back(width);
  }
  append_cells(heading, true);
  for (const Cells& cells : measured_) append_cells(cells, false);
  measured_.clear();
}

void ResultPrinter::append_cells(const Cells& cells, bool heading) {
  size_t gap = 0;  // spaces before the next text: none at the end of a line
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const size_t rest = widths_[i] - std::min(widths_[i], cell.width);
    out_.append(gap + (cell.right ? rest : 0), ' ');
    out_.append(heading ? colours_.bold(cell.text) : cell.text);
    gap = 2 + (cell.right ? 0 : rest);
  }
  out_.append('\n');
}

void ResultPrinter::append_csv(const ResultRow& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (i != 0) out_.append(',');
    switch (row.type(i)) {
      case ResultRow::Type::null:
        break;
      case ResultRow::Type::bytes:
        out_.append(literal_of(row.text(i)));
        break;
      case ResultRow::Type::text:
        append_csv_cell(row.text(i));
        break;
      default:
        out_.append(row.text(i));
    }
  }
  out_.append('\n');
}

void ResultPrinter::append_csv_cell(std::string_view text) {
  if (text.empty()) return out_.append("\"\"");  // which is not NULL
  append_csv_text(terminal_ ? printable(text) : std::string(text), out_);
}

void ResultPrinter::append_json(const ResultRow& row) {
  for (size_t i = 0; i < row.size(); ++i) {
    out_.append(i == 0 ? '{' : ',');
    append_json_string(columns_[i], out_);
    out_.append(':');
    const ResultRow::Type type = row.type(i);
    const bool number = type == ResultRow::Type::integer ||
                        (type == ResultRow::Type::real && std::isfinite(row.real(i)));
    if (number) {
      out_.append(row.text(i));
    } else if (type == ResultRow::Type::text) {
      append_json_string(row.text(i), out_);
    } else if (type == ResultRow::Type::bytes) {
      out_.append('"');
      append_hex(row.text(i), out_);
      out_.append('"');
    } else {
      out_.append("null");
    }
  }
  out_.append("}\n");
}

}  // namespace ktraced

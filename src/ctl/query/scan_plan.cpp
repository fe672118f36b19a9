// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/scan_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/text/wall_bounds.h"

namespace ktraced {
namespace {

// A condition in a plan: what it limits, the operator, and whether there are several values. No
// condition is omitted by SQLite, so limits may be wider than the condition.
constexpr size_t kPlanStep = 3;
constexpr char kSeveral = '*', kOne = '.';
// Begins the grouping, after the conditions.
constexpr char kGrouped = ';';
// Begins the columns that are used, after the conditions of a scan from the last row to the first.
constexpr char kReversed = '!';
constexpr sqlite3_uint64 kFurtherColumns = sqlite3_uint64{1} << 63;

char letter_of(Limits limits) { return static_cast<char>('a' + static_cast<int>(limits)); }
Limits limits_of_letter(char letter) { return static_cast<Limits>(letter - 'a'); }

bool is_upper(unsigned char op) {
  return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

// The operator of a condition; 0: it does not limit anything.
char operator_of(Limits limits, unsigned char op) {
  if (limits == Limits::nothing) return 0;
  if (op == SQLITE_INDEX_CONSTRAINT_EQ) return '=';
  if (limits == Limits::end_time && is_upper(op)) return '<';
  if (limits != Limits::time && limits != Limits::wall) return 0;
  if (op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE) return '>';
  return is_upper(op) ? '<' : 0;
}

// What is left to be read. Two scans with conditions must not seem cheaper than one without, except
// where a thread is looked up: of a few rows.
double share_of(Limits limits) {
  switch (limits) {
    case Limits::time:
    case Limits::end_time:
    case Limits::wall:
      return 0.75;
    case Limits::event:
      return 0.6;
    default:
      return 0.9;
  }
}

// An order by the column in which rows come anyway.
bool is_by_order(const QueryTable& table, const sqlite3_index_info& info) {
  const auto order = table.order();
  return order && info.nOrderBy == 1 && info.aOrderBy[0].iColumn == static_cast<int>(*order);
}

bool is_in_order(const QueryTable& table, const sqlite3_index_info& info) {
  return is_by_order(table, info) && info.aOrderBy[0].desc == 0;
}

// Does the query ask for the rows in descending order, which a scan can give from the last one on?
bool is_reversed(const QueryTable& table, const sqlite3_index_info& info) {
  return is_by_order(table, info) && info.aOrderBy[0].desc != 0 &&
         sqlite3_vtab_distinct(const_cast<sqlite3_index_info*>(&info)) == 0 &&
         (info.colUsed & kFurtherColumns) == 0;
}

// A GROUP BY or DISTINCT needs equal rows beside each other; SQLite would sort all rows for that.
bool can_be_grouped(const sqlite3_index_info& info) {
  const int distinct = sqlite3_vtab_distinct(const_cast<sqlite3_index_info*>(&info));
  if (info.nOrderBy == 0 || (distinct != 1 && distinct != 2)) return false;
  for (int i = 0; i < info.nOrderBy; ++i)
    if (info.aOrderBy[i].iColumn < 0) return false;
  return (info.colUsed & kFurtherColumns) == 0;
}

// The last part of a plan: the columns that are used, and then the keys.
std::string grouping_text(const sqlite3_index_info& info) {
  std::string text = fmt::format("{}{}", kGrouped, info.colUsed);
  for (int i = 0; i < info.nOrderBy; ++i)
    text += fmt::format(",{}{}", info.aOrderBy[i].desc != 0 ? "-" : "+", info.aOrderBy[i].iColumn);
  return text;
}

// The columns whose bits are set.
std::vector<size_t> columns_in(uint64_t used) {
  std::vector<size_t> columns;
  for (size_t column = 0; column < 63; ++column)
    if ((used >> column & 1) != 0) columns.push_back(column);
  return columns;
}

// The whole numbers around a number; nothing for a value of another type, which limits nothing.
struct Around {
  int64_t below = 0, above = 0;
};
std::optional<Around> number_of(sqlite3_value* value) {
  constexpr double kExact = 9e18;
  if (sqlite3_value_type(value) == SQLITE_INTEGER) {
    const int64_t number = sqlite3_value_int64(value);
    return Around{number, number};
  }
  if (sqlite3_value_type(value) != SQLITE_FLOAT) return std::nullopt;
  const double number = sqlite3_value_double(value);
  if (!(std::abs(number) < kExact)) return std::nullopt;
  return Around{static_cast<int64_t>(std::floor(number)), static_cast<int64_t>(std::ceil(number))};
}

uint64_t time_of(int64_t number) { return static_cast<uint64_t>(std::max<int64_t>(number, 0)); }

std::optional<std::string> name_in(sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_TEXT) return std::nullopt;
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return std::nullopt;
  return std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

void limit_time(char op, sqlite3_value* value, ScanLimits& limits) {
  const auto number = number_of(value);
  if (!number) return;
  if (op != '<') limits.begin_ns = std::max(limits.begin_ns, time_of(number->below));
  if (op != '>') limits.end_ns = std::min(limits.end_ns, time_of(number->above));
}

void limit_wall(char op, sqlite3_value* value, ScanLimits& limits) {
  const auto text = name_in(value);
  if (!text) return;
  const WallBounds bounds = wall_bounds(*text);
  if (op != '<') limits.begin_wall_ns = std::max(limits.begin_wall_ns, bounds.least_ns);
  if (op != '>') limits.end_wall_ns = std::min(limits.end_wall_ns, bounds.most_ns);
}

// The values of a condition; nothing if one of them is no `Element`.
template <class Element, class Read>
std::optional<std::vector<Element>> read_list(bool several, sqlite3_value* value, Read read) {
  std::vector<Element> list;
  auto add = [&](sqlite3_value* each) {
    auto element = read(each);
    if (element) list.push_back(std::move(*element));
    return element.has_value();
  };
  if (!several) {
    if (!add(value)) return std::nullopt;
    return list;
  }
  sqlite3_value* each = nullptr;
  int next = sqlite3_vtab_in_first(value, &each);
  for (; next == SQLITE_OK && each != nullptr; next = sqlite3_vtab_in_next(value, &each))
    if (!add(each)) return std::nullopt;
  if (next != SQLITE_DONE && next != SQLITE_OK) return std::nullopt;
  std::ranges::sort(list);
  return list;
}

template <class Element>
void intersect(std::optional<std::vector<Element>>& limit,
               std::optional<std::vector<Element>>&& with) {
  if (!with) return;
  if (limit)
    std::erase_if(*limit,
                  [&](const Element& each) { return !std::ranges::binary_search(*with, each); });
  else
    limit = std::move(with);
}

std::optional<uint32_t> id_of_value(sqlite3_value* value) {
  // A number that no thread or CPU has stands for those that cannot be one.
  constexpr uint32_t kNobody = UINT32_MAX;
  const auto number = number_of(value);
  if (!number) return std::nullopt;
  const bool fits = number->below == number->above && number->below >= 0 &&
                    std::in_range<uint32_t>(number->below);
  return fits ? static_cast<uint32_t>(number->below) : kNobody;
}

}  // namespace

int plan_scan(const QueryTable& table, sqlite3_index_info& info) {
  std::string plan;
  double share = 1;
  bool looks_up = false;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& condition = info.aConstraint[i];
    if (condition.usable == 0 || condition.iColumn < 0) continue;
    const Limits limits = table.columns()[static_cast<size_t>(condition.iColumn)].limits;
    const char op = operator_of(limits, condition.op);
    if (op == 0 || std::strcmp(sqlite3_vtab_collation(&info, i), "BINARY") != 0) continue;
    const bool several = op == '=' && sqlite3_vtab_in(&info, i, -1) != 0;
    if (several) sqlite3_vtab_in(&info, i, 1);
    plan += {letter_of(limits), op, several ? kSeveral : kOne};
    info.aConstraintUsage[i].argvIndex = static_cast<int>(plan.size() / kPlanStep);
    share *= share_of(limits);
    looks_up |= condition.iColumn == 0 && table.records() == 0;
  }
  const bool grouped = !is_in_order(table, info) && can_be_grouped(info);
  const bool reversed = !grouped && is_reversed(table, info);
  if (grouped) plan += grouping_text(info);
  if (reversed)
    plan += fmt::format("{}{}", kReversed, info.colUsed | uint64_t{1} << *table.order());
  info.idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (info.idxStr == nullptr) return SQLITE_NOMEM;
  info.needToFreeIdxStr = 1;
  info.orderByConsumed = grouped || reversed || is_in_order(table, info) ? 1 : 0;
  const auto rows = static_cast<double>(table.rows());
  info.estimatedRows = looks_up ? 1 : static_cast<sqlite3_int64>(1 + rows * share);
  info.estimatedCost = looks_up ? 10 : 100 + (rows + static_cast<double>(table.records())) * share;
  return SQLITE_OK;
}

ScanLimits limits_of(std::string_view plan, std::span<sqlite3_value* const> values) {
  ScanLimits limits;
  for (size_t i = 0; i < values.size() && (i + 1) * kPlanStep <= plan.size(); ++i) {
    const std::string_view step = plan.substr(i * kPlanStep, kPlanStep);
    const bool several = step[2] == kSeveral;
    switch (limits_of_letter(step[0])) {
      case Limits::time:
        if (!several) limit_time(step[1], values[i], limits);
        break;
      case Limits::wall:
        if (!several) limit_wall(step[1], values[i], limits);
        break;
      case Limits::end_time:
        if (const auto number = several ? std::nullopt : number_of(values[i]))
          limits.ended_ns = std::min(limits.ended_ns, time_of(number->above));
        break;
      case Limits::cpu:
        intersect(limits.cpus, read_list<uint32_t>(several, values[i], id_of_value));
        break;
      case Limits::tid:
        intersect(limits.tids, read_list<uint32_t>(several, values[i], id_of_value));
        break;
      case Limits::pid:
        intersect(limits.pids, read_list<uint32_t>(several, values[i], id_of_value));
        break;
      case Limits::event:
        intersect(limits.events, read_list<std::string>(several, values[i], name_in));
        break;
      case Limits::nothing:
        break;
    }
  }
  return limits;
}

std::optional<Grouping> grouping_of(std::string_view plan) {
  const size_t begin = plan.find(kGrouped);
  if (begin == std::string_view::npos) return std::nullopt;
  const char* const end = plan.data() + plan.size();
  uint64_t used = 0;
  const char* at = std::from_chars(plan.data() + begin + 1, end, used).ptr;
  Grouping grouping;
  grouping.used = columns_in(used);
  while (end - at > 2) {
    Grouping::Key key{.descending = at[1] == '-'};
    at = std::from_chars(at + 2, end, key.column).ptr;
    grouping.keys.push_back(key);
    if ((used >> key.column & 1) == 0) grouping.used.push_back(key.column);
  }
  return grouping;
}

std::vector<size_t> reversed_columns_of(std::string_view plan) {
  const size_t begin = plan.find(kReversed);
  if (begin == std::string_view::npos) return {};
  uint64_t used = 0;
  std::from_chars(plan.data() + begin + 1, plan.data() + plan.size(), used);
  return columns_in(used);
}

}  // namespace ktraced

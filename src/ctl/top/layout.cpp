// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>

#include "base/text/plain_text.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

constexpr std::array<std::string_view, TopState::kViews> kViewTitles{"Events", "Processes",
                                                                     "System calls", "Sessions"};
constexpr std::string_view kKeyLine =
    "?help  q quit  /filter  s sort  r reverse  p pause  t snapshot  Tab view";
constexpr std::array<std::string_view, 16> kKeyHelp{
    "1 2 3 4     events, processes, system calls, sessions",
    "Tab         the next view; Shift-Tab: the one before",
    "s or >      sort by the next column; S or <: by the one before",
    "r           reverse the order",
    "/           show only rows with a text: Enter keeps it, Esc removes it",
    "Up, Down    scroll; also Page Up, Page Down, Home, End",
    "p           pause this screen; the daemon goes on",
    "t           take a snapshot of the flight recorder",
    "?           this help",
    "q           quit; also Ctrl-C",
    "",
    "Processes and system calls are counted in a session of their own, which",
    "exists only while one of these views is shown.",
    "A screen of 160 columns or more shows the events beside another view, and",
    "the sessions beside the events.",
    "Any key returns.",
};

constexpr size_t kWideColumns = 160;
constexpr size_t kPaneGap = 2;  // columns between two tables

// Lines above and below the table and its headings, by the height of the screen.
size_t lines_above(size_t rows) { return rows >= 10 ? 3 : rows >= 6 ? 2 : 1; }
size_t lines_below(size_t rows) { return rows >= 8 ? 1 : 0; }

std::string reach_text(const TopHeader& header) {
  if (!header.flight_reach_ns) return "off";
  const std::string& saved = header.flight_saved_in;
  return fmt::format("last {:.1f} s{}{}", static_cast<double>(*header.flight_reach_ns) / 1e9,
                     saved.empty() ? "" : ", before that saved in snapshot ", printable(saved));
}

size_t line_columns(const TopLine& line) {
  size_t columns = 0;
  for (const TopSpan& span : line) columns += text_columns(span.text);
  return columns;
}

// One bar for each rate, at most as high as a line.
std::string bars_text(std::span<const double> rates, double most) {
  static constexpr std::array kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string bars;
  for (const double rate : rates)
    bars += kBars[static_cast<size_t>(std::ceil(rate / most * (kBars.size() - 1)))];
  return bars;
}

// The newest rates that have room.
TopSpan recent_span(const TopFrame& frame, size_t columns) {
  constexpr size_t kLabelColumns = 40;
  const size_t count = std::min(frame.recent.size(), columns - std::min(columns, kLabelColumns));
  const auto recent = std::span(frame.recent).last(count);
  if (recent.size() < 2) return {};
  const double most = std::max(std::ranges::max(recent), 1e-9);
  return {fmt::format("  last {:.4g} s, up to {}/s: {}",
                      static_cast<double>(count) * frame.interval_s, rate_text(most),
                      bars_text(recent, most))};
}

TopLine rates_line(const TopHeader& header) {
  if (header.state.empty()) return {{"ktraced ", TopStyle::bold}, {"is being asked ..."}};
  const HitRates& rates = header.rates;
  const bool runs = header.state == "running";
  return {{"ktraced ", TopStyle::bold},
          {printable(header.state), runs ? TopStyle::green : TopStyle::red},
          {fmt::format("  {} events/s", rate_text(rates.recorded))},
          {fmt::format("  lost {}/s ({} dropped, {} missed)", rate_text(rates.lost()),
                       rate_text(rates.dropped), rate_text(rates.missed)),
           rates.lost() > 0 ? TopStyle::red : TopStyle::plain}};
}

// The overhead last: it may be a long error.
TopLine overhead_line(const TopHeader& header) {
  return {{fmt::format("flight recorder: {}  sessions: {}  overhead: {}", reach_text(header),
                       header.sessions, printable(header.overhead))}};
}

TopLine tabs_line(const TopFrame& frame, const TopState& state) {
  TopLine line;
  for (size_t i = 0; i < kViewTitles.size(); ++i) {
    const bool shown = i == static_cast<size_t>(state.view);
    line.push_back({fmt::format("{} {}", i + 1, kViewTitles[i]),
                    shown ? TopStyle::reverse_bold : TopStyle::dim});
    line.push_back({"  "});
  }
  if (state.paused) line.push_back({"paused  ", TopStyle::red});
  if (!state.filter.empty() && !state.typing_filter)
    line.push_back({fmt::format("filter: {}  ", printable(state.filter)), TopStyle::bold});
  const std::string& note = frame.table.note;
  line.push_back(
      {note.empty() ? fmt::format("every {:.4g} s", frame.interval_s) : note, TopStyle::dim});
  return line;
}

std::vector<TopLine> header_lines(const TopFrame& frame, const TopState& state, TopSize size) {
  const size_t count = lines_above(size.rows);
  std::vector<TopLine> lines{rates_line(frame.header)};
  if (size.columns >= kWideColumns)
    lines[0].push_back(
        recent_span(frame, size.columns - std::min(size.columns, line_columns(lines[0]))));
  if (count >= 3) lines.push_back(overhead_line(frame.header));
  if (count >= 2) lines.push_back(tabs_line(frame, state));
  return lines;
}

TopLine bottom_line(const TopState& state) {
  if (state.typing_filter)
    return {{"filter: ", TopStyle::bold}, {printable(state.filter)}, {"_", TopStyle::reverse}};
  if (!state.message.empty())
    return {{printable(state.message), state.message_is_error ? TopStyle::red : TopStyle::bold}};
  return {{std::string(kKeyLine), TopStyle::dim}};
}

bool has_bottom(const TopState& state, TopSize size) {
  return lines_below(size.rows) != 0 || state.typing_filter || !state.message.empty();
}

// Cuts a line at the right edge.
TopLine cut_line(TopLine line, size_t columns) {
  size_t left = columns;
  for (TopSpan& span : line) {
    span.text = cut_to(span.text, left);
    left -= std::min(left, text_columns(span.text));
  }
  std::erase_if(line, [](const TopSpan& span) { return span.text.empty(); });
  return line;
}

// A long text, such as an error, on several lines.
void add_note(std::vector<TopLine>& lines, std::string_view note, size_t columns) {
  const std::string text = printable(note);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string line = cut_to(rest, columns);
    if (line.empty()) return;  // its first character is wider than the screen
    lines.push_back({{line}});
    rest.remove_prefix(line.size());
  }
}

// The table of the view, or why there is none.
std::vector<TopLine> view_lines(const TopFrame& frame, const TopState& state, TopSize size) {
  const TopPage page = page_of(frame, size);
  const size_t last = page.rows - std::min(page.rows, page.visible);
  std::vector<TopLine> lines;
  if (!frame.table.columns.empty())
    lines = table_lines(frame.table, state.sorting(), std::min(state.first_row, last), page.visible,
                        size.columns);
  add_note(lines, frame.note, size.columns);
  return lines;
}

// Adds to each line of at most `columns` one of `right`.
void add_beside(std::vector<TopLine>& lines, std::vector<TopLine> right, size_t columns) {
  lines.resize(std::max(lines.size(), right.size()));
  for (size_t i = 0; i < right.size(); ++i) {
    const size_t used = std::min(line_columns(lines[i]), columns);
    lines[i].push_back({std::string(columns - used + kPaneGap, ' ')});
    std::ranges::move(right[i], std::back_inserter(lines[i]));
  }
}

std::vector<TopLine> body_lines(const TopFrame& frame, const TopState& state, TopSize size) {
  std::vector<TopLine> lines;
  if (state.help) {
    for (const std::string_view text : kKeyHelp) lines.push_back({{std::string(text)}});
    return lines;
  }
  if (size.columns < kWideColumns || frame.beside.columns.empty())
    return view_lines(frame, state, size);
  const size_t half = (size.columns - kPaneGap) / 2;
  lines = view_lines(frame, state, {.rows = size.rows, .columns = half});
  const TopSorting& sorting = state.sorting(view_beside(state.view));
  add_beside(lines,
             table_lines(frame.beside, sorting, 0, page_of(frame, size).visible,
                         size.columns - half - kPaneGap),
             half);
  return lines;
}

}  // namespace

TopPage page_of(const TopFrame& frame, TopSize size) {
  const size_t used = lines_above(size.rows) + 1 + lines_below(size.rows);
  return {.rows = frame.table.rows.size(), .visible = size.rows - std::min(size.rows, used)};
}

std::vector<TopLine> layout(const TopFrame& frame, const TopState& state, TopSize size) {
  std::vector<TopLine> lines = header_lines(frame, state, size);
  std::ranges::move(body_lines(frame, state, size), std::back_inserter(lines));
  const size_t room = size.rows - std::min<size_t>(size.rows, has_bottom(state, size) ? 1 : 0);
  lines.resize(room);
  if (room < size.rows) lines.push_back(bottom_line(state));
  for (TopLine& line : lines) line = cut_line(std::move(line), size.columns);
  return lines;
}

std::string plain_frame(const TopFrame& frame, const TopState& state) {
  constexpr size_t kColumns = 160;
  std::vector<TopLine> lines{rates_line(frame.header), overhead_line(frame.header)};
  const auto table =
      table_lines(frame.table, state.sorting(), 0, frame.table.rows.size(), kColumns);
  if (!frame.table.columns.empty()) lines.insert(lines.end(), table.begin(), table.end());
  add_note(lines, frame.table.note, SIZE_MAX);
  add_note(lines, frame.note, SIZE_MAX);
  std::string out;
  for (const TopLine& line : lines) {
    std::string text;
    for (const TopSpan& span : line) text += span.text;
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out + '\n';
}

}  // namespace ktraced

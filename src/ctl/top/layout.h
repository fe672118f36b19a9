// SPDX-License-Identifier: BSD-2-Clause
// The lines of a screen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ctl/rates/rates.h"
#include "ctl/rates/top_table.h"
#include "ctl/top/top_state.h"

namespace ktraced {

// What a screen shows.
struct TopFrame {
  TopHeader header;
  TopTable table;              // of state.view, as arranged()
  TopTable beside;             // of view_beside() of it, as arranged(); for wide screens
  std::string note;            // instead of rows; empty: none
  double interval_s = 1;       // between two frames
  std::vector<double> recent;  // recorded events per second of the last frames, oldest first
};

// The view that a wide screen shows beside another one: it needs no session.
[[nodiscard]] constexpr TopView view_beside(TopView view) {
  return view == TopView::events ? TopView::sessions : TopView::events;
}

enum class TopStyle : uint8_t { plain, bold, dim, red, green, reverse, reverse_bold };

struct TopSpan {
  std::string text;
  TopStyle style = TopStyle::plain;
};
using TopLine = std::vector<TopSpan>;

// The size of a screen, in characters.
struct TopSize {
  size_t rows = 24, columns = 80;
};

// At most size.rows lines of at most size.columns columns. Small screens have no help and fewer
// lines above the table; columns of the table that do not fit are left out, the last ones first.
// Wide screens have two tables, and the rates of the last frames as a row of bars.
[[nodiscard]] std::vector<TopLine> layout(const TopFrame& frame, const TopState& state,
                                          TopSize size);
// The rows of the frame, and how many of them that screen shows.
[[nodiscard]] TopPage page_of(const TopFrame& frame, TopSize size);

// The header and the whole table as lines of text, for an output that is no terminal.
[[nodiscard]] std::string plain_frame(const TopFrame& frame, const TopState& state);

// The headings, and then the rows [first, first + count) of the table, at most `columns` wide.
[[nodiscard]] std::vector<TopLine> table_lines(const TopTable& table, const TopSorting& sorting,
                                               size_t first, size_t count, size_t columns);

// {"view":…,"state":…,"rates":{…},"overhead":…,"rows":[{"event":…,"hits_per_s":…},…]}; the keys of
// rows are the titles of their columns.
[[nodiscard]] std::string frame_json(const TopFrame& frame, TopView view);

}  // namespace ktraced

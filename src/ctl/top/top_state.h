// SPDX-License-Identifier: BSD-2-Clause
// What the keys of `top` have chosen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ctl/input/options.h"
#include "ctl/rates/top_table.h"

namespace ktraced {

struct TopKey {
  enum class Kind : uint8_t {
    character,
    up,
    down,
    page_up,
    page_down,
    home,
    end,
    tab,
    back_tab,
    enter,
    escape,
    backspace,
    other,
  } kind = Kind::other;
  char32_t character = 0;  // of a character
};

// The rows of the table, and how many of them the screen shows.
struct TopPage {
  size_t rows = 0, visible = 0;
};

enum class TopAction : uint8_t { none, quit, take_snapshot };

struct TopState {
  static constexpr size_t kViews = 4;
  static constexpr size_t kFilterBytesMax = 64;

  TopView view = TopView::events;
  std::array<TopSorting, kViews> sortings{};  // of each view
  std::string filter;
  bool typing_filter = false;
  std::string filter_before;  // while one is being typed
  bool paused = false;        // the screen, not the daemon
  bool help = false;
  size_t first_row = 0;
  std::string message;  // until the next key
  bool message_is_error = false;

  [[nodiscard]] TopSorting& sorting() { return sortings[static_cast<size_t>(view)]; }
  [[nodiscard]] const TopSorting& sorting() const { return sorting(view); }
  [[nodiscard]] const TopSorting& sorting(TopView of) const {
    return sortings[static_cast<size_t>(of)];
  }
};

// Changes `state` as `key` says, with `columns` of the table. Unknown keys change nothing.
TopAction apply_key(TopState& state, const TopKey& key, const TopPage& page, size_t columns);

}  // namespace ktraced

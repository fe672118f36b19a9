// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/top_state.h"

#include <algorithm>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

using KeyKind = TopKey::Kind;

void append_utf8(std::string& text, char32_t point) {
  const auto byte = [&text](char32_t value) { text += static_cast<char>(value); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) {
    byte(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      byte(0xe0 | point >> 12);
    } else {
      byte(0xf0 | point >> 18);
      byte(0x80 | (point >> 12 & 0x3f));
    }
    byte(0x80 | (point >> 6 & 0x3f));
  }
  byte(0x80 | (point & 0x3f));
}

void remove_last_character(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

void type_filter(TopState& state, const TopKey& key) {
  switch (key.kind) {
    case KeyKind::enter:
      state.typing_filter = false;
      break;
    case KeyKind::escape:
      state.typing_filter = false;
      state.filter = state.filter_before;
      break;
    case KeyKind::backspace:
      remove_last_character(state.filter);
      break;
    case KeyKind::character:
      if (!is_hidden(key.character) && key.character <= 0x10ffff &&
          state.filter.size() + 4 <= TopState::kFilterBytesMax)
        append_utf8(state.filter, key.character);
      break;
    default:
      return;
  }
  state.first_row = 0;
}

void show_view(TopState& state, size_t number) {
  state.view = static_cast<TopView>(number % TopState::kViews);
  state.first_row = 0;
}

void scroll(TopState& state, KeyKind kind, const TopPage& page) {
  const size_t last = page.rows - std::min(page.rows, page.visible);
  const size_t step = std::max<size_t>(page.visible, 1);
  size_t first = std::min(state.first_row, last);
  if (kind == KeyKind::up) first -= std::min<size_t>(first, 1);
  if (kind == KeyKind::page_up) first -= std::min(first, step);
  if (kind == KeyKind::home) first = 0;
  if (kind == KeyKind::down) ++first;
  if (kind == KeyKind::page_down) first += step;
  if (kind == KeyKind::end) first = last;
  state.first_row = std::min(first, last);
}

void sort_by(TopState& state, size_t column, size_t columns) {
  if (columns == 0) return;
  state.sorting() = {.column = column % columns};
  state.first_row = 0;
}

// False if the key is none of those that order rows.
bool apply_sorting(TopState& state, char32_t character, size_t columns) {
  const size_t column = state.sorting().column;
  switch (character) {
    case U's':
    case U'>':
      sort_by(state, column + 1, columns);
      return true;
    case U'S':
    case U'<':
      sort_by(state, column + columns - 1, columns);
      return true;
    case U'r':
      state.sorting().reversed = !state.sorting().reversed;
      return true;
    default:
      return false;
  }
}

TopAction apply_character(TopState& state, char32_t character, size_t columns) {
  if (apply_sorting(state, character, columns)) return TopAction::none;
  if (character >= U'1' && character < U'1' + TopState::kViews) show_view(state, character - U'1');
  switch (character) {
    case U'/':
      state.typing_filter = true;
      state.filter_before = state.filter;
      break;
    case U'p':
      state.paused = !state.paused;
      break;
    case U'?':
    case U'h':
      state.help = true;
      break;
    case U't':
      return TopAction::take_snapshot;
    case U'q':
      return TopAction::quit;
    default:
      break;
  }
  return TopAction::none;
}

}  // namespace

TopAction apply_key(TopState& state, const TopKey& key, const TopPage& page, size_t columns) {
  state.message.clear();
  if (state.typing_filter) {
    type_filter(state, key);
    return TopAction::none;
  }
  if (state.help) {
    state.help = false;
    return TopAction::none;
  }
  switch (key.kind) {
    case KeyKind::character:
      return apply_character(state, key.character, columns);
    case KeyKind::tab:
      show_view(state, static_cast<size_t>(state.view) + 1);
      break;
    case KeyKind::back_tab:
      show_view(state, static_cast<size_t>(state.view) + TopState::kViews - 1);
      break;
    case KeyKind::escape:
      state.filter.clear();
      break;
    case KeyKind::up:
    case KeyKind::down:
    case KeyKind::page_up:
    case KeyKind::page_down:
    case KeyKind::home:
    case KeyKind::end:
      scroll(state, key.kind, page);
      break;
    default:
      break;
  }
  return TopAction::none;
}

}  // namespace ktraced

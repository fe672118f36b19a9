// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/top_state.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

using Kind = TopKey::Kind;

class TopKeys : public testing::Test {
 protected:
  TopAction type(char32_t character) {
    return press({.kind = Kind::character, .character = character});
  }
  TopAction press(TopKey key) { return apply_key(state_, key, {.rows = 50, .visible = 20}, 6); }
  TopAction press(Kind kind) { return press(TopKey{.kind = kind}); }

  TopState state_;
};

TEST_F(TopKeys, SwitchViews) {
  state_.first_row = 5;
  type('3');
  EXPECT_EQ(state_.view, TopView::calls);
  EXPECT_EQ(state_.first_row, 0U);
  press(Kind::tab);
  EXPECT_EQ(state_.view, TopView::sessions);
  press(Kind::tab);
  EXPECT_EQ(state_.view, TopView::events);
  press(Kind::back_tab);
  EXPECT_EQ(state_.view, TopView::sessions);
}

TEST_F(TopKeys, SortEachViewByItsOwnColumn) {
  type('s');
  EXPECT_EQ(state_.sorting().column, 2U);
  type('r');
  EXPECT_TRUE(state_.sorting().reversed);
  type('<');
  EXPECT_EQ(state_.sorting().column, 1U);
  EXPECT_FALSE(state_.sorting().reversed) << "another column starts in its own order";
  type('S');
  type('S');
  EXPECT_EQ(state_.sorting().column, 5U);
  type('>');
  EXPECT_EQ(state_.sorting().column, 0U);
  type('4');
  EXPECT_EQ(state_.sorting().column, 1U);
  apply_key(state_, {.kind = Kind::character, .character = 's'}, {}, 0);
  EXPECT_EQ(state_.sorting().column, 1U) << "without a table there is nothing to sort";
}

TEST_F(TopKeys, TypeAFilter) {
  type('/');
  for (const char32_t character : {U'q', U'1', U'\u00e9', U'\u6f22', U'\U0001f600', U'\x1b', U'\n'})
    type(character);
  EXPECT_EQ(state_.filter, "q1\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80") << "and no control characters";
  press(Kind::backspace);
  press(Kind::backspace);
  press(Kind::backspace);
  EXPECT_EQ(state_.filter, "q1");
  press(Kind::enter);
  EXPECT_FALSE(state_.typing_filter);
  type('/');
  type('x');
  press(Kind::escape);
  EXPECT_EQ(state_.filter, "q1") << "as before it was typed";
  press(Kind::escape);
  EXPECT_EQ(state_.filter, "");
  type('/');
  for (int i = 0; i < 1000; ++i) type('x');
  EXPECT_LE(state_.filter.size(), TopState::kFilterBytesMax);
}

TEST_F(TopKeys, ScrollWithinTheRows) {
  press(Kind::up);
  EXPECT_EQ(state_.first_row, 0U);
  press(Kind::down);
  EXPECT_EQ(state_.first_row, 1U);
  press(Kind::page_down);
  EXPECT_EQ(state_.first_row, 21U);
  press(Kind::page_down);
  EXPECT_EQ(state_.first_row, 30U);
  press(Kind::page_up);
  EXPECT_EQ(state_.first_row, 10U);
  press(Kind::end);
  EXPECT_EQ(state_.first_row, 30U);
  press(Kind::home);
  EXPECT_EQ(state_.first_row, 0U);
  apply_key(state_, {.kind = Kind::end}, {.rows = 3, .visible = 20}, 6);
  EXPECT_EQ(state_.first_row, 0U) << "everything is shown";
}

TEST_F(TopKeys, AskForActions) {
  EXPECT_EQ(type('t'), TopAction::take_snapshot);
  EXPECT_EQ(type('q'), TopAction::quit);
  EXPECT_EQ(type('p'), TopAction::none);
  EXPECT_TRUE(state_.paused);
  state_.message = "snapshot x";
  type('?');
  EXPECT_EQ(state_.message, "");
  EXPECT_TRUE(state_.help);
  EXPECT_EQ(type('q'), TopAction::none) << "it only ends the help";
  EXPECT_FALSE(state_.help);
}

TEST_F(TopKeys, DoNothingIfUnknown) {
  const TopState before = state_;
  for (const char32_t character : {U'x', U'9', U'0', U'\u6f22'})
    EXPECT_EQ(type(character), TopAction::none);
  EXPECT_EQ(press(Kind::other), TopAction::none);
  EXPECT_EQ(press(Kind::enter), TopAction::none);
  EXPECT_EQ(state_.view, before.view);
  EXPECT_EQ(state_.sorting().column, before.sorting().column);
  EXPECT_FALSE(state_.paused || state_.help || state_.typing_filter);
}

}  // namespace
}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The page that reports are shown in; html/ has its sources.
#pragma once

#include <string_view>

namespace ktraced {

// Where the page's data goes: between the two halves, as JSON without '<'.
struct HtmlTemplate {
  std::string_view before, after;
};

// Nothing in both halves if ktracectl was built without it (KTRACED_HTML).
[[nodiscard]] HtmlTemplate html_template();

}  // namespace ktraced

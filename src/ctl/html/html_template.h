// SPDX-License-Identifier: BSD-2-Clause
// The HTML page of reports; its sources are in html/.
#pragma once

#include <string_view>

namespace ktraced {

// The two halves of the page. Between them is the place for its data, as JSON without '<'.
struct HtmlTemplate {
  std::string_view before, after;
};

// Both halves are empty if ktracectl was built without the page (KTRACED_HTML).
[[nodiscard]] HtmlTemplate html_template();

}  // namespace ktraced

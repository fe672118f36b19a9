// SPDX-License-Identifier: BSD-2-Clause
// The lines of a table on a screen.
#pragma once

#include <vector>

#include "ctl/top/layout.h"

namespace ktraced {

// The headings, and then the rows [first, first + count) of the table, at most `columns` wide.
[[nodiscard]] std::vector<TopLine> table_lines(const TopTable& table, const TopSorting& sorting,
                                               size_t first, size_t count, size_t columns);

}  // namespace ktraced

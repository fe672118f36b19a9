// SPDX-License-Identifier: BSD-2-Clause
// What the tables of a query read.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <string_view>

#include "ctl/input/selected_analysis.h"
#include "ctl/selection/selection.h"
#include "decoders/symbols/frame_namer.h"
#include "trace/merge/history.h"

namespace ktraced {

// Traces, and what is selected of them. All that it refers to must outlive the tables.
struct TableInput {
  // `use`, if it is not null, is kept up to date by the scans of tables.
  TableInput(const History& traces, std::span<Selection> selected = {},
             SelectionUse* selection_use = nullptr, FrameOptions of_frames = {})
      : history(traces), selections(selected), use(selection_use), frames(of_frames) {}

  const History& history;
  std::span<Selection> selections;  // one for each trace; empty: everything
  SelectionUse* use;
  FrameOptions frames;  // how the frames of stacks are named

  // Why the selection leaves nothing of a table that uses these events; empty if it may leave
  // something. `uses`: empty: all events.
  [[nodiscard]] std::string refusal(std::string_view table,
                                    std::span<const std::string_view> uses) const {
    if (selections.empty() || uses.empty()) return {};
    const std::string name = fmt::format("table {}", table);
    const EventUse events{.report = name, .events = uses};
    const auto& chosen = selections.front().chosen_events();
    if (!chosen.empty() && !uses_any(events, selections))
      return fmt::format("{} does not use {}, which --event selects; it uses {}", name,
                         fmt::join(chosen, ", "), fmt::join(uses, ", "));
    const auto good = check_conditions(selections, events);
    return good ? std::string() : good.error().message;
  }
};

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// The stacks of the HTML report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "analysis/stacks/cpu_samples.h"
#include "analysis/stacks/off_cpu.h"
#include "analysis/stacks/trace_stacks.h"
#include "ctl/input/report_input.h"
#include "decoders/symbols/frame_namer.h"

namespace ktraced {

// What its flame graphs are made of.
struct StackAnalyses {
  // Samples and sleeps that the page has one by one; it leaves out later ones.
  static constexpr size_t kPoints = 200'000;

  StackAnalyses() {
    samples.keep_points(kPoints);
    sleeps.keep_points(kPoints);
  }

  TraceStacks stacks;
  CpuSampleAnalysis samples{StacksBy::process};
  OffCpuAnalysis sleeps{StacksBy::process};
};

// {"functions","stacks","owners","pids","samples","sleeps","caveats"}: texts; lists of their
// indices, the outermost first; names of processes, and their numbers, null if unknown; and each
// sample and sleep as a row of columns: "ts" after `begin_ns`, "ns" of sleeps, "cpu", "owner",
// "stack", and of sleeps "waker" and "waker_stack", which are of the thread that ended it. `of`:
// the number of all, and "ends": how their stacks end. `analyses` must be finished. "caveats": why
// frames have no names.
[[nodiscard]] nlohmann::json html_stacks(StackAnalyses& analyses, ReportInput& input,
                                         uint64_t begin_ns, const FrameOptions& frames);

}  // namespace ktraced

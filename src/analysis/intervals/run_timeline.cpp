// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/run_timeline.h"

namespace ktraced {

void RunTimeline::on_switch(const Switch& what) {
  // Named as at its switch, not as at its end.
  if (what.next != 0) running_[what.cpu] = tasks_.number_of(what.next, what.ts, what.names);
}

void RunTimeline::on_run(const RunInterval& interval) {
  if (interval.known && interval.selected && interval.tid != 0)
    ran_.add(interval.cpu, interval.begin_ns, interval.end_ns, running_[interval.cpu]);
}

void RunTimeline::on_unknown(const UnknownInterval& interval) {
  unknown_.add(interval.cpu, interval.begin_ns, interval.end_ns, 0);
}

}  // namespace ktraced

// SPDX-License-Identifier: BSD-2-Clause
// Draws the page from the data in it.
import { fileSection } from "./files.js";
import { kmemSection } from "./kmem.js";
import { processSection } from "./processes.js";
import { schedSection } from "./sched.js";
import { signalSection } from "./signals.js";
import { stackSection } from "./stacks.js";
import { bar, head, summarySection } from "./summary.js";
import { syscallSection } from "./syscalls.js";
import { timelineSection } from "./timeline.js";
import { wakeupSection } from "./wakeups.js";

const data = JSON.parse(document.getElementById("data").textContent);
// Exact: of the number in JSON the last digits are rounded.
data.window.clocks = data.clocks.map(({ since_ns, clock_offset_ns }) => ({ since_ns, offset: BigInt(clock_offset_ns) }));
document.getElementById("head").append(...head(data).filter((part) => part !== null));
const timeline = timelineSection(data);
// With the words of the bar that lead to them.
const kSections = [
  [stackSection, "Stacks"], [processSection, "Processes"], [schedSection, "Scheduling"], [wakeupSection, "Wake-ups"], [signalSection, "Signals"],
  [syscallSection, "System calls"], [fileSection, "Files"], [kmemSection, "Memory"], [summarySection, "Events"],
];
const sections = [[timeline.element, "Timeline"], ...kSections.map(([section, title]) => [section(data, timeline.places, timeline.range), title])]
  .filter(([element]) => element !== null);
document.getElementById("bar").append(...bar(sections.map(([{ id }, title]) => ({ id, title }))));
document.getElementById("main").replaceChildren(...sections.map(([element]) => element));
// Canvases are drawn with the next frame; at the frame after that they are complete.
requestAnimationFrame(() => requestAnimationFrame(() => {
  document.documentElement.dataset.drawnMs = String(Math.round(performance.now()));
}));

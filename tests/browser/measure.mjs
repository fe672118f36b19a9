// SPDX-License-Identifier: BSD-2-Clause
// How long the HTML report takes to be drawn, and to be drawn again at each step of a zoom: as
// time that passes, and as processor time of the thread that draws, which a loaded machine does
// not change much.
//
//   node measure.mjs PAGE [SCREENSHOT]
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [page, screenshot] = process.argv.slice(2);
const kTimes = 5;
const kZoom = "wwwwwwwwssssssss";

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const browser = await Browser.start("chromium");
await browser.send("Performance.enable", { timeDomain: "threadTicks" });

// Seconds of processor time since the page was opened.
async function cpu() {
  const { metrics } = await browser.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}

const zoom = `(async () => {
  for (const key of "${kZoom}") {
    document.querySelector(".pane").dispatchEvent(new KeyboardEvent("keydown", { key }));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
})()`;

const results = [];
for (let i = 0; i < kTimes; i += 1) {
  const closed = await cpu();
  await browser.open(pathToFileURL(path.resolve(page)).href);
  const opened = await cpu(), passed = Number(await browser.value("document.documentElement.dataset.drawnMs"));
  await browser.value(zoom);
  const zoomed = await cpu();
  results.push({ passed, open: opened < closed ? opened : opened - closed, step: (zoomed - opened) / kZoom.length });
}
if (screenshot) await browser.screenshot(screenshot);
await browser.stop();
const of = (key) => median(results.map((result) => result[key]));
console.log(`drawn after ${of("passed")} ms (${(1000 * of("open")).toFixed(0)} ms of processor time); a step of a zoom takes ${(1000 * of("step")).toFixed(0)} ms of it`);

// SPDX-License-Identifier: BSD-2-Clause
// Opens the HTML report in Chromium as somebody would: from a file, without a network.
//
//   node html_report_test.mjs KTRACECTL MAKE_TRACE
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import { reachText } from "../../html/src/format.js";
import { Browser } from "./browser.mjs";
import { watchingTexts } from "./contrast.mjs";

const [ktracectl, makeTrace] = process.argv.slice(2).map((each) => path.resolve(each));
const kEvents = 20_000;
// A directory's name can be longer than a task's, and is shown too.
const kEvilName = "<img src=x onerror=alert(document.domain)>";

const directory = mkdtempSync(path.join(tmpdir(), "ktraced-html-"));
const trace = path.join(directory, kEvilName);
const page = path.join(directory, "report.html");
let browser;

function chromium() {
  const found = ["chromium", "chromium-browser", "google-chrome"].find((name) => spawnSync(name, ["--version"]).status === 0);
  assert(found, "this test needs the package chromium");
  return found;
}

before(async () => {
  execFileSync(makeTrace, [trace, String(kEvents)]);
  execFileSync(ktracectl, ["report", "html", trace, "-o", page]);
  browser = await Browser.start(chromium());
});

after(async () => {
  await browser?.stop();
  rmSync(directory, { recursive: true });
});

beforeEach(() => browser.open(pathToFileURL(page).href));

// In every test the page sends no requests and reports no errors.
const quietly = (name, body) => test(name, async () => {
  browser.complaints.length = 0;
  await body();
  assert.deepEqual(browser.complaints, []);
});

// Columns are counted without that of the arrows.
const column = (table, n) => browser.value(`[...document.querySelectorAll("#${table} tbody tr")].map((row) => row.querySelectorAll("td:not(.place)")[${n}].textContent)`);
const headings = (table) => browser.value(`[...document.querySelectorAll("#${table} th:not(.place)")].map((each) => each.textContent)`);
const text = (selector) => browser.value(`document.querySelector(${JSON.stringify(selector)}).textContent`);
// The pixels of a canvas, to be compared.
const pixels = (selector) => browser.value(`document.querySelector(${JSON.stringify(selector)} + " canvas").toDataURL()`);
// Writes the page `from` with other data to the file `to`.
function changeData(from, to, change) {
  const parts = readFileSync(from, "utf8").split(/(?<=<script type="application\/json" id="data">)|(?=<\/script>\n<script>)/);
  assert.equal(parts.length, 3);
  const data = JSON.parse(parts[1]);
  change(data);
  writeFileSync(to, [parts[0], JSON.stringify(data).replaceAll("<", "\\u003c"), parts[2]].join(""));
}
const nextFrame = () => browser.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
const numbers = (texts) => texts.map((each) => Number(each.replaceAll(",", "")));

quietly("it is one file that needs no other", async () => {
  const source = readFileSync(page, "utf8");
  assert.doesNotMatch(source, /<(link|iframe|object)\b|\bsrc=["']?http/i);
  assert.match(source, /Apache License/, "the licences of bundled code are in it");
  assert(await browser.value("document.querySelector('#delay-histogram canvas').width > 0"));
});

quietly("it says what is in the traces", async () => {
  assert.match(await text(".tiles"), /events/);
  const events = numbers(await column("events-table", 1)).reduce((sum, n) => sum + n, 0);
  assert(events >= kEvents);
  assert.match(await text(".tiles"), new RegExp(events.toLocaleString("en-US")));
  assert.match(await text("#reduced"), /All [0-9,]+ times that a thread ran are drawn as they happened/);
});

test("its head says how CPUs differ", () => {
  const window = { begin_ns: 5e9, end_ns: 6e9 };
  assert.equal(reachText(window), null);
  assert.equal(reachText({ ...window, furthest_ns: 1e9 }), "5.00 s on the CPU that reaches furthest back, from 1.000000 s after boot");
  assert.equal(reachText({ ...window, common_ns: 5.5e9 }), "Not all CPUs have all of it: the last one begins at 5.500000 s after boot");
  assert.equal(reachText({ ...window, gaps: [{ begin_ns: 5.25e9, end_ns: 5.75e9 }] }), "Without 500 ms that not all CPUs have, from 5.250000 s after boot");
});

quietly("its head has the CPU that reaches furthest back", async () => {
  const lines = () => browser.value("[...document.querySelectorAll('#head .when')].map((line) => line.textContent)");
  assert.equal((await lines()).length, 1, "its CPUs begin together");
  const window = '"window":{"begin_ns":5000000000,';
  const parts = readFileSync(page, "utf8").split(window);
  assert.equal(parts.length, 2);
  const uneven = path.join(directory, "uneven.html");
  writeFileSync(uneven, parts.join(`${window}"furthest_ns":1000000000,`));
  await browser.open(pathToFileURL(uneven).href);
  const [when, reach] = await lines();
  assert.match(when, /^from 5\.000000 to /);
  assert.match(reach, /^4\.[0-9]{2} s on the CPU that reaches furthest back, from 1\.000000 s after boot$/);
});

quietly("a click on a heading sorts the table, another one turns it round", async () => {
  const heading = "#kmem-call_sites-table th:nth-child(4)"; // Count, after the arrows
  const counts = async () => numbers(await column("kmem-call_sites-table", 2));
  const descending = (list) => [...list].sort((a, b) => b - a);
  const before = await counts();
  assert.notDeepEqual(before, descending(before), "it is sorted by bytes at first");
  await browser.click(`${heading} button`);
  assert.deepEqual(await counts(), descending(before));
  assert.equal(await browser.value(`document.querySelector("${heading}").ariaSort`), "descending");
  await browser.click(`${heading} button`);
  assert.deepEqual(await counts(), descending(before).reverse());
});

quietly("rows without a value are last in either direction", async () => {
  const oldest = () => column("kmem-call_sites-table", 13);
  const lastHaveNone = (list) => list.slice(list.indexOf("–")).every((each) => each === "–");
  assert((await oldest()).includes("–"), "of some call sites nothing is held");
  for (let turn = 0; turn < 2; turn += 1) {
    await browser.click("#kmem-call_sites-table th:nth-child(15) button");
    const sorted = await oldest();
    assert(lastHaveNone(sorted) && sorted[0] !== "–", sorted.join(" "));
  }
});

quietly("the timeline zooms, moves, and shows the whole window again", async () => {
  const whole = await pixels(".pane");
  assert.match(await text("#timeline-status"), /^All /);
  await browser.click("#zoom-in");
  await nextFrame();
  const zoomed = await pixels(".pane");
  assert.notEqual(zoomed, whole);
  const shown = await text("#timeline-status");
  assert.match(shown, /^[0-9.]+ .?s of [0-9.]+ .?s, from \+/);
  const place = await browser.placeOf(".pane canvas", [0.6, 0.5]);
  await browser.mouse("mouseWheel", place, { deltaX: 0, deltaY: -900, modifiers: 2 }); // Ctrl
  await nextFrame();
  assert.notEqual(await pixels(".pane"), zoomed);
  assert.notEqual(await text("#timeline-status"), shown);
  await browser.click("#zoom-all");
  await browser.mouse("mouseMoved", { x: 1, y: 1 });
  await nextFrame();
  assert.equal(await pixels(".pane"), whole);
});

quietly("dragging in the overview shows that part", async () => {
  const from = await browser.placeOf(".overview canvas", [0.5, 0.5]), to = await browser.placeOf(".overview canvas", [0.6, 0.5]);
  await browser.mouse("mousePressed", from, { button: "left", clickCount: 1 });
  await browser.mouse("mouseMoved", to, { button: "left", buttons: 1 });
  await browser.mouse("mouseReleased", to, { button: "left", clickCount: 1 });
  assert.match(await text("#timeline-status"), / of .*, from \+/);
});

quietly("pointing at the timeline names the thread, and a click marks it everywhere", async () => {
  await browser.click("#zoom-in");
  await nextFrame();
  const before = await pixels(".pane");
  // Some place of the first lane is not idle.
  let found = "";
  for (let x = 0.3; x < 0.9 && found === ""; x += 0.01) {
    const place = await browser.placeOf(".pane canvas", [x, 0.12]);
    await browser.mouse("mouseMoved", place);
    const lines = await browser.value("document.querySelector('.tooltip:not([hidden])')?.textContent ?? ''");
    if (!/thread [0-9]+/.test(lines)) continue;
    found = lines;
    await browser.mouse("mousePressed", place, { button: "left", clickCount: 1 });
    await browser.mouse("mouseReleased", place, { button: "left", clickCount: 1 });
  }
  assert.match(found, /, thread [0-9]+process [0-9]+, on CPU 0/);
  assert.match(await text("#timeline-picked"), /^Only .*, thread [0-9]+ is coloured/);
  await nextFrame();
  assert.notEqual(await pixels(".pane"), before);
});

// The colours of a canvas, as "r,g,b" of opaque pixels.
const coloursOf = (index) => browser.value(`(() => {
  const canvas = document.querySelectorAll(".pane canvas")[${index}];
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) found.add(data.slice(i, i + 3).join());
  return [...found];
})()`);

quietly("the states of threads are drawn without system calls too, the longest CPU time first", async () => {
  const file = path.join(directory, "states.html");
  execFileSync(ktracectl, ["report", "html", trace, "--event", "sched", "-o", file], { stdio: "ignore" });
  await browser.open(pathToFileURL(file).href);
  const keys = await browser.value("[...document.querySelectorAll('.heading .legend span')].map((each) => each.textContent)");
  assert.deepEqual(keys, ["running", "runnable, waits for a CPU", "sleeping"]);
  await browser.click("#delays-table tbody tr:nth-child(1) .place button");
  await nextFrame();
  const drawn = await coloursOf(1);
  for (const state of ["running", "runnable", "sleeping"]) {
    const colour = await browser.value(`getComputedStyle(document.querySelector(".key.${state}")).backgroundColor`);
    assert(drawn.includes(/[0-9, ]+/.exec(colour.slice(4))[0].replaceAll(" ", "")), `${state} ${colour}`);
  }
  const lanes = await browser.value("JSON.parse(document.getElementById('data').textContent).timeline.threads.lanes.map(({ tid, ran_ns }) => ({ tid, ran_ns }))");
  assert.deepEqual(lanes, [...lanes].sort((a, b) => b.ran_ns - a.ran_ns));
  // What is in the first lane is of the first thread, and a click colours it.
  const kThreads = ".pane:first-child canvas";
  await browser.click("#zoom-all");
  let lines = "";
  for (let x = 0.3; x < 0.9 && !lines.startsWith("running"); x += 0.002) {
    await browser.mouse("mouseMoved", await browser.placeOf(kThreads, [x, 0.5 / lanes.length]));
    lines = await browser.value("document.querySelector('.tooltip:not([hidden])')?.textContent ?? ''");
    if (!lines.startsWith("running")) continue;
    await browser.click(kThreads, [x, 0.5 / lanes.length]);
  }
  assert.match(lines, new RegExp(`^running.*, thread ${lanes[0].tid}`));
  assert.match(await text("#timeline-picked"), new RegExp(`^Only .*, thread ${lanes[0].tid} is coloured`));
});

quietly("losses are marked, with what was lost", async () => {
  const losses = await browser.value("JSON.parse(document.getElementById('data').textContent).timeline.losses.lanes");
  assert.deepEqual(losses.map((lane) => lane.cpu), [1]);
  const window = await browser.value("(({ begin_ns, end_ns }) => end_ns - begin_ns)(JSON.parse(document.getElementById('data').textContent).window)");
  const width = await browser.value("document.querySelector('.pane canvas').clientWidth");
  const names = Math.min(168, Math.floor(width / 4)); // of the lanes
  const at = (names + (losses[0].gap[0] / window) * (width - names)) / width;
  await browser.mouse("mouseMoved", await browser.placeOf(".pane canvas", [at, 0.37]));
  assert.match(await text(".tooltip"), /1,203 events lost on CPU 11,200 of sys_enter/);
});

quietly("a click on a long delay goes there on the timeline", async () => {
  assert.match(await text("#timeline-status"), /^All /);
  await browser.click("#delays-table tbody tr:nth-child(2) td:nth-child(2)");
  await nextFrame();
  const after = (await column("delays-table", 0))[1], delay = (await column("delays-table", 2))[1];
  assert.match(await text("#timeline-status"), /^[0-9.]+ .?s of [0-9.]+ .?s, from \+/, `${delay} after ${after}`);
  assert(await browser.value("document.getElementById('timeline').getBoundingClientRect().top < innerHeight / 2"));
});

quietly("a button of each table shows the place of a row on the timeline", async () => {
  const rowsWithPlaces = (table) => browser.value(`document.querySelectorAll("#${table} .place button").length`);
  for (const [table, marked] of [["threads-table", /thread [0-9]+ is coloured/], ["calls-table", /^Only [a-z0-9_]+ is coloured/],
    ["process-calls-table", /^Only [a-z0-9_]+ is coloured/], ["processes-table", /, process [0-9]+ is coloured/],
    ["slowest-table", null], ["delays-table", null], ["kmem-call_sites-table", null], ["cpus-table", null], ["sched-cpus-table", null]]) {
    assert(await rowsWithPlaces(table) > 0, table);
    await browser.click("#zoom-all");
    await browser.value("scrollTo(0, document.body.scrollHeight)");
    await browser.click(`#${table} .place button`);
    await nextFrame();
    assert(await browser.value("Math.abs(document.getElementById('timeline').getBoundingClientRect().top) < innerHeight / 2"), table);
    if (marked !== null) assert.match(await text("#timeline-picked"), marked, table);
  }
  const chosen = await text("#syscall-histogram-title");
  await browser.click("#calls-table tbody tr:nth-child(3) .place button");
  assert.equal(await text("#syscall-histogram-title"), chosen, "the button is not a click on the row");
});

quietly("every row with a first event has a place on the timeline", async () => {
  for (const table of ["lives-table", "kmem-call_sites-table", "kmem-sizes-table", "kmem-gfp_flags-table", "threads-table", "processes-table"]) {
    const rows = await browser.value(`document.querySelectorAll("#${table} tbody tr").length`);
    assert(rows > 0, table);
    assert.equal(await browser.value(`document.querySelectorAll("#${table} tbody .place button").length`), rows, table);
  }
  const events = await browser.value("Object.values(JSON.parse(document.getElementById('data').textContent).summary.events).filter((each) => each.events !== 0).length");
  assert.equal(await browser.value("document.querySelectorAll('#events-table tbody .place button').length"), events);
  await browser.click("#events-table .place button");
  await nextFrame();
  assert.match(await text("#timeline-status"), / of .*, from \+/);
});

quietly("system calls of which nothing is drawn have the place of the first", async () => {
  const ends = path.join(directory, "ends.html");
  execFileSync(ktracectl, ["report", "html", trace, "--event", "sys_exit", "-o", ends], { stdio: "ignore" });
  await browser.open(pathToFileURL(ends).href);
  for (const table of ["calls-table", "process-calls-table"]) {
    const rows = (await column(table, 0)).length;
    assert(rows > 0, table);
    assert.equal(await browser.value(`document.querySelectorAll("#${table} tbody .place button").length`), rows, table);
  }
  await browser.click("#calls-table .place button");
  await nextFrame();
  assert.match(await text("#timeline-status"), / of .*, from \+/);
});

quietly("wake-ups say who woke whom, and show the longest delay", async () => {
  const count = (await column("wakeup-pairs-table", 2)).length;
  assert(count > 0);
  assert((await column("wakeup-pairs-table", 0)).every((waker) => waker === "(interrupt of an idle CPU)"), "the test's trace has no other wakers");
  assert.equal(await browser.value("document.querySelectorAll('#wakeup-pairs-table tbody .place button').length"), count);
  const woken = numbers(await column("wakeup-pairs-table", 2)).reduce((sum, n) => sum + n, 0);
  const [all] = /^[0-9,]+(?= delays)/.exec(await text("#sched .note"));
  assert.deepEqual([woken], numbers([all]), "each delay has a waker");
  assert.deepEqual(numbers(await column("wakers-table", 1)), [woken]);
  await browser.click("#wakers-table .place button");
  await nextFrame();
  assert.match(await text("#timeline-status"), / of .*, from \+/, "an interrupt has no lane: its first wake-up is shown");
  await browser.click("#zoom-all");
  await browser.click("#wakeup-pairs-table .place button");
  await nextFrame();
  assert.match(await text("#timeline-status"), / of .*, from \+/);
});

quietly("tables have the wall clock, to the microsecond", async () => {
  for (const table of ["delays-table", "slowest-table", "lives-table", "cpus-table"])
    assert((await headings(table)).includes("Wall clock"), table);
  for (const table of ["kmem-nodes-table", "kmem-call_sites-table"]) {
    const titles = await headings(table);
    assert.equal(new Set(titles).size, titles.length, titles.join());
  }
  const source = readFileSync(page, "utf8");
  const offset = BigInt(/"clock_offset_ns":"([0-9]+)"/.exec(source)[1]);
  const ts = await browser.value("JSON.parse(document.getElementById('data').textContent).sched.longest[0].ts");
  const microseconds = String((BigInt(ts) + offset) / 1000n % 1000000n).padStart(6, "0");
  assert((await column("delays-table", 1))[0].endsWith(`.${microseconds}`), microseconds);
});

quietly("a process that still runs has lived longer than the trace shows", async () => {
  const ends = await column("lives-table", (await headings("lives-table")).indexOf("End"));
  const lived = await column("lives-table", (await headings("lives-table")).indexOf("Lived"));
  assert(ends.some((end) => end === "running" || end.startsWith("?")), ends.join());
  ends.forEach((end, i) => assert.equal(lived[i].startsWith("> "), lived[i] !== "–" && (end === "running" || end.startsWith("?")), `${lived[i]} ${end}`));
});

quietly("files that calls named have tables, and their place on the timeline", async () => {
  assert.match(await text("#files"), /The page has no paths of system calls/);
  const files = path.join(directory, "files.html");
  execFileSync(ktracectl, ["report", "html", path.join(import.meta.dirname, "../data/recorded/6.12-strings"), "-o", files]);
  await browser.open(pathToFileURL(files).href);
  assert.equal((await column("paths-table", 0))[0], "/etc/localtime");
  assert.equal((await column("failures-table", 1))[0], "/etc/localtime");
  assert.equal((await column("failures-table", 2))[0], "ENOENT");
  for (const table of ["paths-table", "failures-table", "file-processes-table"]) {
    const rows = (await column(table, 0)).length;
    assert.equal(await browser.value(`document.querySelectorAll("#${table} tbody .place button").length`), rows, table);
    await browser.click("#zoom-all");
    await browser.click(`#${table} .place button`);
    await nextFrame();
    assert.match(`${await text("#timeline-status")} ${await text("#timeline-picked")}`, /, from \+|, process [0-9]+ is coloured/, table);
  }
  const long = "document.querySelector('#paths-table td.wide[title*=yyyyyyyy]')";
  assert(await browser.value(`${long}.scrollWidth > ${long}.clientWidth`), "a long path does not widen the table");
});

quietly("signals have tables of senders and receivers, and their place on the timeline", async () => {
  assert.match(await text("#signals"), /The page has no signals: the events signal_generate and signal_deliver record them/);
  const file = path.join(directory, "signals.html");
  execFileSync(ktracectl, ["report", "html", path.join(import.meta.dirname, "../data/recorded/6.12-whole"), "-o", file]);
  // Of the receiver that has most, a name that would be markup, and a control character.
  changeData(file, file, ({ signals }) => { signals.received.rows[0].comm = "<img src=x>\u202e"; });
  await browser.open(pathToFileURL(file).href);
  assert.deepEqual((await headings("sent-signals-table")).slice(0, 5), ["Signal", "From", "To", "Sent", "What the kernel did"]);
  const [signals, from, sent, results] = [await column("sent-signals-table", 0), await column("sent-signals-table", 1), await column("sent-signals-table", 3), await column("sent-signals-table", 4)];
  const killed = signals.indexOf("SIGKILL");
  assert.match(from[killed], /^truth [0-9]+$/);
  assert.equal(results[killed], "delivered 1");
  assert.equal(from[signals.indexOf("SIGSEGV")], "(kernel)");
  assert(results.some((each) => each.includes("already pending 1")), results.join());
  const events = await browser.value("JSON.parse(document.getElementById('data').textContent).summary.events");
  const sum = (texts) => numbers(texts).reduce((all, n) => all + n, 0);
  assert.equal(sum(sent), events.signal_generate.events);
  const received = await column("received-signals-table", 2);
  assert.equal(sum(received), events.signal_deliver.events);
  assert.deepEqual(numbers(sent), numbers(sent).sort((a, b) => b - a));
  assert.match((await column("received-signals-table", 1))[0], /^<img src=x>\\u202e [0-9]+$/);
  assert.equal(await browser.value("document.querySelectorAll('img').length"), 0);
  for (const table of ["sent-signals-table", "received-signals-table"]) {
    assert.equal(await browser.value(`document.querySelectorAll("#${table} tbody .place button").length`), (await column(table, 0)).length, table);
    await browser.click("#zoom-all");
    await browser.click(`#${table} .place button`);
    await nextFrame();
    assert.match(await text("#timeline-status"), / of .*, from \+/, table);
  }
  await browser.click("#received-signals-table th:nth-child(2) button");
  const names = await column("received-signals-table", 0);
  assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
});

test("it fits into a window of 390 pixels", () => browser.inWindow(390, 800, async () => {
  await browser.open(pathToFileURL(page).href);
  assert(await browser.value("document.documentElement.scrollWidth <= innerWidth"), "nothing is beside the window");
  assert(await browser.value("document.querySelector('#search').getBoundingClientRect().right <= innerWidth"));
  const width = await browser.value("document.querySelector('.pane canvas').clientWidth");
  assert(width >= 320, "the timeline has most of the window");
  // The names take a quarter at most: beside them something is drawn at the foot of the overview.
  const opaque = (share) => browser.value(`(() => {
    const canvas = document.querySelector(".overview canvas");
    return canvas.getContext("2d").getImageData(Math.floor(canvas.width * ${share}), canvas.height - 2, 1, 1).data[3] !== 0;
  })()`);
  assert.deepEqual([await opaque(0.2), await opaque(0.26)], [false, true]);
}));

test("in a window of 390 pixels the navigation has a line of its own, which scrolls", () => browser.inWindow(390, 800, async () => {
  await browser.open(pathToFileURL(page).href);
  const edges = (selector) => browser.value(`(({ left, right, top, bottom }) => ({ left, right, top, bottom }))(document.querySelector("${selector}").getBoundingClientRect())`);
  const line = await edges(".bar nav");
  assert(line.right - line.left > 360 && line.top >= (await edges("#search")).bottom);
  assert((await edges(".bar nav a:last-child")).right > 390, "not all of it fits");
  await browser.value("document.querySelector('.bar nav').scrollLeft = 10000");
  assert((await edges(".bar nav a:last-child")).right <= 390);
  await browser.click(".bar nav a:last-child");
  await browser.until("document.getElementById('summary').getBoundingClientRect().top < innerHeight");
  assert((await edges("#summary h2")).top >= (await edges(".bar")).bottom, "the heading is below the bar");
}));

test("in a window of 390 pixels the status of the timeline has one line, also when it is zoomed", () => browser.inWindow(390, 800, async () => {
  await browser.open(pathToFileURL(page).href);
  const status = (expression) => browser.value(`((status) => ${expression})(document.getElementById("timeline-status"))`);
  const lines = () => status("status.getBoundingClientRect().height / parseFloat(getComputedStyle(status).lineHeight)");
  for (let step = 0; step < 5; step += 1) await browser.click("#zoom-in");
  await nextFrame();
  assert.match(await text("#timeline-status"), / of .*, from \+/);
  assert(await lines() < 1.5);
  assert(await status("status.scrollWidth <= status.clientWidth"), "it is read whole");
  await browser.mouse("mouseMoved", await browser.placeOf(".pane canvas", [0.6, 0.12]));
  await nextFrame();
  assert.match(await text("#timeline-status"), /pointer at/);
  assert(await lines() < 1.5, "what does not fit is cut");
}));

// Calls `body` where light or dark colours are asked for.
async function inColours(scheme, body) {
  const ask = (features) => browser.send("Emulation.setEmulatedMedia", { features });
  await ask([{ name: "prefers-color-scheme", value: scheme }]);
  try {
    await body();
  } finally {
    await ask([]);
  }
}

// Calls `body` with each size of a window, and either colours.
async function inEachLook(body) {
  for (const width of [1280, 390])
    for (const scheme of ["light", "dark"])
      await browser.inWindow(width, 900, () => inColours(scheme, () => body(width, `${scheme}, ${width} pixels`)));
}

// Writes a page with everything that has to be read, of the longest, and with slices that are mostly idle.
function writeCrowded(file) {
  changeData(page, file, ({ caveats, processes, summary, sources, timeline }) => {
    caveats.push("a caveat ".repeat(40));
    sources[0].path = "/long".repeat(60);
    Object.assign(processes.processes.rows[0], { argv: "/usr/bin/long --argument ".repeat(40), cgroup: "/long.slice".repeat(40) });
    Object.assign(summary.processes.rows[0], { pid: null, tid: 4194303 });
    timeline.threads.lanes[0].comm = "WWWWWWWWWWiiiii";
    timeline.tasks.forEach((task) => { if (task.comm === "ld") task.comm = "WWWWWWWWWWiiiii"; });
    for (const lane of [...timeline.run.lanes, ...timeline.threads.lanes.map(({ calls }) => calls)])
      lane.joined = lane.ns.flatMap((ns, i) => [i, 2, Math.ceil(ns / 4), Math.ceil(ns / 8)]);
  });
}

quietly("every text differs from its background, in light and dark colours", async () => {
  const file = path.join(directory, "crowded.html");
  writeCrowded(file);
  const kLeast = 4.5; // of WCAG 2, AA
  await watchingTexts(browser, (texts) => inEachLook(async (_, look) => {
    const seen = [];
    const read = async () => {
      await nextFrame();
      seen.push(...await texts());
    };
    await browser.open(pathToFileURL(file).href);
    await read();
    await browser.click("#names-legend button:nth-child(2)");
    await browser.mouse("mouseMoved", await browser.placeOf("#cpus-table tbody tr:nth-child(2)"));
    await read();
    await browser.mouse("mouseMoved", await browser.placeOf("#names-legend button:nth-child(2)"));
    await read();
    await browser.click("#names-legend button:nth-child(2)");
    for (let step = 0; step < 5; step += 1) await browser.click("#zoom-in");
    await read();
    assert.deepEqual(seen.filter(({ contrast }) => contrast < kLeast).map(({ text, where, contrast }) => `${text} in ${where}: ${contrast.toFixed(2)}`), [], look);
    for (const canvas of ["overview", "timeline", "pane", "chart"]) assert(seen.some((text) => text.canvas === canvas), `${canvas}, ${look}`);
  }));
});

quietly("names of lanes take a quarter at most, and nothing is beside the window", async () => {
  const file = path.join(directory, "crowded.html");
  writeCrowded(file);
  await watchingTexts(browser, (texts) => inEachLook(async (width, look) => {
    await browser.open(pathToFileURL(file).href);
    assert(await browser.value("document.documentElement.scrollWidth <= innerWidth"), look);
    const quarter = Math.min(168, await browser.value("document.querySelector('.pane').clientWidth") / 4);
    const names = (await texts()).filter(({ canvas, left }) => ["overview", "pane"].includes(canvas) && left < quarter);
    assert(names.some(({ text }) => text.startsWith("CPU 3")) && names.some(({ text }) => text.startsWith("nginx")), look);
    assert.deepEqual(names.filter(({ right }) => right > quarter), [], look);
    const threads = await browser.value("JSON.parse(document.getElementById('data').textContent).timeline.threads.lanes.map(({ tid }) => tid)");
    assert.deepEqual(threads.filter((tid) => !names.some(({ text }) => text.endsWith(` ${tid}`))), [], `each has its number, ${look}`);
  }));
});

quietly("the arrows of tables cover nothing at the left end, and all of what scrolls below them", async () => {
  const file = path.join(directory, "crowded.html");
  writeCrowded(file);
  const wrong = `(() => {
    const wrong = [];
    for (const scroll of document.querySelectorAll(".scroll")) {
      const arrow = scroll.querySelector("td.place");
      if (arrow === null) continue;
      arrow.scrollIntoView({ block: "center" });
      const note = (what) => wrong.push(scroll.firstChild.id + ": " + what);
      const { left, right, top, bottom } = arrow.getBoundingClientRect(), of = scroll.getBoundingClientRect();
      scroll.scrollLeft = 0;
      if (arrow.parentElement.cells[1].getBoundingClientRect().left < right - 1) note("the first column is covered");
      scroll.scrollLeft = scroll.scrollWidth;
      if (arrow.parentElement.lastChild.getBoundingClientRect().right > of.right + 1) note("the last column is not reached");
      if (Math.abs(arrow.getBoundingClientRect().left - left) > 1) note("the arrow scrolls");
      if (document.elementFromPoint((left + right) / 2, (top + bottom) / 2)?.closest("td") !== arrow) note("the arrow is covered");
      if (!/^rgb\\(/.test(getComputedStyle(arrow).backgroundColor) && !/^color\\(srgb [0-9. ]+\\)$/.test(getComputedStyle(arrow).backgroundColor)) note("is seen through");
    }
    return wrong;
  })()`;
  await inEachLook(async (_, look) => {
    await browser.open(pathToFileURL(file).href);
    assert.deepEqual(await browser.value(wrong), [], look);
  });
});

quietly("what a search box says of itself is read whole in a window of 1280 pixels", () => browser.inWindow(1280, 900, async () => {
  const cut = await browser.value(`[...document.querySelectorAll("input[placeholder]")].filter((input) => {
    const context = document.createElement("canvas").getContext("2d");
    const { font, paddingLeft, paddingRight } = getComputedStyle(input);
    context.font = font;
    return context.measureText(input.placeholder).width > input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  }).map((input) => input.placeholder)`);
  assert.deepEqual(cut, []);
}));

quietly("the search box is made narrower before the navigation is", () => browser.inWindow(1200, 900, async () => {
  const widths = await browser.value("(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('.bar nav'))");
  assert.equal(widths[0], widths[1]);
}));

quietly("the events of a process have its number without commas, or a question mark if it is not known", async () => {
  const file = path.join(directory, "crowded.html");
  writeCrowded(file);
  await browser.open(pathToFileURL(file).href);
  const rows = await browser.value("[...document.querySelectorAll('#processes-table tbody tr')].map((row) => [...row.cells].slice(1, 3).map((cell) => cell.textContent))");
  assert(rows.some(([pid, name]) => pid === "?" && name === "(thread 4194303)"), rows.join(" "));
  assert(rows.some(([pid]) => pid === "4003"), rows.join(" "));
});

const shownHint = () => browser.value("document.getElementById('timeline-hint').innerText");

quietly("the hint speaks of the mouse, in a narrow window or on a touch screen of fingers", async () => {
  assert.match(await shownHint(), /^Ctrl and wheel zooms/);
  await browser.inWindow(390, 800, async () => assert.match(await shownHint(), /^Two fingers zoom/));
  await browser.send("Emulation.setTouchEmulationEnabled", { enabled: true });
  try {
    await browser.until("matchMedia('(pointer: coarse)').matches");
    assert.match(await shownHint(), /^Two fingers zoom/);
  } finally {
    await browser.send("Emulation.setTouchEmulationEnabled", { enabled: false });
  }
});

quietly("two fingers zoom, one finger moves, a tap colours", async () => {
  await browser.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
  try {
    const touch = (type, ...places) => browser.send("Input.dispatchTouchEvent", { type, touchPoints: places.map(({ x, y }, id) => ({ x, y, id })) });
    const at = (share) => browser.placeOf(".pane canvas", [share, 0.12]);
    const [left, middle, right, far] = [await at(0.4), await at(0.5), await at(0.6), await at(0.8)];
    await touch("touchStart", left);
    await touch("touchStart", left, right);
    await touch("touchMove", left, far);
    await touch("touchEnd");
    await nextFrame();
    const zoomed = await text("#timeline-status");
    assert.match(zoomed, / of .*, from \+/);
    assert.equal(await text("#timeline-picked"), "", "lifting two fingers is no tap");
    await touch("touchStart", middle);
    await touch("touchMove", right);
    await touch("touchMove", far);
    await touch("touchEnd");
    await nextFrame();
    const part = (status) => /^(.*) of .*, from (\S+)/.exec(status);
    const [, span, from] = part(await text("#timeline-status")), [, spanBefore, fromBefore] = part(zoomed);
    assert.equal(span, spanBefore);
    assert.notEqual(from, fromBefore);
    await browser.click("#zoom-all");
    for (let share = 0.3; share < 0.9 && await text("#timeline-picked") === ""; share += 0.01) {
      await touch("touchStart", await at(share));
      await touch("touchEnd");
    }
    assert.match(await text("#timeline-picked"), /^Only .* is coloured/);
  } finally {
    await browser.send("Emulation.setTouchEmulationEnabled", { enabled: false });
  }
});

quietly("a legend has the names on the CPUs, and a click colours only one", async () => {
  const names = await browser.value("[...document.querySelectorAll('#names-legend button')].map((each) => each.textContent)");
  assert.deepEqual([...names].sort(), ["</script><b>", "<img src=x>", "bash", "cc1plus", "ksoftirqd/0", "ld", "make", "nginx", "postgres"]);
  const colours = await browser.value("[...document.querySelectorAll('#names-legend .key')].map((each) => getComputedStyle(each).backgroundColor)");
  assert.equal(new Set(colours).size, names.length, "each has a colour of its own");
  const drawn = (await coloursOf(0)).map((colour) => `rgb(${colour.replaceAll(",", ", ")})`);
  assert.deepEqual(colours.filter((each) => !drawn.includes(each)), [], "they are those of the lanes");
  const before = await pixels(".pane");
  await browser.click("#names-legend button:nth-child(2)");
  await nextFrame();
  assert.equal(await text("#timeline-picked"), `Only ${names[1]} is coloured; click beside it for all.`);
  assert.notEqual(await pixels(".pane"), before);
  const pressed = () => browser.value("[...document.querySelectorAll('#names-legend button')].map((each) => each.getAttribute('aria-pressed'))");
  assert.deepEqual(await pressed(), names.map((_, i) => String(i === 1)));
  await browser.click("#names-legend button:nth-child(2)");
  assert.equal(await text("#timeline-picked"), "");
  assert.deepEqual(await pressed(), names.map(() => "false"));
});

quietly("where the timeline does not draw all, it says how to see all", async () => {
  assert.equal(await browser.value("document.querySelectorAll('#reduced-cpus, #reduced-threads').length"), 0);
  const file = path.join(directory, "cut.html");
  changeData(page, file, ({ sources, timeline: { run, threads } }) => {
    sources[0].path = "it's here";
    for (const table of [run, threads.states, threads.calls]) Object.assign(table, { of: 1_000_000, slices: 262_144, grain_ns: 8000 });
    threads.of = threads.lanes.length + 7;
  });
  await browser.open(pathToFileURL(file).href);
  const trace = String.raw`'it'\''s here'`;
  assert.match(await text("#reduced-cpus"), /1,000,000 times that a thread ran are drawn as 262,144 slices: those shorter than 8/);
  assert((await text("#reduced-cpus")).endsWith(`ktracectl query ${trace} "SELECT * FROM runs"`), await text("#reduced-cpus"));
  const threads = await text("#reduced-threads");
  for (const command of [`query ${trace} "SELECT * FROM runs; SELECT * FROM waits"`, `query ${trace} "SELECT * FROM calls"`, `report html ${trace} --tid TID -o thread.html`])
    assert(threads.includes(`ktracectl ${command}`), threads);
  assert(await browser.value("document.querySelector('#reduced-cpus').compareDocumentPosition(document.querySelector('.timeline')) & Node.DOCUMENT_POSITION_FOLLOWING"), "above the lanes");
});

quietly("without runs in the trace, threads have no CPU time", async () => {
  const file = path.join(directory, "no-runs.html");
  changeData(page, file, ({ timeline: { run, threads } }) => {
    Object.assign(run, { of: 0, slices: 0, lanes: [] });
    threads.of = threads.lanes.length + 7;
    threads.lanes.forEach((thread) => { thread.ran_ns = 0; });
  });
  await browser.open(pathToFileURL(file).href);
  assert.match(await text("#reduced-threads"), /with the most calls have a lane/);
  await browser.value(`(() => {
    window.drawnTexts = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
      window.drawnTexts.push(text);
      return fillText.call(this, text, ...more);
    };
  })()`);
  await browser.click("#zoom-in");
  await nextFrame();
  const drawn = await browser.value("window.drawnTexts");
  assert(drawn.length > 0);
  assert.deepEqual(drawn.filter((each) => each === "0 ns"), []);
});

quietly("names of what is not coloured stay readable", async () => {
  await browser.click("#theme");
  for (let step = 0; step < 4; step += 1) await browser.click("#zoom-in");
  await nextFrame();
  await browser.value(`(() => {
    window.drawnTexts = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...more) {
      if (x > 168) window.drawnTexts.push({ text, colour: this.fillStyle });
      return fillText.call(this, text, x, ...more);
    };
  })()`);
  const names = await browser.value("[...document.querySelectorAll('#names-legend button')].map((each) => each.textContent)");
  await browser.click("#names-legend button");
  await nextFrame();
  const drawn = (await browser.value("window.drawnTexts")).filter(({ text }) => names.includes(text));
  const colours = (other) => [...new Set(drawn.filter(({ text }) => (text !== names[0]) === other).map(({ colour }) => colour))];
  assert.deepEqual(colours(true), [await browser.value("getComputedStyle(document.documentElement).getPropertyValue('--text').trim()")]);
  assert.notDeepEqual(colours(false), colours(true));
});

quietly("beside the number of a CPU is the name of what ran most on it", async () => {
  // Without the name, the right half of the column of names has only the background.
  const blank = await browser.value(`(() => {
    const canvas = document.querySelector(".pane canvas");
    const { data } = canvas.getContext("2d").getImageData(90, 0, 70, 24);
    return data.every((value, i) => value === data[i % 4]);
  })()`);
  assert(!blank);
});

test("tables without long texts are not cut in a window of 1280 pixels", () => browser.inWindow(1280, 900, async () => {
  await browser.open(pathToFileURL(page).href);
  const cut = "[...document.querySelectorAll('.scroll')].filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map((each) => each.firstChild.id)";
  const long = ["kmem-gfp_flags-table", "kmem-task_sites-table", "kmem-call_sites-table"];
  assert.deepEqual((await browser.value(cut)).filter((table) => !long.includes(table)), []);
}));

test("in a window of 1280 pixels no column is below the arrows", () => browser.inWindow(1280, 900, async () => {
  const file = path.join(directory, "long.html");
  // A program with a long command line, in a long control group.
  changeData(page, file, ({ processes }) => Object.assign(processes.processes.rows[0], { argv: "/usr/bin/long --argument ".repeat(40), cgroup: "/long.slice".repeat(40) }));
  await browser.open(pathToFileURL(file).href);
  const hidden = `(() => {
    const hidden = [];
    for (const head of document.querySelectorAll("th:not(.place)")) {
      if (!["Program", "Failed", "Control group"].includes(head.textContent)) continue;
      head.scrollIntoView({ block: "center" });
      head.closest(".scroll").scrollLeft = 0;
      const box = head.getBoundingClientRect(), of = head.closest(".scroll").getBoundingClientRect();
      const shown = [box.left + 2, box.right - 2].every((x) => document.elementFromPoint(x, box.top + box.height / 2)?.closest("th") === head);
      if (!shown || box.right > of.right + 1) hidden.push(head.closest("table").id + ": " + head.textContent);
    }
    return hidden;
  })()`;
  assert.deepEqual(await browser.value(hidden), []);
}));

quietly("what is in the search box selects rows of all tables, and threads", async () => {
  const type = (search) => browser.value(`(() => { const box = document.getElementById("search"); box.value = ${JSON.stringify(search)}; box.dispatchEvent(new Event("input")); })()`);
  const threads = (await column("threads-table", 1)).length, calls = (await column("calls-table", 0)).length;
  await type(" NGINX ");
  const found = await column("threads-table", 1);
  assert(found.length > 0 && found.length < threads && found.every((name) => name.includes("nginx")), found.join());
  assert.equal((await column("calls-table", 0)).length, 0);
  assert.match(await text("#threads-table + p, .table:has(#threads-table) .reduced"), new RegExp(`^${found.length} of ${threads} rows match`));
  assert.equal(await browser.value("[...document.querySelectorAll('.pane')][1].firstChild.style.height"), "48px", "two threads are called nginx");
  const site = (await (async () => { await type(""); return column("kmem-call_sites-table", 0); })())[0];
  await type(site);
  assert((await column("kmem-call_sites-table", 0)).includes(site));
  await type("");
  assert.equal((await column("calls-table", 0)).length, calls);
});

quietly("a click on a system call shows its distribution", async () => {
  const first = await text("#syscall-histogram-title"), bars = await pixels("#syscall-histogram");
  await browser.click("#calls-table tbody tr:nth-child(3) td:nth-child(2)");
  await nextFrame();
  assert.notEqual(await text("#syscall-histogram-title"), first);
  assert.notEqual(await pixels("#syscall-histogram"), bars);
});

quietly("a click in the tree-map goes into a box", async () => {
  const before = await pixels("#kmem-treemap");
  await browser.click("#kmem-treemap canvas", [0.3, 0.4]);
  await nextFrame();
  assert.notEqual(await pixels("#kmem-treemap"), before);
  await browser.click("button[data-key=held_bytes]");
  assert.equal(await browser.value("document.querySelector('button[data-key=held_bytes]').ariaPressed"), "true");
});

quietly("threads are found by name", async () => {
  const before = await pixels(".pane:last-child");
  await browser.value("(() => { const box = document.getElementById('thread-filter'); box.value = 'nginx'; box.dispatchEvent(new Event('input')); })()");
  await nextFrame();
  assert.notEqual(await browser.value("[...document.querySelectorAll('.pane')][1].style.height"), "");
  assert.equal(await browser.value("[...document.querySelectorAll('.pane')][1].firstChild.style.height"), "48px", "two threads are called nginx");
  assert.notEqual(before, "");
});

quietly("names are text, whatever is in them", async () => {
  assert.equal(await browser.value("document.querySelectorAll('img, #main b[onclick], main > b').length"), 0);
  assert((await column("threads-table", 1)).includes("<img src=x>"));
  assert((await column("processes-table", 1)).includes("</script><b>"));
  assert.match(await text(".sources"), /<img src=x onerror=alert\(document.domain\)>/);
});

quietly("the theme can be changed", async () => {
  const colour = () => browser.value("getComputedStyle(document.body).backgroundColor");
  const before = await colour(), drawn = await pixels(".pane");
  await browser.click("#theme");
  await nextFrame();
  assert.notEqual(await colour(), before);
  assert.notEqual(await pixels(".pane"), drawn);
});

// ---- stacks ----

async function openStacks() {
  const traced = path.join(directory, "stacks"), file = path.join(directory, "stacks.html");
  if (!existsSync(file)) {
    execFileSync(makeTrace, [traced, "stacks"]);
    execFileSync(ktracectl, ["report", "html", traced, "-o", file]);
  }
  await browser.open(pathToFileURL(file).href);
  await nextFrame();
}
const flame = (which) => browser.value(`document.querySelector("#flame-${which} canvas").toDataURL()`);

quietly("a page without stacks has no section for them", async () => {
  assert.equal(await browser.value("document.querySelector('#stacks')"), null);
  assert.doesNotMatch(await text(".bar nav"), /Stacks/);
});

quietly("flame graphs show samples and sleeps, and how complete their stacks are", async () => {
  await openStacks();
  assert.match(await text(".bar nav"), /Stacks/);
  assert.match(await text("#flame-cpu output"), /^4 samples$/);
  assert.match(await text("#flame-offcpu output"), /^101 ms$/);
  assert.match(await text("#stacks"), /User stacks of 3 events: 0\.0 % complete, 0\.0 % deeper than recorded, 100\.0 % ended early\./);
});

quietly("beside the sleeps are the stacks of those who ended them", async () => {
  await openStacks();
  assert.match(await text("#flame-wakers output"), /^101 ms$/);
  assert.match(await text("#stacks"), /Kernel stacks of the wakers of 1 sleep: 100\.0 % complete/);
  const boxOf = (id) => browser.value(`(({ left, top }) => [left, top])(document.getElementById("${id}").getBoundingClientRect())`);
  const [sleepsLeft, sleepsTop] = await boxOf("flame-offcpu"), [wakersLeft, wakersTop] = await boxOf("flame-wakers");
  assert(wakersLeft > sleepsLeft);
  assert.equal(wakersTop, sleepsTop);
  await browser.value("(() => { const box = document.getElementById('search'); box.value = 'hrtimer'; box.dispatchEvent(new Event('input')); })()");
  await nextFrame();
  assert.match(await text("#flame-wakers output"), /100\.0 % with “hrtimer”/);
  assert.match(await text("#flame-offcpu output"), /0\.0 % with “hrtimer”/);
});

quietly("a click on a function of a flame graph gives it the whole width", async () => {
  await openStacks();
  const whole = await flame("cpu");
  await browser.click("#flame-cpu canvas", [0.3, 0.3]);
  await nextFrame();
  assert.notEqual(await flame("cpu"), whole);
  assert.match(await text("#flame-cpu output"), / in /);
  await browser.click("#flame-cpu button");
  await nextFrame();
  assert.equal(await flame("cpu"), whole);
});

quietly("the search box colours functions, and their share is said", async () => {
  await openStacks();
  const whole = await flame("cpu");
  await browser.value("(() => { const box = document.getElementById('search'); box.value = 'EXT4'; box.dispatchEvent(new Event('input')); })()");
  await nextFrame();
  assert.notEqual(await flame("cpu"), whole);
  assert.match(await text("#flame-cpu output"), /75\.0 % with “ext4”/);
});

quietly("flame graphs are of a process, of a CPU, and of the part shown on the timeline", async () => {
  await openStacks();
  const choose = (label) => browser.value(`(() => {
    const list = document.getElementById("stacks-of");
    list.value = [...list.options].find(({ text }) => text.startsWith(${JSON.stringify(label)})).value;
    list.dispatchEvent(new Event("change"));
  })()`);
  await choose("kworker");
  await nextFrame();
  assert.match(await text("#flame-cpu output"), /^1 sample$/);
  assert.equal(await browser.value("document.querySelector('#flame-offcpu .flame').hidden"), true);
  await choose("CPU 1");
  await nextFrame();
  assert.match(await text("#flame-offcpu output"), /^101 ms$/);
  await choose("All");
  for (let times = 0; times < 3; times += 1) await browser.click("#zoom-in");
  await browser.value("new Promise((done) => setTimeout(done, 200))");
  await nextFrame();
  assert.equal(await text("#flame-cpu output"), "", "the samples are in the first tenth");
  await browser.click("#stacks-here");
  await nextFrame();
  assert.match(await text("#flame-cpu output"), /^4 samples$/);
});

// Presses keys in the flame graph of samples; what it then says.
async function pressed(...keys) {
  await browser.value("document.querySelector('#flame-cpu .flame').focus()");
  for (const key of keys) {
    await browser.press(key);
    await nextFrame();
  }
  return text("#flame-cpu output");
}

quietly("keys move in a flame graph, give a function the whole width, and go back", async () => {
  await openStacks();
  const whole = await flame("cpu");
  assert.match(await pressed("ArrowDown"), /at all: 4 samples, 100\.0 %$/);
  assert.notEqual(await flame("cpu"), whole, "the function has an outline");
  assert.match(await pressed("ArrowDown"), /at nginx 812: 3 samples, 75\.0 %$/, "the widest below");
  assert.match(await pressed("ArrowLeft"), /at kworker.*: 1 sample, 25\.0 %$/);
  assert.match(await pressed("ArrowLeft"), /at kworker/, "nothing is further left");
  assert.match(await pressed("ArrowRight", "ArrowDown", "ArrowDown"), /at \[0x402000\]: 2 samples, 50\.0 %$/);
  assert.equal(await pressed("Enter"), "4 samples · 50.0 % in [0x402000]");
  assert.equal(await pressed("ArrowDown", "Enter"), "4 samples · 50.0 % in [0x401000]");
  assert.match(await pressed("Escape"), /^4 samples · 50\.0 % in \[0x402000\]/, "what had the whole width before");
  assert.match(await pressed("Escape", "ArrowUp"), /^4 samples · at \[0x402000\]/);
  assert.match(await pressed("Enter", "Home"), /^4 samples · at/);
  await browser.value("document.activeElement.blur()");
  await nextFrame();
  assert.equal(await flame("cpu"), whole);
});

quietly("the key / goes to the search box, and is text where somebody types", async () => {
  const box = "document.getElementById('search')";
  await browser.press("/");
  assert(await browser.value(`document.activeElement === ${box} && ${box}.value === ""`));
  await browser.send("Input.insertText", { text: "a/b" });
  assert.equal(await browser.value(`${box}.value`), "a/b");
  await browser.value("document.getElementById('thread-filter').focus()");
  await browser.press("/");
  assert.equal(await browser.value("document.activeElement.id"), "thread-filter");
});

quietly("a function of a flame graph has its place on the timeline", async () => {
  await openStacks();
  const button = "#flame-cpu .toolbar button:nth-child(2)";
  assert(await browser.value(`document.querySelector(${JSON.stringify(button)}).disabled`), "of all functions there is none");
  await pressed("ArrowDown", "ArrowDown", "Enter");
  assert.match(await text("#timeline-status"), /^All /);
  await browser.click(button);
  await nextFrame();
  assert.match(await text("#timeline-picked"), /^Only nginx 812 is coloured/);
  assert.match(await text("#timeline-status"), / of .*, from \+/);
  await browser.value("new Promise((done) => setTimeout(done, 200))");
  await nextFrame();
  assert.match(await text("#flame-cpu output"), /^3 samples · 100\.0 % in nginx 812$/, "the part with its samples");
});

test("flame graphs are readable in a window of 390 pixels", () => browser.inWindow(390, 800, async () => {
  await openStacks();
  assert.equal(await browser.value("document.documentElement.scrollWidth"), 390);
  assert(await browser.value("document.querySelector('#flame-cpu canvas').clientWidth > 250"));
  assert.equal(await browser.value("document.querySelector('#flame-cpu canvas').clientHeight"), 6 * 26, "rows are as tall as a finger needs");
  await browser.click("#flame-cpu canvas", [0.9, 0.3]);
  await nextFrame();
  assert.match(await text("#flame-cpu output"), / in nginx 812$/, "the whole name is above");
  assert(await browser.value("document.querySelector('#flame-cpu output').getBoundingClientRect().right <= innerWidth"));
  assert.equal(await browser.value("document.documentElement.scrollWidth"), 390);
}));

test("a file that is there is not overwritten", () => {
  const source = readFileSync(page);
  const again = spawnSync(ktracectl, ["report", "html", trace, "-o", page], { encoding: "utf8" });
  assert.equal(again.status, 64);
  assert.match(again.stderr, /exists already; remove it or choose another name/);
  assert.deepEqual(readFileSync(page), source);
});

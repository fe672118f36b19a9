// SPDX-License-Identifier: BSD-2-Clause
// Chromium without a screen, driven through its DevTools pipe: no port, no driver, no packages.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const kFlags = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
  "--remote-debugging-pipe", "--window-size=1400,900",
];
const kTimeout = 100_000; // ms, for anything

export class Browser {
  #next = 1;
  #waiting = new Map();
  #received = "";
  complaints = []; // of the page's console, and what it has thrown

  // `program`: Chromium.
  static async start(program) {
    const browser = new Browser();
    browser.profile = await mkdtemp(path.join(tmpdir(), "ktraced-browser-"));
    browser.process = spawn(program, [...kFlags, `--user-data-dir=${browser.profile}`], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    browser.process.on("error", (error) => { throw new Error(`${program} does not start: ${error.message}`); });
    browser.process.on("exit", () => browser.#waiting.forEach(({ reject }) => reject(new Error(`${program} has ended`))));
    browser.process.stdio[4].setEncoding("utf8").on("data", (text) => browser.#receive(text));
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    browser.session = sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await browser.send(`${domain}.enable`);
    return browser;
  }

  send(method, params = {}) {
    const id = this.#next++;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId: this.session }) + "\0");
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, method }));
  }

  #receive(text) {
    const messages = (this.#received + text).split("\0");
    this.#received = messages.pop();
    for (const message of messages.map((each) => JSON.parse(each))) {
      if (message.id === undefined) {
        this.#note(message);
        continue;
      }
      const { resolve, reject, method } = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) reject(new Error(`${method}: ${message.error.message}`));
      else resolve(message.result);
    }
  }

  #note({ method, params }) {
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded") this.complaints.push(`${params.entry.level}: ${params.entry.text}`);
    if (method === "Runtime.consoleAPICalled") this.complaints.push(`console.${params.type}: ${params.args.map((arg) => arg.value ?? arg.description).join(" ")}`);
    if (method === "Network.requestWillBeSent" && !/^(file|data):/.test(params.request.url)) this.complaints.push(`asked for ${params.request.url}`);
  }

  // Opens a page and waits until it has been drawn.
  async open(url) {
    await this.send("Page.navigate", { url });
    await this.until("document.readyState === 'complete' && document.documentElement.dataset.drawnMs !== undefined");
  }

  // The value of an expression in the page.
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  async until(expression) {
    const end = Date.now() + kTimeout;
    while (!(await this.value(expression))) {
      if (Date.now() > end) throw new Error(`in vain waited for: ${expression}`);
      await sleep(20);
    }
  }

  // The middle of an element, or a place in it, in pixels of the window.
  async placeOf(selector, [x, y] = [0.5, 0.5]) {
    return this.value(`(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: "center" });
      const box = element.getBoundingClientRect();
      return { x: box.left + box.width * ${x}, y: box.top + box.height * ${y} };
    })()`);
  }

  async mouse(type, place, more = {}) {
    await this.send("Input.dispatchMouseEvent", { type, ...place, ...more });
  }

  async click(selector, at) {
    const place = await this.placeOf(selector, at);
    await this.mouse("mousePressed", place, { button: "left", clickCount: 1 });
    await this.mouse("mouseReleased", place, { button: "left", clickCount: 1 });
  }

  // Presses a key by its name: "ArrowDown", "Enter".
  async press(key) {
    for (const type of ["keyDown", "keyUp"]) await this.send("Input.dispatchKeyEvent", { type, key });
  }

  // Calls `body` in a window of this size, in pixels.
  async inWindow(width, height, body) {
    const before = await this.value("innerWidth");
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 0, mobile: false });
    try {
      await this.until(`innerWidth === ${width}`);
      await body();
    } finally {
      await this.send("Emulation.clearDeviceMetricsOverride");
      await this.until(`innerWidth === ${before}`);
    }
  }

  async screenshot(file, params = {}) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", ...params });
    await writeFile(file, Buffer.from(data, "base64"));
  }

  async stop() {
    const ended = once(this.process, "exit");
    this.send("Browser.close").catch(() => {});
    await Promise.race([ended, sleep(5000).then(() => this.process.kill("SIGKILL"))]);
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

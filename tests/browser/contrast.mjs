// SPDX-License-Identifier: BSD-2-Clause
// How well the texts of a page can be read, those on its canvases too.

// Runs in the page, before its own script: a canvas keeps only pixels, so texts are noted as they are drawn.
function watch() {
  const kOpaque = 255;
  const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // Red, green, blue and opacity, from 0 to 255.
  const parse = (colour) => {
    if (!known.has(colour)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = colour;
      pixel.fillRect(0, 0, 1, 1);
      known.set(colour, [...pixel.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => (c * a + below[i] * (kOpaque - a)) / kOpaque);
  // As WCAG 2 defines them.
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (...two) => {
    const [light, dark] = two.map(luminance).sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };

  // What is behind the text of an element.
  const groundOf = (element) => {
    const layers = [];
    for (let at = element; at !== null && layers.at(-1)?.[3] !== kOpaque; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
  };

  // The mean of a part of a canvas.
  const meanOf = (context, x, y, width, height) => {
    const { data } = context.getImageData(x, y, width, height);
    const sum = [0, 0, 0, 0];
    for (let i = 0; i < data.length; i += 4) {
      for (let c = 0; c < 3; c += 1) sum[c] += data[i + c] * data[i + 3];
      sum[3] += data[i + 3];
    }
    return sum[3] === 0 ? sum : [...sum.slice(0, 3).map((c) => c / sum[3]), sum[3] / (data.length / 4)];
  };

  let drawn = [];
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (kind, options) {
    return getContext.call(this, kind, { ...options, willReadFrequently: true });
  };
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    const size = this.measureText(text), to = this.getTransform();
    const from = to.transformPoint({ x: x - size.actualBoundingBoxLeft, y: y - size.actualBoundingBoxAscent });
    const end = to.transformPoint({ x: x + size.actualBoundingBoxRight, y: y + size.actualBoundingBoxDescent });
    const [width, height] = [Math.round(end.x - from.x), Math.round(end.y - from.y)];
    if (width > 0 && height > 0) {
      const [r, g, b, a] = parse(this.fillStyle);
      const behind = meanOf(this, Math.round(from.x), Math.round(from.y), width, height);
      drawn.push({ text, canvas: this.canvas, ink: [r, g, b, a * this.globalAlpha], behind, left: from.x / to.a, right: end.x / to.a });
    }
    return fillText.call(this, text, x, y, ...more);
  };

  // [{ text, where, contrast }] of what can be read in the page, and what has been drawn since the last call; those on canvases also
  // have { canvas, left, right }, in CSS pixels of their canvas.
  window.textsOfThePage = () => {
    const texts = [];
    const note = (text, element, ink, ground, more) =>
      texts.push({ text: text.trim().slice(0, 60), where: `${element.closest("section")?.id ?? ""} ${element.tagName}.${element.className}`, contrast: contrast(over(ink, ground), ground), ...more });
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const { data, parentElement: element } = nodes.currentNode;
      if (data.trim() !== "" && element.checkVisibility()) note(data, element, parse(getComputedStyle(element).color), groundOf(element));
    }
    for (const input of document.querySelectorAll("input[placeholder]"))
      note(input.placeholder, input, parse(getComputedStyle(input, "::placeholder").color), groundOf(input));
    for (const { text, canvas, ink, behind, left, right } of drawn)
      if (canvas.isConnected) note(text, canvas, ink, over(behind, groundOf(canvas)), { canvas: canvas.closest("div[class]").className, left, right });
    drawn = [];
    return texts;
  };
}

// Calls `body` with a function that returns the texts of the page, once it is opened again.
export async function watchingTexts(browser, body) {
  const { identifier } = await browser.send("Page.addScriptToEvaluateOnNewDocument", { source: `(${watch})()` });
  try {
    await body(() => browser.value("textsOfThePage()"));
  } finally {
    await browser.send("Page.removeScriptToEvaluateOnNewDocument", { identifier });
  }
}

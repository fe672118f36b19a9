// SPDX-License-Identifier: BSD-2-Clause
// A few lines beside the pointer.
import { el, printable } from "./dom.js";

const tooltip = el("div", { class: "tooltip", role: "status", hidden: true });

// The first line is the heading.
export function showTooltip(event, lines) {
  if (!tooltip.isConnected) document.body.append(tooltip);
  tooltip.replaceChildren(...lines.map((line, i) => el(i === 0 ? "strong" : "div", {}, printable(line))));
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  const left = event.clientX + 16 + width > window.innerWidth ? event.clientX - width - 12 : event.clientX + 16;
  const top = Math.min(event.clientY + 14, window.innerHeight - height - 4);
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${Math.max(4, top)}px`;
}

export function hideTooltip() {
  tooltip.hidden = true;
}

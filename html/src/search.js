// SPDX-License-Identifier: BSD-2-Clause
// The search box: what is in it selects the rows of all tables, and the threads of the timeline.
import { el } from "./dom.js";

const listeners = [];

// `listener(text)` is called with the new text in lower case; empty: everything matches.
export const onSearch = (listener) => listeners.push(listener);

export function searchBox() {
  const box = el("input", {
    type: "search", id: "search", title: "The key / goes here", placeholder: "Find threads, processes, calls, call sites…", "aria-label": "Show only rows with this text",
    oninput: (event) => {
      const text = event.target.value.trim().toLowerCase();
      for (const listener of listeners) listener(text);
    },
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    box.focus();
  });
  return box;
}

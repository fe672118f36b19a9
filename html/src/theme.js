// SPDX-License-Identifier: BSD-2-Clause
// Colours. style.css has those of the page; canvases read them from there.

export function themeColours() {
  colours ??= readColours();
  return colours;
}

let colours = null; // of the current theme, kept because reading them is slow

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: of("text"), muted: of("muted"), faint: of("faint"), line: of("line"),
    panel: of("panel"), lane: of("lane"), accent: of("accent"), loss: of("loss"),
    hatch: of("hatch"), dimmed: of("dimmed"), running: of("running"), runnable: of("runnable"), font: of("font"),
  };
}

// Most people can distinguish them, and dark text is readable on them.
const kPalette = [
  "#7aa6d8", "#f0a868", "#8cc98a", "#e58b88", "#b7a1dd", "#d9b66a",
  "#74c7c4", "#e79ac0", "#a9bf6b", "#9aa8e8", "#cf9d83", "#86b8a0",
];
export const kOnPalette = "#14181f";

// The first of `names`, which are sorted by importance, get different colours, while there are unused ones: a map of these.
export const distinctColours = (names) => new Map([...new Set(names)].slice(0, kPalette.length).map((name, i) => [name, kPalette[i]]));

// Returns a function from a name to its colour; `distinct` is of distinctColours().
export const colouring = (distinct) => (name) => distinct.get(name) ?? colourOf(name);

// The same name always has the same colour; other names may share it.
export function colourOf(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return kPalette[(hash >>> 8) % kPalette.length];
}

const kDark = window.matchMedia("(prefers-color-scheme: dark)");

export const isDark = () => (document.documentElement.dataset.theme ?? (kDark.matches ? "dark" : "light")) === "dark";

const listeners = [];
const changed = () => {
  colours = null;
  listeners.forEach((listener) => listener());
};
kDark.addEventListener("change", changed);

export const onThemeChange = (listener) => listeners.push(listener);

export function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  changed();
}

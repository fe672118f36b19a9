// SPDX-License-Identifier: BSD-2-Clause
// Charts drawn by ECharts.
import * as echarts from "echarts/core";
import { BarChart, TreemapChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";
import { el, printable } from "./dom.js";
import { bytes, count, duration, percent } from "./format.js";
import { colourOf, kOnPalette, onThemeChange, themeColours } from "./theme.js";

echarts.use([BarChart, TreemapChart, GridComponent, TooltipComponent, CanvasRenderer]);

// An element with a chart. It is drawn again when the theme changes, or when show() is called with
// other options. `options` is a function of the theme's colours.
class Chart {
  constructor(id, options, attributes) {
    this.element = el("div", { id, class: "chart", role: "img", ...attributes });
    this.options = options;
    new ResizeObserver(() => this.#resize()).observe(this.element);
    onThemeChange(() => this.show(this.options));
  }

  show(options) {
    this.options = options;
    this.drawn?.setOption(options(themeColours()), true);
  }

  #resize() {
    if (this.element.clientWidth === 0) return;
    if (this.drawn) return this.drawn.resize();
    this.drawn = echarts.init(this.element, null, { renderer: "canvas" });
    this.show(this.options);
  }
}

// A tooltip of text.
const lines = (...texts) => el("div", {}, ...texts.map((text, i) => el(i === 0 ? "strong" : "div", {}, printable(text))));

const tooltipStyle = (colours) => ({
  backgroundColor: colours.panel,
  borderColor: colours.line,
  textStyle: { color: colours.text, fontSize: 12 },
  confine: true,
});

// The number in each power of two. The axis of counts is logarithmic, so that the few slowest are
// visible.
export function histogram(id, label) {
  const chart = new Chart(id, () => ({}), { "aria-label": label });
  const options = (bins) => (colours) => {
    const all = bins.reduce((sum, bin) => sum + bin.count, 0);
    return {
      animation: false,
      textStyle: { fontFamily: colours.font },
      grid: { left: 64, right: 16, top: 16, bottom: 44 },
      tooltip: {
        ...tooltipStyle(colours),
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: ([{ dataIndex }]) => {
          const { from_ns: from, count: n } = bins[dataIndex];
          return lines(`${duration(from)} – ${duration(Math.max(2, 2 * from))}`, `${count(n)}, ${percent(n, all)}`);
        },
      },
      xAxis: {
        type: "category",
        data: bins.map((bin) => duration(bin.from_ns)),
        axisLabel: { color: colours.muted, fontSize: 11 },
        axisLine: { lineStyle: { color: colours.line } },
        axisTick: { show: false },
      },
      yAxis: {
        type: "log",
        min: 0.5, // so that a bar of one is visible
        startValue: 0.5,
        axisLabel: { color: colours.muted, fontSize: 11, formatter: (n) => (n < 1 ? "" : count(n)) },
        splitLine: { lineStyle: { color: colours.line } },
      },
      series: [{
        type: "bar",
        data: bins.map((bin) => (bin.count === 0 ? null : bin.count)),
        barCategoryGap: "12%",
        itemStyle: { color: colours.accent },
      }],
    };
  };
  return { element: chart.element, show: (bins) => chart.show(options(bins)) };
}

// Sizes of call sites within functions within kinds of memory.
export function treemap(id, label) {
  const chart = new Chart(id, () => ({}), { "aria-label": label });
  const options = (nodes, what) => (colours) => {
    const all = nodes.reduce((sum, node) => sum + node.value, 0);
    return {
      animation: false,
      textStyle: { fontFamily: colours.font },
      tooltip: {
        ...tooltipStyle(colours),
        formatter: ({ data, value }) => lines(data?.name || what, `${bytes(value)} ${what}, ${percent(value, all)}`, ...(data?.notes ?? [])),
      },
      series: [{
        type: "treemap",
        name: what,
        data: nodes,
        top: 4, left: 0, right: 0, bottom: 30,
        roam: false,
        nodeClick: "zoomToNode",
        visibleMin: 12,
        breadcrumb: {
          bottom: 0,
          itemStyle: { color: colours.lane, borderColor: colours.line, textStyle: { color: colours.text } },
          emphasis: { itemStyle: { color: colours.line } },
        },
        label: { color: kOnPalette, fontSize: 11, overflow: "truncate" },
        upperLabel: { show: true, height: 18, color: colours.text, fontSize: 11 },
        itemStyle: { borderColor: colours.panel, gapWidth: 1 },
        levels: [
          { itemStyle: { borderColor: colours.panel, borderWidth: 0, gapWidth: 3 }, upperLabel: { show: false } },
          { itemStyle: { borderColor: colours.line, borderWidth: 2, gapWidth: 2 } },
          { itemStyle: { borderColor: colours.panel, borderWidth: 1, gapWidth: 1 } },
        ],
      }],
    };
  };
  return { element: chart.element, show: (nodes, what) => chart.show(options(nodes, what)) };
}

export const nodeColour = (name) => ({ color: colourOf(name) });

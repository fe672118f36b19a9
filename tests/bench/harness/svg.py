# SPDX-License-Identifier: BSD-2-Clause
"""Line charts as SVG: small, and readable on light and on dark pages."""
import dataclasses
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 300, 210
LEFT, RIGHT, TOP, BOTTOM = 50, 12, 34, 38
GREY = "#808080"
COLOURS = ("#2f7ed8", "#d9662b", "#3a9a5b", "#a05fc4", "#b8912a")
STYLE = f"text{{font:11px sans-serif;fill:{GREY}}}.title{{font-weight:bold}}path,line{{fill:none;stroke:{GREY};stroke-width:.5}}"


@dataclasses.dataclass
class Axis:
    """Maps values to 0 … 1. A logarithmic axis leaves out values that are not above 0."""

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, values, log):
        if log:
            values = [value for value in values if value > 0] or [1]
            return cls(10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values) * 1.0001)), True)
        return cls(0, rounded_up(max(values)), False)

    def at(self, value):
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self):
        if self.log:
            return [10.0 ** power for power in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]
        return [self.high * part / 4 for part in range(5)]


def rounded_up(value):
    """The next of 1, 2, 4, 8 times a power of ten: it divides into quarters that are easy to read."""
    if value <= 0:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= value)


def tick_text(value):
    if value >= 10000:
        return f"{value / 1000:g}k" if value < 1e6 else f"{value / 1e6:g}M"
    return f"{value:g}"


def chart(title, x_label, y_label, series, log=""):
    """The elements of one chart, WIDTH by HEIGHT. `series` maps names to lists of (x, y)."""
    points = [point for values in series.values() for point in values]
    x_axis, y_axis = (Axis.over([point[i] for point in points], "xy"[i] in log) for i in (0, 1))

    def place(x, y):
        return (LEFT + x_axis.at(x) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y_axis.at(y) * (HEIGHT - TOP - BOTTOM))

    parts = [f'<text class="title" x="{LEFT}" y="14">{escape(title)}</text>',
             f'<text x="{LEFT}" y="28">{escape(y_label)}</text>',
             f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{escape(x_label)}</text>']
    parts += grid(x_axis, y_axis, place)
    for number, (name, values) in enumerate(series.items()):
        drawable = [(x, y) for x, y in values if (x > 0 or not x_axis.log) and (y > 0 or not y_axis.log)]
        parts += line(name, [place(x, y) for x, y in drawable], COLOURS[number % len(COLOURS)], number)
    return "\n".join(parts)


def grid(x_axis, y_axis, place):
    parts = []
    for value in y_axis.ticks():
        x, y = place(x_axis.low, value)
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x - 4:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick_text(value)}</text>')
    for value in x_axis.ticks():
        x, y = place(value, y_axis.low)
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{y + 4:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 15:.1f}" text-anchor="middle">{tick_text(value)}</text>')
    return parts


def line(name, places, colour, number):
    """A series, and its entry in the legend."""
    path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in places)
    style = f'style="stroke:{colour};stroke-width:1.8"'
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in places)
    legend = f'<text x="{LEFT + 6}" y="{TOP + 12 + 13 * number}" style="fill:{colour}">{escape(name)}</text>'
    return [f'<path d="{path}" {style}/>', dots, legend] if places else [legend]


def page(charts, columns=3):
    """A document of charts, side by side."""
    rows = -(-len(charts) // columns)
    width, height = columns * WIDTH, rows * HEIGHT
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
             f"<style>{STYLE}</style>"]
    for number, elements in enumerate(charts):
        parts.append(f'<g transform="translate({number % columns * WIDTH},{number // columns * HEIGHT})">\n{elements}\n</g>')
    return "\n".join(parts + ["</svg>", ""])

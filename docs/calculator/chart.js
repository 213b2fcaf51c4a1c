// The expected false-positive rate over the number of items, as an SVG with its own size.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 240;
const MARGIN = { top: 22, right: 12, bottom: 40, left: 62 };

function svg(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

/** Round numbers from 0 to just below `end`, at most six. */
function ticks(end) {
  const rough = end / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((step) => step >= rough);
  const count = Math.floor(end / step * (1 + 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

/** A number of items in few characters. */
function shortCount(number) {
  if (number < 1e4) return grouped(number);
  const power = Math.min(Math.floor(Math.log10(number) / 3), 6);
  return `${Number((number / 1000 ** power).toPrecision(4))}${" kMGTPE"[power]}`;
}

/** Numbers of items at which the curve is drawn: even steps, and the ends of layers. */
function samples(items, ends) {
  const even = Array.from({ length: 121 }, (_, step) => Math.round(items * step / 120));
  const inner = ends.flatMap((end) => [end, end + 1]).filter((end) => end < items);
  return [...new Set([...even, ...inner])].sort((a, b) => a - b);
}

/**
 * Draws `points` ([items, rate]), the target as a line, and the ends of layers as marks.
 * The caption says the same in words.
 */
function drawChart(place, points, target, ends) {
  const width = Math.max(place.clientWidth, 240);
  const [items] = points.at(-1);
  const top = Math.max(target, ...points.map(([, rate]) => rate)) * 1.08;
  const [right, base] = [width - MARGIN.right, HEIGHT - MARGIN.bottom];
  const x = (count) => MARGIN.left + count / items * (right - MARGIN.left);
  const y = (rate) => base - rate / top * (base - MARGIN.top);
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img",
    "aria-labelledby": "rate-title", "aria-describedby": "chart-text",
  });
  const level = (name, rate) =>
    svg("line", { class: name, x1: MARGIN.left, x2: right, y1: y(rate), y2: y(rate) });
  for (const tick of ticks(top)) {
    root.append(level("grid", tick));
    root.append(svg("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" },
      tickRate(tick)));
  }
  const marks = ticks(items).filter((tick) => Number.isInteger(tick));
  // Few enough that the texts do not touch on a narrow screen.
  const every = Math.ceil(marks.length / Math.max(2, Math.floor(width / 90)));
  for (const tick of marks.filter((_, index) => index % every === 0)) {
    const anchor = x(tick) > right - 20 ? "end" : "middle";
    root.append(svg("text", { x: x(tick), y: base + 18, "text-anchor": anchor }, shortCount(tick)));
  }
  root.append(svg("text", { x: right, y: HEIGHT - 4, "text-anchor": "end" }, "items"));
  for (const end of ends.filter((end) => end < items && x(end) - MARGIN.left > 6)) {
    root.append(svg("line", { class: "layer", x1: x(end), x2: x(end), y1: MARGIN.top, y2: base }));
  }
  const line = points.map(([count, rate]) => `${x(count).toFixed(1)},${y(rate).toFixed(1)}`);
  root.append(svg("polygon", { class: "area",
    points: `${x(0)},${base} ${line.join(" ")} ${right},${base}` }));
  root.append(svg("polyline", { class: "curve", points: line.join(" ") }));
  root.append(level("target", target));
  root.append(svg("text", { class: "target-text", x: MARGIN.left + 6, y: y(target) - 6 },
    `target ${rate(target)}`));
  place.replaceChildren(root);
}

const tickRate = (tick) => tick !== 0 && tick < 1e-4 ? tick.toExponential() : plain(tick);

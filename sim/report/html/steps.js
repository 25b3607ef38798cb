// How step times spread: every simulated step, the mean, and the range that holds nine of ten.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { h, onWidth, section, svg, value } from "./dom.js";
import { axisTime, count, duration } from "./format.js";

const HEIGHT = 220;
const LEFT = 72;
const RIGHT = 96;

function dots(result, width) {
  const times = result.step_times_s;
  const low = Math.min(...times), high = Math.max(...times);
  const x = scaleLinear([0, times.length - 1], [LEFT + 6, width - RIGHT]);
  const y = scaleLinear([low, high], [HEIGHT - 40, 14]).nice(4);
  const root = svg("svg", { width, height: HEIGHT, role: "img", "aria-label": `time of each of ${times.length} steps` });
  root.append(svg("rect", { class: "band", x: LEFT, width: width - RIGHT - LEFT, y: y(result.step_time_p95_s), height: Math.max(1, y(result.step_time_p05_s) - y(result.step_time_p95_s)) }));
  select(root).append("g").attr("class", "axis").attr("transform", `translate(0,${HEIGHT - 36})`)
    .call(axisBottom(x).ticks(Math.min(times.length - 1, Math.max(2, width / 110))).tickFormat(count));
  select(root).append("g").attr("class", "axis").attr("transform", `translate(${LEFT},0)`).call(axisLeft(y).ticks(5).tickFormat(axisTime(high)));
  root.append(svg("text", { class: "axisname", x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "step"));
  const size = times.length > 400 ? 1.5 : times.length > 60 ? 2.2 : 3.5;
  times.forEach((time, i) => root.append(svg("circle", { class: "dot", cx: x(i), cy: y(time), r: size }, svg("title", {}, `step ${i}: ${duration(time)}`))));
  root.append(svg("line", { class: "mean", x1: LEFT, x2: width - RIGHT, y1: y(result.step_time_s), y2: y(result.step_time_s) }));
  const marks = [[result.step_time_p95_s, "p95"], [result.step_time_s, "mean"], [result.step_time_p05_s, "p05"]];
  let above = -Infinity;
  for (const [time, name] of marks) {
    const at = Math.max(y(time), above + 14);
    above = at;
    root.append(svg("text", { class: "axisname", x: width - RIGHT + 8, y: at + 4 }, `${name} ${duration(time)}`));
  }
  return root;
}

export function stepTimes(source) {
  const times = source.result.step_times_s ?? [];
  if (times.length < 2)
    return section("steps", "Step to step", null, h("p", { class: "note" }, "One step was simulated. --steps N shows how steps differ, and gives the mean an interval."));
  const box = h("div", { class: "chart" });
  onWidth(box, (width) => box.replaceChildren(dots(source.result, width)));
  return section("steps", "Step to step", ["Each of the ", value(source, "steps", count), " simulated steps; the band holds nine of ten, the line is the mean (± ",
    value(source, "step_time_ci95_s", duration), ", 95 %)."], box);
}

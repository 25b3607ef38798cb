// What differs along the pipeline: the ledger of each pipeline rank, the time of each stage, memory against capacity.
import { axisBottom, axisLeft } from "d3-axis";
import { scaleBand, scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { at, h, onWidth, section, svg, tooltip, value } from "./dom.js";
import { bar, barRows, legend, parts } from "./bars.js";
import { axisTime, count, decimal1, duration, gib, percent } from "./format.js";
import { kinds, memoryParts, shares } from "./palette.js";

export function byPipelineRank(source) {
  const list = source.result.pipeline_ranks ?? [];
  if (!list.some((one) => one.ledger)) return null;
  const used = shares.filter((share) => list.some((one) => at(one.ledger, share.path) > 0));
  return section("ranks", "Each pipeline rank", "First step, mean of the ranks at each position of the pipeline. Idle time is grey.",
    legend(used),
    barRows(list.map((one) => ({ name: `PP ${one.pipeline_rank}`, bar: bar(parts(one.ledger, used, percent), 1) })),
    [0, 0.25, 0.5, 0.75, 1].map((x) => ({ at: x, text: `${x * 100} %` }))));
}

export function memory(source) {
  const { result } = source;
  const list = (result.pipeline_ranks ?? []).filter((one) => one.memory);
  if (list.length === 0) return null;
  const capacity = result.memory.capacity_bytes;
  const full = Math.max(capacity, ...list.map((one) => one.memory.peak_bytes)) * 1.02;
  const line = h("span", { class: "limit", style: { left: `${(capacity / full) * 100}%` } });
  const rows = list.map((one) => {
    const stacked = bar(parts(one.memory, memoryParts, (b) => `${gib(b)} GiB`).map((part) => ({ ...part, label: decimal1(part.amount / 1073741824) })), full);
    stacked.append(line.cloneNode());
    return { name: `PP ${one.pipeline_rank}`, bar: stacked,
      total: [value(source, `pipeline_ranks.${result.pipeline_ranks.indexOf(one)}.memory.peak_bytes`, gib), h("span", { class: "unit" }, " GiB")] };
  });
  return section("memory", "Memory at its peak", "The fullest GPU of each pipeline rank; the line is the capacity of the GPU.",
    legend(memoryParts),
    barRows(rows, [{ at: 0, text: "0" }, { at: capacity / full, text: `${gib(capacity)} GiB` }]),
    h("p", { class: "note" }, result.memory.verdict),
    h("ul", { class: "note" }, (result.memory.assumptions ?? []).map((one) => h("li", {}, one))));
}

// The layers of a stage: "layers 6–11, embedding".
function content(stage) {
  if (!stage) return "";
  const last = stage.first_layer + stage.num_layers - 1;
  const words = [stage.num_layers === 0 ? "no layer" : stage.num_layers === 1 ? `layer ${last}` : `layers ${stage.first_layer}–${last}`];
  if (stage.embedding) words.push("embedding");
  if (stage.mtp_layers) words.push(`${stage.mtp_layers} MTP`);
  if (stage.loss) words.push("loss");
  return words.join(", ");
}

function stageColumns(source, stages, width) {
  const height = 220, left = 64, bottom = 34, top = 10;
  const x = scaleBand(stages.map((_, i) => i), [left, width - 8]).padding(stages.length > 40 ? 0.08 : 0.2);
  const most = Math.max(...stages.map((s) => s.forward_s + s.backward_s));
  const y = scaleLinear([0, most], [height - bottom, top]).nice(4);
  const root = svg("svg", { width, height, role: "img", "aria-label": "time of each stage, forward and backward" });
  const every = Math.ceil(stages.length / Math.max(1, Math.floor((width - left) / 26)));
  select(root).append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
    .call(axisBottom(x).tickSizeOuter(0).tickValues(x.domain().filter((i) => i % every === 0)));
  select(root).append("g").attr("class", "axis grid").attr("transform", `translate(${left},0)`)
    .call(axisLeft(y).ticks(4).tickSize(-(width - left - 8)).tickFormat(axisTime(y.domain()[1])));
  root.append(svg("text", { class: "axisname", x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "stage"));
  stages.forEach((stage, i) => {
    const show = (event) => tooltip([`stage ${i}: ${content(source.result.plan.partition?.[i])}`,
      `forward ${duration(stage.forward_s)}`, `backward ${duration(stage.backward_s)}`], event.clientX, event.clientY);
    const group = svg("g", { onpointermove: show, onpointerleave: () => tooltip(null) });
    const mid = y(stage.forward_s), end = y(stage.forward_s + stage.backward_s);
    group.append(svg("rect", { x: x(i), width: x.bandwidth(), y: mid, height: y(0) - mid, fill: kinds.F.fill }),
      svg("rect", { x: x(i), width: x.bandwidth(), y: end, height: mid - end, fill: kinds.B.fill }));
    root.append(group);
  });
  return root;
}

export function stageTimes(source) {
  const stages = source.result.stages ?? [];
  if (stages.length === 0) return null;
  const box = h("div", { class: "chart" });
  onWidth(box, (width) => box.replaceChildren(stageColumns(source, stages, width)));
  return section("stages", "Stages", "One micro-batch through each stage, communication included; the slowest sets the pace. A pair counts with its first action.",
    legend([kinds.F, kinds.B]), box,
    h("details", {}, h("summary", {}, "As a table"), h("table", { class: "data" },
      h("thead", {}, h("tr", {}, ["stage", "holds", "forward", "backward"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, stages.map((_, i) => h("tr", {}, h("td", {}, count(i)),
        h("td", { class: "text" }, content(source.result.plan.partition?.[i])),
        h("td", {}, value(source, `stages.${i}.forward_s`, duration)), h("td", {}, value(source, `stages.${i}.backward_s`, duration))))))));
}

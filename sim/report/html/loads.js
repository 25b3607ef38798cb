// How evenly the router spreads tokens: a cell for each MoE layer and rank of the first expert-parallel group.
import { scaleSequential } from "d3-scale";
import { interpolateCividis } from "d3-scale-chromatic";
import { h, onTheme, onWidth, section, sharp, tooltip, value } from "./dom.js";
import { count, ratio } from "./format.js";
import { ink } from "./palette.js";

const LEFT = 56;
const BOTTOM = 30;

export function expertLoads(source) {
  const load = source.result.expert_load;
  const rows = load?.rows ?? [];
  if (rows.length === 0) return null;
  const all = rows.flat();
  const least = all.reduce((a, b) => Math.min(a, b)), most = all.reduce((a, b) => Math.max(a, b));
  const lead = ["Routed rows that each rank of the first EP group receives in the first step, ",
    value(source, "expert_load.experts_per_rank", count), " experts per rank. In one micro-batch the busiest rank gets ",
    value(source, "expert_load.imbalance_mean", ratio), " times the mean on average, ", value(source, "expert_load.imbalance_max", ratio), " times at worst."];
  if (least === most)
    return section("load", "Expert load", lead, h("p", { class: "note" },
      `Routing is balanced: every rank receives ${count(most)} rows in every layer, so there is no map to draw.`));
  const colour = scaleSequential([least, most], interpolateCividis);
  const canvas = h("canvas", { role: "img", "aria-label": `heat map of ${rows.length} layers by ${rows[0].length} ranks` });
  const box = h("div", { class: "chart" }, canvas);
  const state = { width: 0 };
  const high = Math.max(4, Math.min(14, Math.floor(420 / rows.length)));
  function draw() {
    const wide = (state.width - LEFT - 8) / rows[0].length;
    const context = sharp(canvas, state.width, rows.length * high + BOTTOM);
    rows.forEach((row, layer) => row.forEach((n, rank) => {
      context.fillStyle = colour(n);
      context.fillRect(LEFT + rank * wide, layer * high, wide > 6 ? wide - 0.5 : wide + 0.3, high > 5 ? high - 0.5 : high);
    }));
    context.font = `11px ${ink("font")}`;
    context.fillStyle = ink("faint");
    context.textBaseline = "middle";
    context.textAlign = "right";
    const every = Math.ceil(14 / high);
    rows.forEach((_, i) => i % every === 0 && context.fillText(String(load.layers[i]), LEFT - 6, Math.max(6, i * high + high / 2)));
    context.textAlign = "center";
    const each = Math.ceil(30 / wide);
    rows[0].forEach((_, i) => i % each === 0 && context.fillText(String(i), LEFT + (i + 0.5) * wide, rows.length * high + 9));
    context.fillText("EP rank", LEFT + (state.width - LEFT - 8) / 2, rows.length * high + 22);
    context.save();
    context.translate(10, (rows.length * high) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText("layer", 0, 0);
    context.restore();
  }
  canvas.addEventListener("pointermove", (event) => {
    const rank = Math.floor(((event.offsetX - LEFT) * rows[0].length) / (state.width - LEFT - 8)), layer = Math.floor(event.offsetY / high);
    const n = rows[layer]?.[rank];
    tooltip(n === undefined ? null : [`layer ${load.layers[layer]}, EP rank ${rank}`, `${count(n)} rows`], event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tooltip(null));
  onWidth(box, (width) => ((state.width = width), draw()));
  onTheme(draw);
  const stops = Array.from({ length: 9 }, (_, i) => interpolateCividis(i / 8)).join(",");
  return section("load", "Expert load", lead,
    h("div", { class: "scale" }, `fewest ${count(least)}`, h("i", { style: { background: `linear-gradient(90deg,${stops})` } }), `most ${count(most)} rows`), box);
}

// The traced ranks over time, as in the papers: one row per rank, an action per box with its micro-batch in it. Near
// enough, the ops inside appear: compute above, collectives below.
import { axisTop } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { h, onTheme, onWidth, section, sharp, svg, tooltip } from "./dom.js";
import { axisTime, count, nanoseconds } from "./format.js";
import { ink, kindOf, laneOf } from "./palette.js";
import { legend } from "./bars.js";
import { drawRow, opsBetween, prepare } from "./timeline_row.js";

const LEFT = 64;
const ROW = 30;
const TOP = 24;
const MAX_OPS = 8000; // drawn at once

export function timeline(source) {
  const data = source.result.detail?.timeline;
  if (!data || data.ranks.length === 0)
    return section("timeline", "Timeline", null, h("p", { class: "note" },
      "This result holds no timeline. Simulate with --report, or with --json and --detail, to have one; --trace-ranks chooses the ranks."));
  const rows = data.ranks.map((rank) => prepare(rank, data));
  const last = Math.max(...rows.map((row) => row.last));
  const height = TOP + rows.length * ROW + 4;
  const canvas = h("canvas", { tabindex: 0, role: "application", class: "focusable",
    "aria-label": "timeline; plus and minus zoom, left and right move, up and down choose a rank, n and p the next and previous action, 0 shows the whole step" });
  const axis = svg("svg", { class: "over", height: TOP, "aria-hidden": "true" });
  const box = h("div", { class: "chart timeline" }, canvas, axis);
  const said = h("p", { class: "said", "aria-live": "polite" }, hint());
  const state = { width: 0, transform: zoomIdentity, row: 0, action: -1 };

  const base = () => scaleLinear([0, last], [LEFT, state.width - 8]);
  const scale = () => state.transform.rescaleX(base());
  function draw() {
    if (state.width === 0) return;
    const context = sharp(canvas, state.width, height);
    const x = scale();
    const [from, to] = x.domain();
    const shown = rows.reduce((sum, row) => sum + opsBetween(row, from, to), 0);
    const near = shown > 0 && shown < MAX_OPS;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, state.width - LEFT - 8, height);
    context.clip();
    rows.forEach((row, i) => drawRow(context, row, data, x, TOP + i * ROW, ROW - 4, near, i === state.row ? state.action : -1));
    context.restore();
    context.font = `12px ${ink("font")}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    rows.forEach((row, i) => {
      context.fillStyle = i === state.row && state.action >= 0 ? ink("text") : ink("faint");
      context.fillText(count(row.rank), LEFT - 8, TOP + i * ROW + (ROW - 4) / 2);
    });
    context.fillStyle = ink("faint");
    context.fillText("rank", LEFT - 22, TOP / 2);
    axis.setAttribute("width", state.width);
    const label = axisTime((to - from) / 1e9);
    const seconds = scaleLinear([from / 1e9, to / 1e9], [LEFT, state.width - 8]);
    select(axis).selectAll("g").data([0]).join("g").attr("class", "axis").attr("transform", `translate(0,${TOP - 2})`)
      .call(axisTop(seconds).ticks(Math.max(2, state.width / 120)).tickSizeOuter(0).tickFormat(label));
  }

  const behaviour = zoom().scaleExtent([1, 200000]).filter((event) => event.type !== "wheel" || event.ctrlKey || event.metaKey || document.activeElement === canvas)
    .on("zoom", (event) => ((state.transform = event.transform), draw()));
  const target = select(canvas).call(behaviour).on("dblclick.zoom", null);
  const zoomBy = (k) => behaviour.scaleBy(target, k, [(LEFT + state.width) / 2, 0]);
  const reset = () => behaviour.transform(target, zoomIdentity);
  function show(from, to) {
    const x = base();
    const k = Math.min(200000, (x(last) - x(0)) / Math.max(1e-9, x(to) - x(from)));
    behaviour.transform(target, zoomIdentity.translate(LEFT - k * x(from), 0).scale(k));
  }
  function say(row, index) {
    const lines = row.describe(index);
    said.textContent = `rank ${count(row.rank)} ${row.name}: ${lines.join(", ")}`;
  }
  function choose(index) {
    const row = rows[state.row];
    state.action = Math.max(0, Math.min(row.begin.length - 1, index));
    const x = scale(), [from, to] = x.domain();
    const a = row.begin[state.action], b = row.end[state.action];
    if (a < from || b > to) behaviour.translateTo(target, base()((a + b) / 2), 0, [(LEFT + state.width) / 2, 0]);
    say(row, state.action);
    draw();
  }
  const keys = {
    "+": () => zoomBy(1.6), "=": () => zoomBy(1.6), "-": () => zoomBy(1 / 1.6), 0: reset,
    ArrowLeft: () => behaviour.translateBy(target, 90 / state.transform.k, 0),
    ArrowRight: () => behaviour.translateBy(target, -90 / state.transform.k, 0),
    ArrowUp: () => ((state.row = Math.max(0, state.row - 1)), choose(state.action)),
    ArrowDown: () => ((state.row = Math.min(rows.length - 1, state.row + 1)), choose(state.action)),
    n: () => choose(state.action + 1), p: () => choose(state.action - 1),
    Enter: () => {
      const row = rows[state.row], a = row.begin[state.action], b = row.end[state.action];
      if (state.action >= 0) show(a - (b - a) * 0.5, b + (b - a) * 0.5);
    },
  };
  canvas.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  function hit(event) {
    const i = Math.floor((event.offsetY - TOP) / ROW);
    return rows[i] && event.offsetX > LEFT ? { i, ...rows[i].hit(scale().invert(event.offsetX), (event.offsetY - TOP - i * ROW) / (ROW - 4)) } : null;
  }
  canvas.addEventListener("pointermove", (event) => {
    const found = event.buttons ? null : hit(event);
    tooltip(found?.lines ?? null, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tooltip(null));
  canvas.addEventListener("click", (event) => {
    const found = hit(event);
    if (found?.action === undefined) return;
    state.row = found.i;
    choose(found.action);
  });
  onWidth(box, (width) => {
    state.width = width;
    behaviour.extent([[LEFT, 0], [width - 8, height]]).translateExtent([[LEFT, 0], [width - 8, height]]);
    draw();
  });
  onTheme(draw);

  const letters = [...new Set(rows.flatMap((row) => [...row.kind]))];
  const used = [...new Set(rows.flatMap((row) => [...row.lane]))].filter((lane) => data.lanes[lane] !== "compute");
  const button = (name, text, act) => h("button", { type: "button", title: name, "aria-label": name, onclick: act }, text);
  return section("timeline", "Timeline",
    "One step of one rank per pipeline position. Boxes are actions with their micro-batch; the pale ground is idle time. Zoom in to see ops.",
    legend([...letters.map(kindOf), ...used.map((lane) => laneOf(data.lanes[lane]))]),
    h("div", { class: "controls" }, button("zoom in", "+", () => zoomBy(2)), button("zoom out", "−", () => zoomBy(0.5)),
      button("whole step", "Whole step", reset),
      rows.some((row) => row.opBegin.length) && button("where ops are shown", "Show ops", () => show(...middle(rows, data))), said),
    box, rows.some((row) => row.stages.length > 1) && h("p", { class: "note" }, "A rank's later stages are drawn lighter."), whatIsLeftOut(data, last));
}

function hint() {
  return "Drag to move, Ctrl + wheel to zoom. Keyboard: + − ← → 0, ↑ ↓ n p Enter.";
}

// A stretch in the middle of the recorded ops, some actions long.
function middle(rows, data) {
  const row = rows.find((one) => one.opBegin.length > 0);
  const at = row.opBegin[Math.floor(row.opBegin.length / 2)];
  const lengths = row.begin.map((begin, i) => row.end[i] - begin).filter((_, i) => "FBI".includes(row.kind[i])).sort((a, b) => a - b);
  const half = 2 * lengths[Math.floor(lengths.length / 2)];
  return [Math.max(at - half, data.ops_from_ns), Math.min(at + half, data.ops_to_ns)];
}

function whatIsLeftOut(data, last) {
  const whole = data.ops_from_ns <= 0 && data.ops_to_ns >= last;
  return !whole && h("p", { class: "note" },
    `Ops are recorded from ${nanoseconds(data.ops_from_ns)} to ${nanoseconds(data.ops_to_ns)}, actions for the whole step. `,
    "A trace (--trace out.json.gz) has all of them.");
}

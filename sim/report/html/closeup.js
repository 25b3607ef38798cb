// One rank close up, lane by lane: which op runs beside which. Two actions that share the GPU show what overlap buys.
import { axisBottom } from "d3-axis";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { h, onTheme, onWidth, section, sharp, svg, tooltip } from "./dom.js";
import { legend } from "./bars.js";
import { axisTime, count, nanoseconds } from "./format.js";
import { ink, kindOf, laneOf } from "./palette.js";
import { prepare } from "./timeline_row.js";

const LEFT = 108;
const ROW = 34;

// Actions inside the recorded ops, a pair as one entry: [[first, second?]...].
function subjects(row, data) {
  const out = [];
  const inside = (i) => "FBIW".includes(row.kind[i]) && row.begin[i] >= data.ops_from_ns && row.end[i] <= data.ops_to_ns;
  for (let i = 0; i < row.begin.length; ++i) {
    if (!inside(i)) continue;
    const other = row.half[i] ? row.begin.findIndex((begin, j) => j > i && inside(j) && begin < row.end[i] && row.kind[j] !== row.kind[i]) : -1;
    if (other > i) out.push([i, other]);
    else if (!row.half[i]) out.push([i]);
  }
  return out;
}

// "dispatch_bwd" and what it may shrink to where its box is narrow: the colour says the direction, the lane the rest.
function shorter(label) {
  return [label, label.replace(/_(fwd|bwd)$/, ""), label.replace(/^.*_wgrad$/, "wgrad")];
}

export function closeup(source) {
  const data = source.result.detail?.timeline;
  const rows = (data?.ranks ?? []).map((rank) => prepare(rank, data));
  const lists = rows.map((row) => subjects(row, data));
  if (!lists.some((list) => list.length > 0)) return null;
  const paired = lists.some((list) => list.some((one) => one.length === 2));
  const start = lists.findIndex((list) => list.some((one) => one.length === (paired ? 2 : 1)));
  const state = { row: start, at: 0, width: 0, boxes: [] };
  const canvas = h("canvas", { tabindex: 0, role: "application", class: "focusable",
    "aria-label": "one action close up; left and right show the previous and the next" });
  const axis = svg("svg", { height: 30, "aria-hidden": "true" });
  const box = h("div", { class: "chart" }, canvas, axis);
  const name = h("p", { class: "said", "aria-live": "polite" });
  const chooser = h("select", {}, rows.map((row, i) => h("option", { value: i }, `${count(row.rank)} ${row.name}`)));

  function draw() {
    const row = rows[state.row], chosen = lists[state.row][state.at];
    if (!chosen || state.width === 0) return;
    const from = Math.min(...chosen.map((i) => row.begin[i])), to = Math.max(...chosen.map((i) => row.end[i]));
    const ops = row.opBegin.map((_, i) => i).filter((i) => row.opEnd[i] > from && row.opBegin[i] < to);
    const lanes = [...new Set(ops.map((i) => row.lane[i]))].sort((a, b) => a - b);
    const height = lanes.length * ROW;
    const x = scaleLinear([from, to], [LEFT, state.width - 8]);
    const context = sharp(canvas, state.width, height);
    state.boxes = [];
    context.textBaseline = "middle";
    lanes.forEach((lane, i) => {
      context.fillStyle = ink("idle");
      context.fillRect(LEFT, i * ROW + 3, state.width - 8 - LEFT, ROW - 6);
      context.fillStyle = ink("faint");
      context.font = `12px ${ink("font")}`;
      context.textAlign = "right";
      context.fillText(laneOf(data.lanes[lane]).name, LEFT - 8, i * ROW + ROW / 2);
    });
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, state.width - 8 - LEFT, height);
    context.clip();
    context.textAlign = "center";
    context.font = `11px ${ink("font")}`;
    for (const i of ops) {
      const top = lanes.indexOf(row.lane[i]) * ROW + 3, high = ROW - 6;
      const x0 = x(row.opBegin[i]), x1 = x(row.opEnd[i]);
      const action = row.opAction[i], style = kindOf(row.kind[action]);
      context.globalAlpha = chosen.includes(action) ? 1 : 0.35;
      context.fillStyle = style.fill;
      context.fillRect(x0, top, Math.max(1, x1 - x0 - (x1 - x0 > 3 ? 1 : 0)), high);
      context.globalAlpha = 1;
      const label = data.op_names[row.opName[i]];
      state.boxes.push({ x0, x1, top, bottom: top + high, lines: [`${label} of ${row.text(action)}`, laneOf(data.lanes[row.lane[i]]).name,
        `${nanoseconds(row.opEnd[i] - row.opBegin[i])}, from ${nanoseconds(row.opBegin[i])}`] });
      const shown = shorter(label).find((text) => x1 - x0 > 6.2 * text.length);
      if (shown) {
        context.fillStyle = chosen.includes(action) ? style.ink : ink("text");
        context.fillText(shown, (x0 + x1) / 2, top + high / 2 + 0.5);
      }
    }
    context.restore();
    axis.setAttribute("width", state.width);
    const seconds = scaleLinear([0, (to - from) / 1e9], [LEFT, state.width - 8]);
    select(axis).selectAll("g").data([0]).join("g").attr("class", "axis").attr("transform", "translate(0,2)")
      .call(axisBottom(seconds).ticks(Math.max(2, state.width / 140)).tickFormat(axisTime((to - from) / 1e9)));
    name.textContent = `${chosen.map((i) => row.text(i)).join(" beside ")}: from ${nanoseconds(from)} on, ${nanoseconds(to - from)} long; action ${count(state.at + 1)} of ${count(lists[state.row].length)} recorded`;
  }
  function choose(rowIndex, at) {
    state.row = rowIndex;
    state.at = Math.max(0, Math.min(lists[rowIndex].length - 1, at));
    chooser.value = rowIndex;
    draw();
  }
  const middle = lists[start].findIndex((one, i) => i >= lists[start].length / 2 && (!paired || one.length === 2));
  choose(start, middle < 0 ? 0 : middle);
  chooser.addEventListener("change", () => choose(Number(chooser.value), state.at));
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    choose(state.row, state.at + move);
  });
  canvas.addEventListener("pointermove", (event) => {
    const found = state.boxes.find((b) => event.offsetX >= b.x0 && event.offsetX < b.x1 && event.offsetY >= b.top && event.offsetY < b.bottom);
    tooltip(found?.lines ?? null, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tooltip(null));
  onWidth(box, (width) => ((state.width = width), draw()));
  onTheme(draw);
  const step = (text, title, by) => h("button", { type: "button", title, "aria-label": title, onclick: () => choose(state.row, state.at + by) }, text);
  return section("closeup", paired ? "A pair close up" : "An action close up",
    paired ? "Two actions share one GPU: communication of one runs beside compute of the other. Colours are those of the action."
      : "Lane by lane. Nothing runs beside something else here: the schedule does not pair actions.",
    legend([...new Set(rows.flatMap((row) => [...row.kind]))].filter((letter) => "FBIWR".includes(letter)).map(kindOf)),
    h("div", { class: "controls" }, h("label", {}, "rank ", chooser), step("←", "previous action", -1), step("→", "next action", 1), name), box);
}

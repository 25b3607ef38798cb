// Single ranks: a column for each rank of one pipeline position, and the exact ledger of the chosen one.
import { h, onTheme, onWidth, section, sharp, tooltip, value } from "./dom.js";
import { count, picoseconds } from "./format.js";
import { ink, shares } from "./palette.js";

const HEIGHT = 150;
const LEFT = 8;

export function singleRanks(source) {
  const { result } = source;
  const rows = result.detail?.rank_ledger_ps;
  if (!rows || rows.length === 0) return null;
  const columns = result.detail.shares.map((key) => shares.find((share) => share.key === key) ?? { key, name: key, fill: "#888888" });
  const positions = result.pipeline_ranks.length;
  const each = rows.length / positions;
  const state = { position: 0, rank: 0, width: 0 };

  const canvas = h("canvas", { tabindex: 0, role: "application", class: "focusable",
    "aria-label": "ledger of each rank; left and right choose a rank, up and down a pipeline rank" });
  const box = h("div", { class: "chart" }, canvas);
  const number = h("input", { type: "number", min: 0, max: rows.length - 1, value: 0 });
  const chooser = h("select", {}, Array.from({ length: positions }, (_, p) =>
    h("option", { value: p }, `PP ${p}: ranks ${count(p * each)} to ${count((p + 1) * each - 1)}`)));
  const table = h("div", { "aria-live": "polite" });

  const columnAt = (rank) => Math.round(LEFT + ((rank - state.position * each) * (state.width - 2 * LEFT)) / each); // whole pixels
  function draw() {
    const context = sharp(canvas, state.width, HEIGHT);
    const longest = Math.max(...rows.slice(state.position * each, (state.position + 1) * each).map((row) => row.reduce((a, b) => a + b, 0)));
    for (let rank = state.position * each; rank < (state.position + 1) * each; ++rank) {
      let y = HEIGHT - 12;
      const x = columnAt(rank), w = columnAt(rank + 1) - x;
      rows[rank].forEach((ps, i) => {
        const height = (ps / longest) * (HEIGHT - 20);
        context.fillStyle = columns[i].fill;
        context.fillRect(x, y - height, w > 4 ? w - 1 : w, height + 0.3);
        y -= height;
      });
    }
    context.fillStyle = ink("text");
    const x = (columnAt(state.rank) + columnAt(state.rank + 1)) / 2;
    context.beginPath();
    context.moveTo(x, HEIGHT - 10);
    context.lineTo(x - 5, HEIGHT - 2);
    context.lineTo(x + 5, HEIGHT - 2);
    context.fill();
  }
  function list() {
    const rank = state.rank;
    table.replaceChildren(h("h3", {}, `rank ${count(rank)}, pipeline rank ${count(state.position)}`),
      h("table", { class: "parts" }, h("tbody", {}, columns.map((share, i) => h("tr", { class: rows[rank][i] ? null : "none" },
        h("th", { scope: "row" }, h("i", { style: { background: share.fill } }), share.name),
        h("td", {}, value(source, `detail.rank_ledger_ps.${rank}.${i}`, picoseconds)))))));
  }
  function choose(rank) {
    if (!(rank >= 0 && rank < rows.length)) return;
    Object.assign(state, { rank, position: Math.floor(rank / each) });
    chooser.value = state.position;
    number.value = rank;
    if (state.width > 0) draw();
    list();
  }
  const under = (event) => state.position * each + Math.max(0, Math.min(each - 1,
    Math.floor(((event.offsetX - LEFT) * each) / (state.width - 2 * LEFT))));
  canvas.addEventListener("pointermove", (event) => tooltip([`rank ${count(under(event))}`], event.clientX, event.clientY));
  canvas.addEventListener("pointerleave", () => tooltip(null));
  canvas.addEventListener("click", (event) => choose(under(event)));
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -each, ArrowDown: each }[event.key];
    if (!move) return;
    event.preventDefault();
    choose(state.rank + move);
  });
  number.addEventListener("change", () => choose(Math.round(Number(number.value))));
  chooser.addEventListener("change", () => choose(Number(chooser.value) * each));
  onWidth(box, (width) => ((state.width = width), draw()));
  onTheme(draw);
  list();
  return section("single", "Single ranks", "Every GPU of the job in the first step. Click a column, or type a rank.",
    h("div", { class: "controls" }, h("label", {}, "pipeline rank ", chooser), h("label", {}, "rank ", number)), box, table);
}

// One rank of a timeline: its actions and ops as columns, how they are drawn and found.
import { nanoseconds } from "./format.js";
import { ink, kindOf, laneOf } from "./palette.js";

// The first index with list[i] >= x.
function lowerBound(list, x) {
  let from = 0, to = list.length;
  while (from < to) {
    const mid = (from + to) >> 1;
    if (list[mid] < x) from = mid + 1;
    else to = mid;
  }
  return from;
}

// Actions that share time with one of another kind take half the height: forward above.
function halves(begin, end, kind) {
  const half = new Uint8Array(begin.length);
  let open = [];
  for (let i = 0; i < begin.length; ++i) {
    open = open.filter((j) => end[j] > begin[i]);
    for (const j of open)
      if (kind[i] !== kind[j]) for (const k of [i, j]) half[k] = kind[k] === "F" ? 1 : 2;
    open.push(i);
  }
  return half;
}

export function prepare(rank, data) {
  const { begin_ns: begin, end_ns: end, kind, stage, micro_batch: micro } = rank.actions;
  const stages = [...new Set(stage)].sort((a, b) => a - b);
  const row = {
    rank: rank.rank, name: rank.name, begin, end, kind, stage, micro, stages,
    half: halves(begin, end, kind), last: end.reduce((a, b) => Math.max(a, b), 0),
    opBegin: rank.ops.begin_ns, opEnd: rank.ops.end_ns, lane: rank.ops.lane, opName: rank.ops.name, opAction: rank.ops.action,
  };
  row.text = (i) => "FBIWR".includes(kind[i]) ? `${stage[i]}${kind[i]}${micro[i]}` : kindOf(kind[i]).name;
  row.describe = (i) => [`${row.text(i)} ${kindOf(kind[i]).name}`, `stage ${stage[i]}, micro-batch ${micro[i]}`,
    `${nanoseconds(begin[i])} + ${nanoseconds(end[i] - begin[i])}`];
  row.hit = (time, height) => find(row, data, time, height);
  return row;
}

export function opsBetween(row, from, to) {
  return lowerBound(row.opBegin, to) - lowerBound(row.opBegin, from);
}

function find(row, data, time, height) {
  let action;
  for (let i = 0; i < row.begin.length; ++i)
    if (row.begin[i] <= time && time < row.end[i] && (row.half[i] === 0 || (row.half[i] === 1) === height < 0.5)) action = i;
  let op;
  for (let i = Math.max(0, lowerBound(row.opBegin, time) - 40); i < row.opBegin.length && row.opBegin[i] <= time; ++i)
    if (time < row.opEnd[i] && (data.lanes[row.lane[i]] === "compute") === height < 0.62) op = i;
  const lines = action === undefined ? [] : row.describe(action);
  if (op !== undefined)
    lines.push(`op ${data.op_names[row.opName[op]]} on ${laneOf(data.lanes[row.lane[op]]).name}: ${nanoseconds(row.opEnd[op] - row.opBegin[op])}`);
  return { action, lines: lines.length ? lines : null };
}

// A later chunk of the same rank is drawn lighter.
function shade(row, i) {
  return row.stages.length < 2 ? 1 : 1 - (0.45 * row.stages.indexOf(row.stage[i])) / (row.stages.length - 1);
}

function box(context, x0, x1, y, height) {
  context.fillRect(x0, y, Math.max(0.6, x1 - x0 - (x1 - x0 > 3 ? 0.8 : 0)), height);
}

export function drawRow(context, row, data, x, y, height, near, chosen) {
  const [from, to] = x.domain();
  context.fillStyle = ink("idle");
  context.fillRect(x(0), y, x(row.last) - x(0), height);
  const font = ink("font"), paper = ink("paper");
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = 0; i < row.begin.length; ++i) {
    if (row.end[i] < from || row.begin[i] > to) continue;
    const x0 = x(row.begin[i]), x1 = x(row.end[i]);
    const half = row.half[i];
    const top = half === 2 ? y + height / 2 : y;
    const high = half ? height / 2 - 0.5 : height;
    const detailed = near && x1 - x0 > 12 && row.begin[i] < data.ops_to_ns && row.end[i] > data.ops_from_ns;
    const style = kindOf(row.kind[i]);
    context.fillStyle = paper;
    box(context, x0, x1, top, high);
    context.globalAlpha = detailed ? 0.22 : shade(row, i);
    context.fillStyle = style.fill;
    box(context, x0, x1, top, high);
    context.globalAlpha = 1;
    if (!detailed && x1 - x0 > 17 && "FBIWR".includes(row.kind[i])) {
      context.font = `${half ? 10 : 11}px ${font}`;
      context.fillStyle = shade(row, i) < 0.75 ? ink("onlight") : style.ink;
      context.fillText(String(row.micro[i]), (Math.max(x0, x(from)) + Math.min(x1, x(to))) / 2, top + high / 2 + 0.5);
    }
  }
  if (near) drawOps(context, row, data, x, y, height);
  if (chosen >= 0) {
    context.strokeStyle = ink("text");
    context.lineWidth = 2;
    context.strokeRect(x(row.begin[chosen]), y, Math.max(2, x(row.end[chosen]) - x(row.begin[chosen])), height);
  }
}

function drawOps(context, row, data, x, y, height) {
  const [from, to] = x.domain();
  context.font = `10px ${ink("font")}`;
  const first = Math.max(0, lowerBound(row.opBegin, from) - 64);
  for (let i = first; i < row.opBegin.length && row.opBegin[i] <= to; ++i) {
    if (row.opEnd[i] < from) continue;
    const x0 = x(row.opBegin[i]), x1 = x(row.opEnd[i]);
    const lane = data.lanes[row.lane[i]];
    const compute = lane === "compute";
    const style = compute ? kindOf(row.kind[row.opAction[i]]) : laneOf(lane);
    const top = compute ? y : y + height * 0.64, high = compute ? height * 0.6 : height * 0.36;
    context.fillStyle = style.fill;
    box(context, x0, x1, top, high);
    const name = data.op_names[row.opName[i]];
    if (compute && x1 - x0 > 6 * name.length) {
      context.fillStyle = style.ink;
      context.fillText(name, (x0 + x1) / 2, top + high / 2 + 0.5);
    }
  }
}

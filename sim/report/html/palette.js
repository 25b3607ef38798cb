// Colours by meaning. The hues are those of Paul Tol's "bright" and "vibrant" sets, which people with any common colour
// vision deficiency can tell apart; every coloured thing also carries a name.

// Kinds of action, as the papers on pipeline schedules draw them: forward blue, backward green.
export const kinds = {
  F: { name: "forward", fill: "#4477aa", ink: "#ffffff" },
  B: { name: "backward", fill: "#228833", ink: "#ffffff" },
  I: { name: "input gradient", fill: "#66ccee", ink: "#10202c" },
  W: { name: "weight gradient", fill: "#ccbb44", ink: "#242004" },
  R: { name: "recompute", fill: "#aa3377", ink: "#ffffff" },
  D: { name: "data parallel", fill: "#882255", ink: "#ffffff" },
  O: { name: "optimizer", fill: "#009988", ink: "#ffffff" },
};
export const kindOf = (letter) => kinds[letter] ?? { name: letter, fill: "#888888", ink: "#ffffff" };

// Lanes of a rank other than compute.
export const lanes = {
  compute: { name: "compute", fill: "#4477aa" },
  ep: { name: "experts (ep)", fill: "#cc3311" },
  tp: { name: "tensor (tp)", fill: "#ee7733" },
  cp: { name: "context (cp)", fill: "#ee99aa" },
  dp: { name: "data (dp)", fill: "#882255" },
};
export const laneOf = (name) => lanes[name] ?? { name, fill: "#888888" };

// Shares of the ledger: key in detail.shares, path in `ledger`, name, colour.
export const shares = [
  { key: "compute", path: "compute", name: "compute", fill: "#4477aa", ink: "#ffffff" },
  { key: "overlapped", path: "overlapped", name: "compute beside communication", fill: "#99bbdd", ink: "#10202c" },
  { key: "exposed_ep", path: "exposed.ep", name: "exposed, experts (ep)", fill: "#cc3311", ink: "#ffffff" },
  { key: "exposed_tp", path: "exposed.tp", name: "exposed, tensor (tp)", fill: "#ee7733", ink: "#241004" },
  { key: "exposed_cp", path: "exposed.cp", name: "exposed, context (cp)", fill: "#ee99aa", ink: "#24080e" },
  { key: "exposed_pp", path: "exposed.pp", name: "exposed, pipeline (pp)", fill: "#aa3377", ink: "#ffffff" },
  { key: "exposed_dp", path: "exposed.dp", name: "exposed, data (dp)", fill: "#661144", ink: "#ffffff" },
  { key: "imbalance", path: "imbalance", name: "imbalance wait", fill: "#ddaa33", ink: "#241a04" },
  { key: "bubble_warmup", path: "bubble.warmup", name: "bubble, warm-up", fill: "#c9c9c9", ink: "#222222" },
  { key: "bubble_drain", path: "bubble.drain", name: "bubble, drain", fill: "#b0b0b0", ink: "#222222" },
  { key: "bubble_dependency", path: "bubble.dependency", name: "bubble, dependency", fill: "#949494", ink: "#111111" },
  { key: "optimizer", path: "optimizer", name: "optimizer", fill: "#009988", ink: "#ffffff" },
];

export const memoryParts = [
  { path: "weights_bytes", name: "weights", fill: "#4477aa", ink: "#ffffff" },
  { path: "gradients_bytes", name: "gradients", fill: "#228833", ink: "#ffffff" },
  { path: "optimizer_bytes", name: "optimizer", fill: "#009988", ink: "#ffffff" },
  { path: "activations_bytes", name: "activations", fill: "#ddaa33", ink: "#241a04" },
  { path: "buffers_bytes", name: "buffers", fill: "#aa3377", ink: "#ffffff" },
];

export const provenances = [
  { path: "measured", name: "measured", fill: "#228833", ink: "#ffffff" },
  { path: "published", name: "published", fill: "#4477aa", ink: "#ffffff" },
  { path: "derived", name: "derived", fill: "#ddaa33", ink: "#241a04" },
  { path: "assumed", name: "assumed", fill: "#cc3311", ink: "#ffffff" },
];

// The page's own colours, for canvases.
export function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

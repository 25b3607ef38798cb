// The answer: how long a step is, how sure, how much of the hardware it uses, whether it fits.
import { h, section, value } from "./dom.js";
import { bar, partTable, parts } from "./bars.js";
import { count, decimal1, duration, gib, percent, percent2, ratio, text, whole } from "./format.js";
import { shares } from "./palette.js";

const plan = (source, key) => value(source, `plan.${key}`, text);

// "TP 2 · PP 8 · ..." of a result, each a number of the JSON.
export function planLine(source) {
  const sizes = [["TP", "tensor_model_parallel_size"], ["PP", "pipeline_model_parallel_size"],
    ["VPP", "num_virtual_stages_per_pipeline_rank"], ["CP", "context_parallel_size"], ["EP", "expert_model_parallel_size"],
    ["ETP", "expert_tensor_parallel_size"], ["DP", "data_parallel_size"], ["micro-batch", "micro_batch_size"],
    ["global batch", "global_batch_size"], ["sequence", "seq_length"]];
  return h("p", { class: "plan" },
    sizes.map(([name, key]) => [h("span", {}, name, " ", h("b", {}, value(source, `plan.${key}`, count))), " "]),
    h("span", {}, h("b", {}, plan(source, "schedule"))), " ", h("span", {}, h("b", {}, plan(source, "precision"))));
}

// What a measured step would be, then how the simulated ones spread.
function interval(source) {
  const predicted = source.result.prediction
    ? [h("span", {}, value(source, "prediction.low_s", duration), " to ", value(source, "prediction.high_s", duration)),
      h("br"), "where nine of ten of ", value(source, "prediction.rows", count), " measured ", value(source, "prediction.runs", text),
      " runs lay; median ", value(source, "prediction.median_error", percent), " off"]
    : ["no interval: the profile was not held against measured runs"];
  return [...predicted, h("br"), ...spread(source)];
}

function spread(source) {
  if (source.result.steps < 2) return ["one step simulated"];
  return [h("span", {}, "± ", value(source, "step_time_ci95_s", duration), " (95 %)"), h("br"),
    "steps ", value(source, "step_time_p05_s", duration), " to ", value(source, "step_time_p95_s", duration)];
}

function tile(name, number, unit, ...notes) {
  return h("div", { class: "tile" }, h("h3", {}, name),
    h("p", { class: "big" }, number, unit && h("span", { class: "unit" }, ` ${unit}`)), h("p", { class: "small" }, notes));
}

export function headline(source) {
  const { result } = source;
  const convention = String(result.plan?.flops_convention ?? "").replaceAll("_", " ");
  return h("div", { class: "tiles" },
    tile("Step time", value(source, "step_time_s", duration), "", interval(source)),
    tile("MFU", value(source, "mfu", percent), "", "of ", value(source, "bf16_peak_tflops", decimal1),
      " TFLOP/s dense BF16, without recompute; HFU ", value(source, "hfu", percent)),
    tile("Tokens", value(source, "tokens_per_s_per_gpu", whole), "/s/GPU", value(source, "tflops_per_gpu", decimal1),
      ` model TFLOP/s/GPU, ${convention}`),
    tile("Peak memory", value(source, "memory.peak_bytes", gib), "GiB", "of ",
      value(source, "memory.capacity_bytes", gib), " GiB, pipeline rank ", value(source, "memory.stage", count),
      h("br"), result.memory?.fits === false ? h("strong", { class: "bad" }, "✕ does not fit") : "✓ fits"));
}

export function title(source) {
  const { result } = source;
  return h("header", { class: "title" },
    h("h1", {}, result.plan?.experiment ?? source.name),
    h("p", { class: "sub" }, plan(source, "model"), " on ", value(source, "ranks", count), " × ", value(source, "gpu", text),
      h("span", { class: "faint" }, " (", plan(source, "topology"), ")")),
    planLine(source));
}

// Where the step goes, mean of all ranks.
export function whereItGoes(source) {
  const list = parts(source.result.ledger, shares, percent);
  const short = { compute: "compute", overlapped: "overlapped", exposed_ep: "ep", exposed_tp: "tp", exposed_cp: "cp",
    exposed_pp: "pp", exposed_dp: "dp", imbalance: "imbalance", bubble_warmup: "warm-up", bubble_drain: "drain",
    bubble_dependency: "dependency", optimizer: "optimizer" };
  for (const part of list) part.label = `${short[part.key]} ${part.text}`;
  const facts = [["expert all-to-all hidden behind compute", value(source, "ep_hidden_fraction", percent)],
    ["slowest stage over the mean stage, F + B", value(source, "stage_imbalance", (x) => `+${percent(x)}`)],
    ["busiest expert rank over the mean, average", value(source, "expert_load.imbalance_mean", (x) => `${ratio(x)} ×`)],
    ["… at its worst", value(source, "expert_load.imbalance_max", (x) => `${ratio(x)} ×`)],
    ["bubble used by the filler, per rank", value(source, "filled_bubble_s", duration)]];
  return section("where", "Where the step goes", "Mean of all ranks, as parts of the step; the parts of every rank sum to it exactly.",
    bar(list, 1, { class: "bar tall" }),
    h("div", { class: "columns" }, partTable(source, "ledger", shares, percent2, "%"),
      h("table", { class: "facts" }, h("tbody", {}, facts.map(([name, number]) =>
        h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, number)))))));
}

// Two results beside each other: what differs going in, what moved coming out, whether it means anything.
import { h, section, value } from "./dom.js";
import { bar, legend, parts } from "./bars.js";
import { duration, gib, percent, ratio, signedDuration, whole, decimal1, text } from "./format.js";
import { shares } from "./palette.js";

const LETTERS = ["A", "B"];

const meanings = {
  tie: "closer than the tie band, within which measured neighbours differ anyway",
  within: "the intervals of the two step times overlap",
  beyond: "more than the tie band, and the intervals do not overlap",
};

function headlineTable(sources) {
  const rows = [["step time", "step_time_s", duration], ["step, p05", "step_time_p05_s", duration], ["step, p95", "step_time_p95_s", duration],
    ["MFU", "mfu", percent], ["HFU", "hfu", percent], ["tokens/s/GPU", "tokens_per_s_per_gpu", whole], ["model TFLOP/s/GPU", "tflops_per_gpu", decimal1],
    ["peak memory, GiB", "memory.peak_bytes", gib], ["memory of the GPU, GiB", "memory.capacity_bytes", gib], ["GPUs", "ranks", whole],
    ["expert all-to-all hidden", "ep_hidden_fraction", percent], ["stage imbalance", "stage_imbalance", percent],
    ["expert load, busiest over mean", "expert_load.imbalance_mean", ratio]];
  return h("table", { class: "data" }, h("thead", {}, h("tr", {}, h("th", {}), LETTERS.map((letter) => h("th", { scope: "col" }, letter)))),
    h("tbody", {}, rows.map(([name, path, format]) => h("tr", {}, h("th", { scope: "row" }, name),
      sources.map((source) => h("td", {}, value(source, path, format)))))));
}

function moved(comparison) {
  const most = Math.max(1e-30, ...comparison.ledger.map((one) => Math.abs(one.by)));
  const colour = (name) => shares.find((share) => share.path === name)?.fill ?? "#888888";
  return h("table", { class: "data moved" }, h("thead", {}, h("tr", {}, ["", "A", "B", "B − A", ""].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, comparison.ledger.map((one) => {
      const { by } = one;
      return h("tr", {}, h("th", { scope: "row" }, shares.find((share) => share.path === one.name)?.name ?? one.name),
        h("td", {}, duration(one.before)), h("td", {}, duration(one.after)), h("td", {}, signedDuration(by)),
        h("td", { class: "both" }, h("i", { style: { background: colour(one.name), width: `${(Math.abs(by) / most) * 50}%`,
          left: by < 0 ? `${50 - (Math.abs(by) / most) * 50}%` : "50%" } })));
    })));
}

function changes(title, list) {
  return h("div", {}, h("h3", {}, title), list.length === 0 ? h("p", { class: "note" }, "none")
    : h("table", { class: "data changes" }, h("thead", {}, h("tr", {}, ["", "A", "B"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, list.map((one) => h("tr", {}, h("th", { scope: "row" }, one.name.replace(/^plan\./, "")),
        [one.before, one.after].map((side) => h("td", { class: "text" }, String(side || "–").slice(0, 200))))))));
}

export function compareView(sources, comparison) {
  const used = shares.filter((share) => sources.some((source) => parts(source.result.ledger, [share], percent)[0].amount > 0));
  const longest = Math.max(...sources.map((source) => source.result.step_time_s));
  const verdict = h("p", { class: "verdict" }, h("b", {}, `B takes ${percent(Math.abs(comparison.relative))} ${comparison.relative < 0 ? "less" : "more"} time than A`), ": ",
    comparison.has_interval || comparison.significance === "tie" ? meanings[comparison.significance] : "more than the tie band; each simulated one step, so there is no interval", ".");
  return [
    h("header", { class: "title" }, h("h1", {}, "A or B"),
      sources.map((source, i) => h("p", { class: "sub" }, h("b", { class: "letter" }, LETTERS[i]), " ", source.name, h("span", { class: "faint" }, " ",
        value(source, "plan.model", text), " on ", value(source, "ranks", whole), " × ", value(source, "gpu", text)))), verdict),
    section("headline", "The two results", null, headlineTable(sources)),
    section("where", "Where the steps go", "Mean of all ranks, both on one scale of time.", legend(used),
      sources.map((source, i) => h("div", { class: "row" }, h("span", { class: "name" }, LETTERS[i]), h("div", { class: "scaled" }, h("div", { style: { width: `${(source.result.step_time_s / longest) * 100}%` } },
          bar(parts(source.result.ledger, used, percent), 1, { class: "bar tall" }))),
        h("span", { class: "total" }, value(source, "step_time_s", duration)))),
      h("h3", {}, "What moved, per step"), comparison.ledger.length === 0 ? h("p", { class: "note" }, "Nothing above 0.01 % of the step.") : moved(comparison)),
    section("differs", "What differs going in", null, h("div", { class: "columns" }, changes("Settings", comparison.settings), changes("Files", comparison.inputs))),
  ];
}

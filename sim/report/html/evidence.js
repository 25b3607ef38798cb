// What the answer rests on: provenance of the costs, warnings, inputs, the plan as it ran.
import { h, section, value } from "./dom.js";
import { bar, legend, partTable, parts } from "./bars.js";
import { count, decimal1, percent, percent2, text } from "./format.js";
import { provenances } from "./palette.js";

export function warnings(source) {
  const list = source.result.warnings ?? [];
  if (source.result.sim?.partial) list.unshift("interrupted: this is the result of the steps that were complete");
  if (list.length === 0) return null;
  return h("aside", { class: "warnings", "aria-label": "warnings" }, h("h2", {}, list.length === 1 ? "A warning" : `${list.length} warnings`),
    h("ul", {}, list.map((one) => h("li", {}, one))));
}

export function evidence(source) {
  const list = parts(source.result.provenance, provenances, percent);
  for (const part of list) part.label = `${part.name} ${part.text}`;
  return section("evidence", "What the costs rest on", "Busy time by where the cost of each op comes from.",
    bar(list, 1), partTable(source, "provenance", provenances, percent2, "%"));
}

function leaves(node, path) {
  if (node === null || typeof node !== "object") return [path];
  return Object.entries(node).flatMap(([key, child]) => leaves(child, `${path}.${key}`));
}

export function inputs(source) {
  const { result } = source;
  const files = Object.keys(result.inputs ?? {});
  const paths = leaves(result.plan ?? {}, "plan").filter((path) => !path.startsWith("plan.partition."));
  const save = () => {
    const link = h("a", { href: URL.createObjectURL(new Blob([JSON.stringify(result, null, 2)], { type: "application/json" })), download: `${result.plan?.experiment ?? "result"}.json` });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return section("inputs", "Inputs", null,
    h("div", { class: "columns" },
      h("div", {}, h("h3", {}, "Plan"), h("table", { class: "facts" }, h("tbody", {}, paths.map((path) =>
        h("tr", {}, h("th", { scope: "row" }, path.slice(5).replaceAll("_", " ")), h("td", {}, value(source, path, text))))))),
      h("div", {}, h("h3", {}, "Files"), h("table", { class: "facts" }, h("tbody", {}, files.map((file) =>
        h("tr", {}, h("th", { scope: "row" }, file), h("td", {}, h("code", { title: result.inputs[file] }, result.inputs[file].slice(0, 12))))))),
      h("h3", {}, "Simulation"), h("table", { class: "facts" }, h("tbody", {},
        [["seed", value(source, "seed", text)], ["replicas of the job", value(source, "replicas.of_job", count)],
          ["replicas simulated", value(source, "replicas.simulated", count)], ["events", value(source, "sim.events", count)],
          ["rank-ops", value(source, "sim.rank_ops", count)], ["wall time, seconds", value(source, "sim.wall_s", (x) => x.toFixed(2))]]
          .map(([name, number]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, number))))),
      h("p", {}, h("button", { type: "button", onclick: save }, "Save the result as JSON")))));
}

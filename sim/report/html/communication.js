// What moves between GPUs: how much of it stands in the way, and how much and how fast each collective moves.
import { at, h, section, value } from "./dom.js";
import { decimal1, duration, gigabytes, percent } from "./format.js";
import { lanes, laneOf, shares } from "./palette.js";

const CLASSES = ["ep", "tp", "cp", "pp", "dp"];

export function communication(source) {
  const { result } = source;
  const most = Math.max(1e-9, ...CLASSES.map((name) => at(result, `ledger.exposed.${name}`) ?? 0));
  const exposed = h("table", { class: "data" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "exposed, mean of all ranks"), h("th", { scope: "col" }, "of the step"), h("th", {}))),
    h("tbody", {}, CLASSES.map((name) => {
      const share = shares.find((one) => one.key === `exposed_${name}`);
      const part = at(result, `ledger.exposed.${name}`) ?? 0;
      return h("tr", {}, h("th", { scope: "row" }, lanes[name]?.name ?? "pipeline (pp)"),
        h("td", {}, value(source, `ledger.exposed.${name}`, percent)),
        h("td", { class: "gauge" }, h("i", { style: { background: share.fill, width: `${(part / most) * 100}%` } })));
    })));
  const traffic = result.traffic ?? [];
  const slowest = Math.max(...traffic.map((row) => row.alone_s));
  const rows = traffic.map((row, i) => h("tr", {},
    h("th", { scope: "row" }, h("i", { class: "swatch", style: { background: laneOf(row.lane).fill } }), row.collective.replaceAll("_", " ")),
    h("td", {}, value(source, `traffic.${i}.bytes_per_rank`, gigabytes)), h("td", {}, value(source, `traffic.${i}.gb_per_s`, decimal1)),
    h("td", {}, value(source, `traffic.${i}.alone_s`, duration)),
    h("td", { class: "gauge" }, h("i", { style: { background: laneOf(row.lane).fill, width: `${(row.alone_s / slowest) * 100}%` } }))));
  return section("communication", "Communication",
    ["Communication that no compute hides, by what it is for; ", value(source, "ep_hidden_fraction", percent), " of the expert all-to-all is hidden."],
    exposed,
    rows.length > 0 && [h("table", { class: "data gap" },
      h("thead", {}, h("tr", {}, ["collective and reach, per GPU and step", "sent, GB", "GB/s", "alone", ""].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows)),
    h("p", { class: "note" }, "Collectives inside layers, at balanced load and with nothing beside them, mean of all ranks. Gradient reduction, messages between stages and exchanges hidden inside an op are not listed.")]);
}

// Stacked bars of plain elements: they follow the width of the page and print as they look.
import { at, h, tooltip, value } from "./dom.js";

// One bar. parts: [{name, fill, ink, amount, text}]; `full` is the amount of the whole width.
export function bar(parts, full, attributes = {}) {
  const cells = parts.filter((part) => part.amount > 0).map((part) => {
    const wide = part.amount / full;
    return h("span", {
      class: "cell", style: { width: `${wide * 100}%`, background: part.fill, color: part.ink },
      onpointermove: (event) => tooltip([part.name, part.text], event.clientX, event.clientY),
      onpointerleave: () => tooltip(null),
    }, wide > 0.01 && h("span", { class: "label" }, part.label ?? part.text));
  });
  return h("div", { class: "bar", role: "img", ...attributes,
    "aria-label": parts.filter((part) => part.amount > 0).map((part) => `${part.name} ${part.text}`).join(", ") }, cells);
}

// The parts of a bar from a place in a result.
export function parts(node, shares, format) {
  return shares.map((share) => ({ ...share, amount: at(node, share.path) ?? 0, text: format(at(node, share.path) ?? 0) }));
}

// Swatch, name and number of each part, those without a share left out.
export function legend(items) {
  return h("ul", { class: "legend" }, items.map((item) =>
    h("li", {}, h("i", { style: { background: item.fill } }), item.name)));
}

// A table row per part: swatch, name, number of the JSON.
export function partTable(source, base, shares, format, unit) {
  return h("table", { class: "parts" },
    h("tbody", {}, shares.map((share) => h("tr", { class: at(source.result, `${base}.${share.path}`) ? null : "none" },
      h("th", { scope: "row" }, h("i", { style: { background: share.fill } }), share.name),
      h("td", {}, value(source, `${base}.${share.path}`, format), unit && h("span", { class: "unit" }, ` ${unit}`))))));
}

// Rows of bars with a name on the left and a number on the right, an axis below.
export function barRows(rows, ticks) {
  return h("div", { class: "rows" },
    rows.map((row) => h("div", { class: "row" }, h("span", { class: "name" }, row.name), row.bar,
      row.total && h("span", { class: "total" }, row.total))),
    h("div", { class: "row axis", "aria-hidden": "true" }, h("span", { class: "name" }),
      h("div", { class: "ticks" }, ticks.map((tick) => h("span", { style: { left: `${tick.at * 100}%` } }, tick.text))),
      rows.some((row) => row.total) && h("span", { class: "total" })));
}

// Elements from text that is never markup: names from a user's file go in as text nodes only.

// h("p", {class: "note", onclick: f}, "text", child, [more]) -> HTMLElement
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A number of a result with its place in the JSON, so that anyone can check one against the other.
// value(source, "ledger.exposed.ep", percent): the text of that number
export function value(source, path, format) {
  const raw = at(source.result, path);
  return h("span", { class: "num", "data-result": source.index, "data-path": path, "data-value": JSON.stringify(raw) },
    raw === null || raw === undefined ? "–" : format(raw));
}

// at({a: {b: [5]}}, "a.b.0") -> 5; undefined where there is nothing.
export function at(root, path) {
  return path.split(".").reduce((node, key) => (node === null || node === undefined ? undefined : node[key]), root);
}

// A section of the page with its heading, a sentence on how to read it, and its views.
export function section(id, title, lead, ...children) {
  return h("section", { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title), lead && h("p", { class: "lead" }, lead), children);
}

// Calls draw(width) now and whenever the element's width changes.
export function onWidth(element, draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(element.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    requestAnimationFrame(() => draw(width)); // drawing at once would change sizes under the observer
  }).observe(element);
}

// Calls draw when the colours of the page change.
export function onTheme(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

// A canvas with sharp pixels: returns its 2d context scaled to CSS pixels.
export function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

let tip = null;

// Shows lines of text near the pointer; none hides it.
export function tooltip(lines, x, y) {
  if (!tip) document.body.append((tip = h("div", { class: "tip", role: "tooltip" })));
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.map((line, i) => h(i === 0 ? "strong" : "div", {}, line)));
  const width = tip.offsetWidth;
  tip.style.left = `${Math.max(4, Math.min(x + 14, document.documentElement.clientWidth - width - 8))}px`;
  tip.style.top = `${y + 16 + tip.offsetHeight > window.innerHeight ? y - tip.offsetHeight - 10 : y + 16}px`;
}

// The page: one result in full, or two compared and then each in full.
import { h } from "./dom.js";
import { headline, title, whereItGoes } from "./headline.js";
import { byPipelineRank, memory, stageTimes } from "./stages.js";
import { singleRanks } from "./ranks.js";
import { timeline } from "./timeline.js";
import { closeup } from "./closeup.js";
import { communication } from "./communication.js";
import { expertLoads } from "./loads.js";
import { stepTimes } from "./steps.js";
import { evidence, inputs, warnings } from "./evidence.js";
import { compareView } from "./compare.js";

const VIEWS = [whereItGoes, byPipelineRank, timeline, closeup, memory, stageTimes, communication, expertLoads, singleRanks, stepTimes, evidence, inputs];

function contents(sections) {
  return h("nav", { "aria-label": "contents" }, sections.map((one) =>
    h("a", { href: `#${one.id}` }, one.querySelector("h2").textContent)));
}

function single(source) {
  const sections = VIEWS.map((view) => view(source)).filter(Boolean);
  return [title(source), headline(source), warnings(source), contents(sections), sections];
}

// Ids of the second result's sections must differ from the first's.
function apart(root, prefix) {
  for (const element of root.querySelectorAll("[id]")) element.id = prefix + element.id;
  for (const element of root.querySelectorAll("[aria-labelledby]")) element.setAttribute("aria-labelledby", prefix + element.getAttribute("aria-labelledby"));
  for (const element of root.querySelectorAll("nav a")) element.setAttribute("href", `#${prefix}${element.getAttribute("href").slice(1)}`);
  return root;
}

function page(data) {
  const sources = data.results.map((one, index) => ({ ...one, index }));
  document.title = `${sources.map((source) => source.result.plan?.experiment ?? source.name).join(" / ")} – Tessella`;
  if (sources.length === 1) return single(sources[0]).flat(2);
  return [...compareView(sources, data.comparison), ...sources.map((source, i) =>
    h("details", { class: "whole" }, h("summary", {}, `${"AB"[i]} in full: ${source.name}`),
      apart(h("div", {}, single(source).flat(2)), "ab"[i] + "-")))].flat(2);
}

document.getElementById("main").replaceChildren(...page(JSON.parse(document.getElementById("data").textContent)).filter(Boolean));

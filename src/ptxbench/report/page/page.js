"use strict";
// The page of a report. Counts are added up here from single turns, by the rules of src/ptxbench/report/metrics.h: what is
// not known enters no rate.
const data = JSON.parse(document.getElementById("data").textContent);
const ATTRIBUTES = ["model", "target", "task", "workload", "pack", "language", "run", "family", "head_dim", "heads"];
const DEFAULT_GROUP = ["model", "target", "task"];
const byId = (id) => document.getElementById(id);
const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// ---- Numbers ----

function wilson(successes, n) {
  if (n <= 0) return [0, 1];
  const z = 1.959963984540054, rate = successes / n, scale = 1 + z * z / n;
  const centre = rate + z * z / (2 * n), half = z * Math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n));
  return [successes === 0 ? 0 : (centre - half) / scale, successes === n ? 1 : (centre + half) / scale];
}

function median(values) {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b), place = (sorted.length - 1) / 2, low = Math.floor(place);
  return sorted[low] + (place - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}

const valueOf = (t, attribute) =>
  attribute === "pack" ? data.trajectories.pack[t] : data.cells[data.trajectories.cell[t]][attribute];

// First turn of every trajectory in the columns, and one past the last.
const starts = (() => {
  const at = new Array(data.trajectories.id.length + 1).fill(0);
  for (const t of data.turns.trajectory) ++at[t + 1];
  for (let t = 0; t < data.trajectories.id.length; ++t) at[t + 1] += at[t];
  return at;
})();

const correctOf = (i, rules) => data.turns["correct_" + rules][i];
function targetOf(i, rules) {
  const correct = correctOf(i, rules), target = data.turns["target_" + rules][i];
  if (correct === 0 || target === 0) return 0;
  return correct === 1 && target === 1 ? 1 : -1;
}

const emptyRate = () => ({successes: 0, n: 0, unknown: 0});
function addTo(rate, truth) {
  if (truth < 0) { ++rate.unknown; return; }
  ++rate.n;
  rate.successes += truth;
}

// Within the first k turns of these trajectories.
function measure(trajectories, k, rules) {
  const m = {trajectories: trajectories.length, planned: 0, present: 0, speedups: [], best: null, bestTarget: null,
             rates: {trajectory: {correct: emptyRate(), target: emptyRate()}, turn: {correct: emptyRate(), target: emptyRate()}}};
  for (const t of trajectories) {
    let correct = 0, target = 0, present = 0;
    const planned = Math.min(k, data.trajectories.planned[t]);
    for (let i = starts[t]; i < starts[t + 1] && data.turns.turn[i] <= k; ++i) {
      ++present;
      const c = correctOf(i, rules), g = targetOf(i, rules), speedup = data.turns.speedup[i];
      correct = correct === 1 || c === 1 ? 1 : Math.min(correct, c);
      target = target === 1 || g === 1 ? 1 : Math.min(target, g);
      addTo(m.rates.turn.correct, c);
      addTo(m.rates.turn.target, g);
      if (c !== 1 || speedup === null) continue;
      m.speedups.push(speedup);
      m.best = m.best === null ? speedup : Math.max(m.best, speedup);
      if (g === 1) m.bestTarget = m.bestTarget === null ? speedup : Math.max(m.bestTarget, speedup);
    }
    const missing = Math.max(0, planned - present), open = data.trajectories.open[t] === 1;
    m.rates.turn.correct[open ? "unknown" : "n"] += missing;
    m.rates.turn.target[open ? "unknown" : "n"] += missing;
    if (open && missing > 0) {
      correct = correct === 1 ? 1 : -1;
      target = target === 1 ? 1 : -1;
    }
    m.planned += planned;
    m.present += present;
    addTo(m.rates.trajectory.correct, correct);
    addTo(m.rates.trajectory.target, target);
  }
  return m;
}

// ---- State, kept in the address ----

const state = {only: {}, success: "correct", kind: "trajectory", rules: "paper", k: 8, by: [...DEFAULT_GROUP], sort: "",
               down: false, open: "", detail: "", dark: matchMedia("(prefers-color-scheme: dark)").matches};

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of ["success", "kind", "rules", "sort", "open", "detail"]) if (given.has(key)) state[key] = given.get(key);
  if (given.has("k")) state.k = Math.min(8, Math.max(1, Number(given.get("k")) || 8));
  if (given.has("by")) state.by = given.get("by").split(",").filter((name) => ATTRIBUTES.includes(name));
  if (given.has("dark")) state.dark = given.get("dark") === "1";
  state.down = given.get("down") === "1";
  for (const name of ATTRIBUTES) state.only[name] = given.getAll(name);
}

function writeAddress() {
  const given = new URLSearchParams();
  for (const key of ["success", "kind", "rules", "k", "sort", "open", "detail"]) if (state[key] !== "") given.set(key, state[key]);
  given.set("by", state.by.join(","));
  given.set("dark", state.dark ? "1" : "0");
  if (state.down) given.set("down", "1");
  for (const name of ATTRIBUTES) for (const value of state.only[name]) given.append(name, value);
  history.replaceState(null, "", "#" + given);
}

const selected = () => [...data.trajectories.id.keys()].filter(
  (t) => ATTRIBUTES.every((name) => state.only[name].length === 0 || state.only[name].includes(valueOf(t, name))));

function groupsOf(trajectories, by) {
  const groups = new Map();
  for (const t of trajectories) {
    const key = by.map((name) => valueOf(t, name)), text = JSON.stringify(key);
    if (!groups.has(text)) groups.set(text, {key, trajectories: []});
    groups.get(text).trajectories.push(t);
  }
  return [...groups.values()];
}

// ---- Tables ----

const shown = (value, digits = 3) => value === null ? "" : value.toFixed(digits);

function rateCell(rate) {
  const cell = element("td", undefined, {class: "rate"});
  if (rate.n === 0) {
    cell.textContent = `not known (${rate.unknown})`;
    cell.className = "rate unknown";
    return cell;
  }
  const [low, high] = wilson(rate.successes, rate.n), value = rate.successes / rate.n;
  const bar = element("span", undefined, {class: "bar", "aria-hidden": "true"});
  const range = element("i"), mark = element("b");
  range.style.left = 100 * low + "%";
  range.style.width = 100 * (high - low) + "%";
  mark.style.left = 100 * value + "%";
  bar.append(range, mark);
  cell.append(bar, ` ${(100 * value).toFixed(1)} % [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}], ${rate.successes}/${rate.n}` +
                   (rate.unknown > 0 ? `, ${rate.unknown} not known` : ""));
  return cell;
}

function overview() {
  const rows = groupsOf(selected(), state.by).map((group) => ({group, m: measure(group.trajectories, state.k, state.rules)}));
  const rate = (row) => row.m.rates[state.kind][state.success];
  const share = (row) => rate(row).n === 0 ? -1 : rate(row).successes / rate(row).n;
  const columns = [
    ...state.by.map((name, i) => ({name, sort: (row) => row.group.key[i], cell: (row) => element("td", row.group.key[i])})),
    {name: "trajectories", number: true, sort: (row) => row.m.trajectories, cell: (row) => element("td", row.m.trajectories, {class: "number"})},
    {name: state.success + " " + (state.kind === "turn" ? "of planned turns" : "trajectories"), sort: share, cell: (row) => rateCell(rate(row))},
    {name: "best speed-up", number: true, sort: (row) => row.m.best ?? -1, cell: (row) => element("td", shown(row.m.best), {class: "number"})},
    {name: "best by target", number: true, sort: (row) => row.m.bestTarget ?? -1, cell: (row) => element("td", shown(row.m.bestTarget), {class: "number"})},
    {name: "median speed-up", number: true, sort: (row) => median(row.m.speedups) ?? -1, cell: (row) => element("td", shown(median(row.m.speedups)), {class: "number"})},
  ];
  const by = columns.find((column) => column.name === state.sort);
  if (by) rows.sort((a, b) => {
    const x = by.sort(a), y = by.sort(b), order = typeof x === "string" ? x.localeCompare(y) : x - y;
    return state.down ? -order : order;
  });
  const head = element("tr");
  for (const column of columns) {
    const sorted = column.name === state.sort;
    const th = element("th", undefined, {scope: "col", "aria-sort": sorted ? (state.down ? "descending" : "ascending") : "none"});
    if (column.number) th.className = "number";
    const button = element("button", column.name + (sorted ? (state.down ? " ↓" : " ↑") : ""), {type: "button"});
    button.addEventListener("click", () => {
      state.down = sorted ? !state.down : false;
      state.sort = column.name;
      update();
    });
    th.append(button);
    head.append(th);
  }
  head.append(element("th", "", {scope: "col"}));
  const body = element("tbody");
  for (const row of rows) {
    const tr = element("tr");
    for (const column of columns) tr.append(column.cell(row));
    const open = element("button", "trajectories", {type: "button"});
    open.addEventListener("click", () => { state.open = JSON.stringify(row.group.key); state.detail = ""; byId("detail").replaceChildren(); update(); byId("drillTitle").scrollIntoView(); });
    const cell = element("td");
    cell.append(open);
    tr.append(cell);
    body.append(tr);
  }
  const thead = element("thead");
  thead.append(head);
  byId("overview").replaceChildren(element("caption", `${rows.length} group${rows.length === 1 ? "" : "s"}, within ${state.k} turns, ${state.rules} rules`), thead, body);
  const chosen = selected();
  byId("counted").textContent = `${chosen.length} ${chosen.length === 1 ? "trajectory" : "trajectories"}, ${chosen.reduce((sum, t) => sum + starts[t + 1] - starts[t], 0)} turns`;
}

function csvOf(table) {
  const quote = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return [...table.rows].map((row) => [...row.cells].slice(0, -1).map((cell) => quote(cell.textContent.trim())).join(",")).join("\n") + "\n";
}

// ---- Drill-down ----

const details = new Map();
window.ptxbenchDetail = (number, detail) => { details.get(number)?.(detail); };
// A file of the page's folder. Scripts are what a page may read from a file path.
function loadScript(name) {
  return new Promise((resolve, reject) => {
    const src = `${DETAILS.folder}/${name}`, script = element("script", undefined, {src});
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(`${src} cannot be read: keep that folder beside the page`)));
    document.head.append(script);
  });
}
function loadDetail(number) {
  return new Promise((resolve, reject) => {
    details.set(number, resolve);
    loadScript(`${number}.js`).catch(reject);
  });
}

// CUDA C++ as highlight.js knows C++, with CUDA's words and the PTX inside of asm().
function cudaLanguage(hljs) {
  const cpp = hljs.requireLanguage("cpp").rawDefinition();
  cpp.keywords.keyword += " __global__ __device__ __host__ __shared__ __constant__ __grid_constant__ __forceinline__ __noinline__ __launch_bounds__ __cluster_dims__ __restrict__";
  cpp.keywords.built_in += " threadIdx blockIdx blockDim gridDim __syncthreads __syncwarp";
  const ptx = {className: "string", begin: '"', end: '"', contains: [
    {begin: /\\[^]/}, {className: "comment", begin: /\/\/[^"\n\\]*/}, {className: "variable", begin: /%\w+/},
    {className: "built_in", begin: /\b[a-z][a-z0-9]*(?:(?:\.|::)[a-z0-9_]+)+/}]};
  cpp.contains.unshift({begin: /\basm\b(?=\s*(?:volatile\s*)?\()/, end: /\)\s*;/, keywords: "asm volatile",
    contains: [hljs.C_LINE_COMMENT_MODE, hljs.C_BLOCK_COMMENT_MODE, ptx, hljs.C_NUMBER_MODE]});
  return {...cpp, aliases: []};
}
let highlighter;
const loadHighlighter = () => highlighter ??= loadScript("highlight.min.js").then(() => hljs.registerLanguage("cuda", cudaLanguage));
function highlighted(source, language) {
  const pre = element("pre", source, {tabindex: "0"});
  loadHighlighter().then(() => { pre.innerHTML = hljs.highlight(language === "cuda" ? "cuda" : "python", source, true).value; })
    .catch(() => {});  // the text stands there without colours
  return pre;
}

// Lines that are common to both in order, by the longest common subsequence; equal beginnings and ends are left out of it.
function difference(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) ++head;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) ++tail;
  const x = a.slice(head, a.length - tail), y = b.slice(head, b.length - tail);
  const pre = element("pre", undefined, {tabindex: "0"});
  const add = (text, kind) => pre.append(element("span", (kind === "add" ? "+ " : kind === "del" ? "- " : "  ") + text + (kind ? "" : "\n"), kind ? {class: kind} : {}));
  if (x.length * y.length > 4e6) {
    for (const line of x) add(line, "del");
    for (const line of y) add(line, "add");
    return pre;
  }
  const common = Array.from({length: x.length + 1}, () => new Uint32Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; --i)
    for (let j = y.length - 1; j >= 0; --j) common[i][j] = x[i] === y[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  for (const line of a.slice(Math.max(0, head - 3), head)) add(line);
  for (let i = 0, j = 0; i < x.length || j < y.length;) {
    if (i < x.length && j < y.length && x[i] === y[j]) { add(x[i]); ++i; ++j; }
    else if (j >= y.length || (i < x.length && common[i + 1][j] >= common[i][j + 1])) add(x[i++], "del");
    else add(y[j++], "add");
  }
  for (const line of b.slice(b.length - tail, b.length - tail + 3)) add(line);
  return pre;
}

// What is folded is made when it is opened for the first time: kernels are long, and their differences cost time.
function folded(title, make, open = false) {
  const box = element("details");
  box.append(element("summary", title));
  let made = false;
  const fill = () => {
    if (!made) box.append(make());
    made = true;
  };
  if (open) fill();
  box.open = open;
  box.addEventListener("toggle", () => { if (box.open) fill(); });
  return box;
}

async function showDetail(number) {
  const place = byId("detail");
  place.replaceChildren(element("p", "reading ..."));
  let detail;
  try {
    detail = await loadDetail(number);
  } catch (problem) {
    place.replaceChildren(element("p", problem.message, {role: "alert"}));
    return;
  }
  place.replaceChildren(element("h3", `Trajectory ${detail.id}`));
  const language = valueOf(number, "language"), text = (content) => () => element("pre", content, {tabindex: "0"});
  let before = null;
  for (const turn of detail.turns) {
    const last = before, show = () => {
      const content = element("div");
      content.append(element("p", turn.extraction));
      if (turn.source !== null) {
        content.append(folded("Kernel", () => highlighted(turn.source, language), last === null));
        if (last !== null) content.append(folded("Difference to the kernel before", () => difference(last, turn.source), true));
      }
      if (turn.feedback) content.append(folded("Feedback as the model saw it", text(turn.feedback)));
      for (const verdict of turn.verdicts) content.append(folded(`Verdict: ${verdict.status}`, text(JSON.stringify(verdict, null, 1))));
      content.append(folded("Answer", text(turn.answer)));
      if (turn.reasoning) content.append(folded("Reasoning", text(turn.reasoning)));
      return content;
    };
    if (turn.source !== null) before = turn.source;
    place.append(folded(`Turn ${turn.turn}: ${turn.status}`, show, turn === detail.turns[detail.turns.length - 1]));
  }
}

function drill() {
  const group = state.open === "" ? undefined : groupsOf(selected(), state.by).find((one) => JSON.stringify(one.key) === state.open);
  byId("drill").hidden = group === undefined;
  if (group === undefined) return;
  byId("drillTitle").textContent = "Trajectories: " + group.key.join(", ");
  const head = element("tr");
  for (const name of ["trajectory", "run", "pack", "turns", ""]) head.append(element("th", name, {scope: "col"}));
  const body = element("tbody");
  for (const t of group.trajectories) {
    const turns = element("td");
    for (let i = starts[t]; i < starts[t + 1]; ++i) {
      const passed = correctOf(i, state.rules) === 1, speedup = data.turns.speedup[i];
      turns.append(element("span", data.statuses[data.turns.status[i]] + (speedup === null ? "" : " " + speedup.toFixed(2)), {class: passed ? "chip good" : "chip"}));
    }
    const last = element("td");
    if (!DETAILS.of.includes(t)) {
      last.textContent = "no transcript";
    } else {
      const open = element("button", "kernels", {type: "button"});
      open.addEventListener("click", () => { state.detail = String(t); writeAddress(); showDetail(t); });
      last.append(open);
    }
    const tr = element("tr");
    tr.append(element("td", data.trajectories.id[t]), element("td", valueOf(t, "run")), element("td", valueOf(t, "pack")), turns, last);
    body.append(tr);
  }
  const thead = element("thead");
  thead.append(head);
  byId("trajectories").replaceChildren(thead, body);
}

// ---- Plots ----

// More than the library's ten, which come first: the paper's tables hold thirteen models.
const COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf",
                 "#5b6ad0", "#7fa63a", "#c4566a", "#b06ab3", "#4aa3df", "#c9962e"];
function draw(id, traces, layout, description) {
  if (window.Plotly === undefined) {
    const script = element("script");
    script.textContent = byId("plotting").textContent;
    document.head.append(script);
  }
  const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink"), line = style.getPropertyValue("--line");
  const axis = {gridcolor: line, zerolinecolor: line}, empty = traces.every((trace) => (trace.x ?? trace.link.value).length === 0);
  if (empty) layout = {xaxis: {visible: false}, yaxis: {visible: false}, annotations: [{xref: "paper", yref: "paper", x: 0.5, y: 0.5, showarrow: false, text: "nothing known to show here"}]};
  Plotly.react(id, traces, {paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {color: ink}, colorway: COLOURS, margin: {t: 20}, modebar: {bgcolor: "rgba(0,0,0,0)", color: ink, activecolor: ink},
    ...layout, xaxis: {...axis, ...layout.xaxis}, yaxis: {...axis, ...layout.yaxis}},
    {displaylogo: false, responsive: true, showSendToCloud: false, toImageButtonOptions: {format: "svg", filename: "ptxbench-" + id}});
  byId(id).setAttribute("role", "img");
  byId(id).setAttribute("aria-label", description);
}

const rateLabel = () => `${state.success}, ${state.kind === "turn" ? "share of planned turns" : "share of trajectories"}`;

const PLOTS = {
  rates(chosen) {
    const models = groupsOf(chosen, ["model"]);
    draw("rates", models.map((group, place) => {
      const points = [1, 2, 3, 4, 5, 6, 7, 8].map((k) => measure(group.trajectories, k, state.rules).rates[state.kind][state.success]).map(
        (rate, i) => ({k: i + 1, rate: rate.n === 0 ? null : rate.successes / rate.n, interval: wilson(rate.successes, rate.n)}));
      return {name: group.key[0], mode: "lines+markers", x: points.map((p) => p.k + 0.04 * (place - models.length / 2)), y: points.map((p) => p.rate),
        error_y: {type: "data", symmetric: false, thickness: 1, array: points.map((p) => p.rate === null ? 0 : p.interval[1] - p.rate),
                  arrayminus: points.map((p) => p.rate === null ? 0 : p.rate - p.interval[0])}};
    }), {xaxis: {title: {text: "within the first k turns"}}, yaxis: {title: {text: rateLabel()}, range: [0, 1]}},
    `Lines of ${models.length} models: ${rateLabel()} within 1 to 8 turns, with 95 % intervals. The overview table holds the figures.`);
  },
  speed(chosen) {
    const dated = groupsOf(chosen, ["model", "target"]).map((group) => ({group, cell: data.cells[data.trajectories.cell[group.trajectories[0]]],
      best: measure(group.trajectories, state.k, state.rules)[state.success === "target" ? "bestTarget" : "best"]})).filter((point) => point.cell.date !== "" && point.best !== null);
    const targets = [...new Set(dated.map((point) => point.group.key[1]))], kinds = [...new Set(dated.map((point) => point.cell.date_kind))];
    const lines = data.references.filter((one) => targets.includes(one.target));
    const what = {knowledge: "knowledge date", release: "release date", "not stated": "knowledge or release date"};
    const days = [...dated.map((point) => point.cell.date), ...lines.map((one) => one.date)].map((date) => Date.parse(date)), margin = 60 * 864e5;
    const symbols = ["circle", "diamond", "square", "cross"], symbol = (target) => symbols[targets.indexOf(target) % symbols.length];
    draw("speed", [...new Set(dated.map((point) => point.group.key[0]))].map((model) => {
      const own = dated.filter((point) => point.group.key[0] === model);
      return {name: model, mode: "markers", x: own.map((p) => p.cell.date), y: own.map((p) => p.best), marker: {size: 9, symbol: own.map((p) => symbol(p.group.key[1]))},
              text: own.map((p) => `${model} on ${p.group.key[1]}, ${what[p.cell.date_kind]}`), hovertemplate: "%{text}<br>%{x}: %{y:.3f}<extra></extra>"};
    }), {xaxis: {type: "date", title: {text: kinds.map((kind) => what[kind]).join(" or ") + " of the model"},
                 range: days.length === 0 ? undefined : [Math.min(...days) - margin, Math.max(...days) + margin]},
         yaxis: {title: {text: "best speed-up"}, rangemode: "tozero"},
         legend: {title: {text: targets.map((target) => `${symbol(target)}: ${target}`).join("<br>")}},
         shapes: [{type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: {dash: "dot", color: "gray"}},
                  ...lines.map((one) => ({type: "line", yref: "paper", x0: one.date, x1: one.date, y0: 0, y1: 1, line: {dash: one.kind === "library" ? "dot" : "dash", color: "gray"}}))],
         annotations: lines.map((one) => ({x: one.date, yref: "paper", y: 0.02, yanchor: "bottom", xanchor: "right", textangle: -90, showarrow: false, text: one.name}))},
    `Best speed-up of ${dated.length} pairs of model and target by date; the horizontal line is the vendor's library.` +
    (lines.length === 0 ? "" : ` Vertical lines: ${lines.map((one) => `${one.name} ${one.date}`).join(", ")}.`));
  },
  flow(chosen) {
    const flow = new Map();
    for (const t of chosen)
      for (let i = starts[t]; i + 1 < starts[t + 1]; ++i) {
        const key = data.turns.status[i] * 100 + data.turns.status[i + 1];
        flow.set(key, (flow.get(key) ?? 0) + 1);
      }
    const n = data.statuses.length, keys = [...flow.keys()];
    draw("flow", keys.length === 0 ? [] : [{type: "sankey", node: {label: [...data.statuses, ...data.statuses], pad: 12},
      link: {source: keys.map((key) => Math.floor(key / 100)), target: keys.map((key) => n + key % 100), value: keys.map((key) => flow.get(key)),
             color: keys.map(() => "rgba(128,128,140,0.35)")}}], {},
    "Flow from the status of a turn (left) to that of the next turn (right).");
  },
  tokens(chosen) {
    const turns = chosen.flatMap((t) => Array.from({length: starts[t + 1] - starts[t]}, (_, i) => starts[t] + i))
      .filter((i) => correctOf(i, state.rules) === 1 && data.turns.speedup[i] !== null && data.turns.reasoning_tokens[i] !== null);
    draw("tokens", groupsOf(chosen, ["model"]).map((group) => {
      const own = turns.filter((i) => valueOf(data.turns.trajectory[i], "model") === group.key[0]);
      return {name: group.key[0], type: turns.length > 20000 ? "scattergl" : "scatter", mode: "markers", marker: {size: 5, opacity: 0.6},
              x: own.map((i) => data.turns.reasoning_tokens[i]), y: own.map((i) => data.turns.speedup[i])};
    }).filter((trace) => trace.x.length > 0), {xaxis: {title: {text: "reasoning tokens of the turn"}, rangemode: "tozero"}, yaxis: {title: {text: "speed-up of the correct turn"}, rangemode: "tozero"}},
    `${turns.length} correct turns: reasoning tokens against speed-up.`);
  },
  ladder(chosen) {
    const packs = groupsOf(chosen, ["pack"]).sort((a, b) => a.key[0].localeCompare(b.key[0]));
    const rungs = packs.map((group) => measure(group.trajectories, state.k, state.rules).rates[state.kind][state.success]);
    draw("ladder", [{type: "bar", x: packs.map((group) => group.key[0]), y: rungs.map((rate) => rate.n === 0 ? null : rate.successes / rate.n),
      error_y: {type: "data", symmetric: false, array: rungs.map((rate) => rate.n === 0 ? 0 : wilson(rate.successes, rate.n)[1] - rate.successes / rate.n),
                arrayminus: rungs.map((rate) => rate.n === 0 ? 0 : rate.successes / rate.n - wilson(rate.successes, rate.n)[0])}}],
    {xaxis: {type: "category"}, yaxis: {title: {text: rateLabel()}, range: [0, 1]}}, `Rates of ${packs.length} knowledge packs with 95 % intervals.`);
  },
};

// A plot is drawn when it comes into view, so that the tables are there at once.
const stale = new Set(), inView = new Set();
function drawInView(names) {
  const due = names.filter((name) => stale.has(name));
  if (due.length === 0) return;
  const chosen = selected();
  for (const name of due) {
    PLOTS[name](chosen);
    stale.delete(name);
  }
}
const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) entry.isIntersecting ? inView.add(entry.target.id) : inView.delete(entry.target.id);
  setTimeout(() => drawInView([...inView]));
}, {rootMargin: "100px"});

// ---- Controls ----

function controls() {
  for (const name of ["model", "target", "task", "pack", "language", "run"]) {
    const values = [...new Set([...data.trajectories.id.keys()].map((t) => valueOf(t, name)))].sort();
    if (values.length < 2) continue;
    const label = element("label", name + " "), select = element("select", undefined, {"data-attribute": name});
    select.append(element("option", "all", {value: ""}));
    for (const value of values) select.append(element("option", value, {value}));
    select.value = state.only[name][0] ?? "";
    select.addEventListener("change", () => { state.only[name] = select.value === "" ? [] : [select.value]; update(); });
    label.append(select);
    byId("filters").append(label);
    byId("filters").hidden = false;
  }
  for (const name of ATTRIBUTES) {
    const label = element("label"), box = element("input", undefined, {type: "checkbox", "data-group": name});
    box.checked = state.by.includes(name);
    box.addEventListener("change", () => { state.by = ATTRIBUTES.filter((one) => document.querySelector(`[data-group=${one}]`).checked); state.open = ""; update(); });
    label.append(box, " " + name);
    byId("grouping").append(label);
  }
  for (const id of ["success", "kind", "rules"]) {
    byId(id).value = state[id];
    byId(id).addEventListener("change", () => { state[id] = byId(id).value; update(); });
  }
  byId("k").value = state.k;
  byId("k").addEventListener("input", () => { state.k = Number(byId("k").value); update(); });
  byId("theme").addEventListener("click", () => { state.dark = !state.dark; update(); });
  byId("reset").addEventListener("click", () => { location.hash = ""; });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-table]"))
    button.addEventListener("click", () => {
      const link = element("a", undefined, {download: `ptxbench-${button.dataset.table}.csv`,
        href: URL.createObjectURL(new Blob([csvOf(byId(button.dataset.table))], {type: "text/csv"}))});
      link.click();
    });
}

// Plotly's own buttons cannot be reached by keyboard.
for (const name of Object.keys(PLOTS)) {
  const save = element("button", "Save as SVG", {type: "button", class: "export"});
  save.addEventListener("click", () => {
    drawInView([name]);
    Plotly.downloadImage(name, {format: "svg", filename: "ptxbench-" + name, width: 1200, height: 600});
  });
  byId(name).after(save);
}

let drawing = 0;
function update() {
  document.documentElement.dataset.theme = state.dark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(state.dark));
  byId("kValue").textContent = state.k;
  writeAddress();
  overview();
  drill();
  for (const name of Object.keys(PLOTS)) stale.add(name);
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => setTimeout(() => drawInView([...inView])));
}

// An address that was pasted, or gone back to. The page's own changes do not cause this.
addEventListener("hashchange", () => location.reload());

byId("source").textContent = data.source;
for (const note of data.notes) byId("notes").append(element("li", note));
readAddress();
controls();
update();
for (const name of Object.keys(PLOTS)) observer.observe(byId(name));
// On paper everything is light, and every plot is there.
function drawFor(theme) {
  document.documentElement.dataset.theme = theme;
  for (const name of Object.keys(PLOTS)) stale.add(name);
  drawInView(Object.keys(PLOTS));
}
addEventListener("beforeprint", () => drawFor("light"));
addEventListener("afterprint", () => drawFor(state.dark ? "dark" : "light"));
if (state.detail !== "") showDetail(Number(state.detail));
// Served while a run goes on: the server says when there is something new, and the address keeps the state.
if (location.protocol.startsWith("http"))
  (async () => {
    const version = async () => (await fetch("version")).text();
    const first = await version();
    setInterval(async () => { if (await version() !== first) location.reload(); }, 5000);
  })().catch(() => {});
window.ptxbench = {measure, wilson, state, data};

// The page of a report. Counts are added up here from single turns, by the rules of src/ptxbench/report/metrics.h: what is
// not known enters no rate.
const data = JSON.parse(document.getElementById("data").textContent);
const ATTRIBUTES = ["model", "target", "task", "workload", "pack", "language", "run", "family", "head_dim", "heads"];
const DEFAULT_GROUP = ["model", "target", "task"];
// Columns of turns that are added up per success: name, title, digits.
const COSTS = [["reasoning_tokens", "reasoning tokens", 0], ["output_tokens", "output tokens", 0], ["input_tokens", "input tokens", 0],
               ["cost_usd", "USD", 4], ["seconds", "seconds", 1]];
const TABLES = ["overview", "costs", "statuses", "trajectories"];
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
  const m = {trajectories: trajectories.length, planned: 0, present: 0, speedups: [], finals: [], best: null, bestTarget: null,
             totals: Object.fromEntries(COSTS.map(([name]) => [name, {sum: 0, known: 0}])),
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
      for (const [name] of COSTS) {
        const value = data.turns[name]?.[i] ?? null;
        if (value === null) continue;
        m.totals[name].sum += value;
        ++m.totals[name].known;
      }
      if (c !== 1 || speedup === null) continue;
      m.speedups.push(speedup);
      m.best = m.best === null ? speedup : Math.max(m.best, speedup);
      if (g === 1) m.bestTarget = m.bestTarget === null ? speedup : Math.max(m.bestTarget, speedup);
    }
    const last = starts[t] + present - 1;
    if (present > 0 && correctOf(last, rules) === 1 && data.turns.speedup[last] !== null) m.finals.push(data.turns.speedup[last]);
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

const state = {only: {}, success: "correct", kind: "trajectory", rules: "paper", k: 8, by: [...DEFAULT_GROUP],
               sort: Object.fromEntries(TABLES.map((id) => [id, ""])), down: Object.fromEntries(TABLES.map((id) => [id, false])),
               open: "", detail: "", turn: "", dark: matchMedia("(prefers-color-scheme: dark)").matches};

const inAddress = (key, id) => id === "overview" ? key : `${key}-${id}`;

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of ["success", "kind", "rules", "open", "detail", "turn"]) if (given.has(key)) state[key] = given.get(key);
  if (given.has("k")) state.k = Math.min(8, Math.max(1, Number(given.get("k")) || 8));
  if (given.has("by")) state.by = given.get("by").split(",").filter((name) => ATTRIBUTES.includes(name));
  if (given.has("dark")) state.dark = given.get("dark") === "1";
  for (const id of TABLES) {
    state.sort[id] = given.get(inAddress("sort", id)) ?? "";
    state.down[id] = given.get(inAddress("down", id)) === "1";
  }
  for (const name of ATTRIBUTES) state.only[name] = given.getAll(name);
}

function writeAddress() {
  const given = new URLSearchParams();
  for (const key of ["success", "kind", "rules", "k", "open", "detail", "turn"]) if (state[key] !== "") given.set(key, state[key]);
  given.set("by", state.by.join(","));
  given.set("dark", state.dark ? "1" : "0");
  for (const id of TABLES) {
    if (state.sort[id] !== "") given.set(inAddress("sort", id), state.sort[id]);
    if (state.down[id]) given.set(inAddress("down", id), "1");
  }
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
if (state.detail !== "") showDetail(Number(state.detail), false);
// Served while a run goes on: the server says when there is something new, and the address keeps the state.
if (location.protocol.startsWith("http"))
  (async () => {
    const version = async () => (await fetch("version")).text();
    const first = await version();
    setInterval(async () => { if (await version() !== first) location.reload(); }, 5000);
  })().catch(() => {});
window.ptxbench = {measure, wilson, state, data, csvOf};

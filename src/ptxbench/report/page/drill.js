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

// A verdict's layers at a glance, then all of its evidence, field by field.
function verdictView(verdict) {
  const view = element("div", undefined, {class: "evidence"}), table = element("table"), body = element("tbody"), head = element("tr");
  for (const name of ["layer", "state", "strict rules", "paper's rules", "what was found"]) head.append(element("th", name, {scope: "col"}));
  const rule = (passed) => passed === undefined ? "" : passed ? "hold" : "do not hold";
  for (const [name, layer] of Object.entries(verdict.layers ?? {})) {
    const judged = layer.state === "passed" || layer.state === "failed", row = element("tr");
    row.append(element("th", name, {scope: "row"}));
    for (const text of [layer.state.replaceAll("_", " "), judged ? rule(layer.strict_passed) : "", judged ? rule(layer.paper_passed) : "", layer.message]) row.append(element("td", text));
    body.append(row);
  }
  const thead = element("thead");
  thead.append(head);
  table.append(element("caption", verdict.message || verdict.status), thead, body);
  view.append(table);
  for (const [name, layer] of Object.entries(verdict.layers ?? {})) view.append(folded(`Evidence: ${name}`, () => evidence(layer)));
  const rest = Object.fromEntries(Object.entries(verdict).filter(([name]) => name !== "layers"));
  view.append(folded("Circumstances", () => evidence(rest)), folded("Record as JSON", () => element("pre", JSON.stringify(verdict, null, 1), {tabindex: "0"})));
  return view;
}

const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const words = (name) => name.replaceAll("_", " ");
const flat = (value) => isRecord(value) ? Object.entries(value).map(([name, one]) => `${words(name)} ${flat(one)}`).join(", ")
  : Array.isArray(value) ? value.map(flat).join(isRecord(value[0]) ? "; " : ", ")
  : typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : String(value);

// Any record: plain fields as a list, lists of records as tables, long texts as they are.
function evidence(record) {
  const view = element("div"), list = element("dl");
  for (const [name, value] of Object.entries(record)) {
    const empty = value === "" || (Array.isArray(value) && value.length === 0);
    if (empty) continue;
    if (Array.isArray(value) && value.every(isRecord)) {
      view.append(recordTable(words(name), value));
    } else if (typeof value === "string" && value.includes("\n")) {
      view.append(element("p", words(name)), element("pre", value, {tabindex: "0"}));
    } else {
      list.append(element("dt", words(name)), element("dd", flat(value)));
    }
  }
  view.prepend(list);
  return view;
}

function recordTable(title, records) {
  const names = [...new Set(records.flatMap((record) => Object.keys(record).filter((name) => flat(record[name]) !== "")))], table = element("table"), head = element("tr"), body = element("tbody");
  for (const name of names) head.append(element("th", words(name), {scope: "col"}));
  for (const record of records) {
    const row = element("tr");
    for (const name of names) row.append(element("td", record[name] === undefined ? "" : flat(record[name]), typeof record[name] === "number" ? {class: "number"} : {}));
    body.append(row);
  }
  const thead = element("thead"), scroll = element("div", undefined, {class: "scroll", tabindex: "0", role: "group", "aria-label": title});
  thead.append(head);
  table.append(element("caption", title), thead, body);
  scroll.append(table);
  return scroll;
}

// The turn that the address names is open, else the last. Who opened it is taken there; who followed a link is at the top.
async function showDetail(number, go = true) {
  const place = byId("detail");
  place.replaceChildren(element("p", "reading ...", {role: "status"}));
  let detail;
  try {
    detail = await loadDetail(number);
  } catch (problem) {
    place.replaceChildren(element("p", problem.message, {role: "alert"}));
    return;
  }
  const title = element("h3", `Trajectory ${detail.id}`, {tabindex: "-1"});
  place.replaceChildren(title);
  const language = valueOf(number, "language"), text = (content) => () => element("pre", content, {tabindex: "0"});
  const chosen = state.turn === "" ? detail.turns[detail.turns.length - 1]?.turn : Number(state.turn);
  let before = null;
  for (const turn of detail.turns) {
    const last = before, show = () => {
      const content = element("div", undefined, {class: "turn"});
      content.append(element("p", turn.extraction));
      if (turn.source !== null) {
        content.append(folded("Kernel", () => highlighted(turn.source, language), last === null));
        if (last !== null) content.append(folded("Difference to the kernel before", () => difference(last, turn.source), true));
      }
      for (const verdict of turn.verdicts) content.append(folded(`Verdict: ${verdict.status}`, () => verdictView(verdict), true));
      if (turn.feedback) content.append(folded("Feedback as the model saw it", text(turn.feedback)));
      content.append(folded("Answer", text(turn.answer)));
      if (turn.reasoning) content.append(folded("Reasoning", text(turn.reasoning)));
      return content;
    };
    if (turn.source !== null) before = turn.source;
    place.append(folded(`Turn ${turn.turn}: ${turn.status}`, show, turn.turn === chosen));
  }
  if (go) title.focus();
}

function openDetail(t, turn) {
  state.detail = String(t);
  state.turn = turn;
  writeAddress();
  showDetail(t);
}

// One chip per turn; where its kernel is known it opens the turn.
function turnChips(t) {
  const turns = element("td"), known = DETAILS.of.includes(t);
  for (let i = starts[t]; i < starts[t + 1]; ++i) {
    const passed = correctOf(i, state.rules) === 1, speedup = data.turns.speedup[i], turn = String(data.turns.turn[i]);
    const chip = element(known ? "button" : "span", data.statuses[data.turns.status[i]] + (speedup === null ? "" : " " + speedup.toFixed(2)), {class: passed ? "chip good" : "chip"});
    if (known) {
      chip.type = "button";
      chip.title = `open turn ${turn}`;
      chip.addEventListener("click", () => openDetail(t, turn));
    }
    turns.append(chip, " ");
  }
  return turns;
}

const SHOWN_TRAJECTORIES = 500;

function drill() {
  const group = state.open === "" ? undefined : groupsOf(selected(), state.by).find((one) => JSON.stringify(one.key) === state.open);
  byId("drill").hidden = group === undefined;
  if (group === undefined) return;
  byId("drillTitle").textContent = "Trajectories: " + group.key.join(", ");
  const firstCorrect = (t) => {
    for (let i = starts[t]; i < starts[t + 1]; ++i) if (correctOf(i, state.rules) === 1) return data.turns.turn[i];
    return null;
  };
  const best = (t) => {
    let best = null;
    for (let i = starts[t]; i < starts[t + 1]; ++i)
      if (correctOf(i, state.rules) === 1 && data.turns.speedup[i] !== null) best = Math.max(best ?? 0, data.turns.speedup[i]);
    return best;
  };
  const columns = [
    textColumn("trajectory", (t) => data.trajectories.id[t]), textColumn("run", (t) => valueOf(t, "run")), textColumn("pack", (t) => valueOf(t, "pack")),
    numberColumn("first correct turn", firstCorrect, whole), numberColumn("best speed-up", best),
    {name: "turns", sort: (t) => starts[t + 1] - starts[t], cell: turnChips},
    actionColumn("open", (t) => {
      const cell = element("td", DETAILS.of.includes(t) ? undefined : "no transcript");
      if (!DETAILS.of.includes(t)) return cell;
      const open = element("button", "kernels", {type: "button", "aria-label": `kernels of trajectory ${data.trajectories.id[t]}`});
      open.addEventListener("click", () => openDetail(t, ""));
      cell.append(open);
      return cell;
    }),
  ];
  const all = inOrder("trajectories", columns, group.trajectories), some = all.slice(0, SHOWN_TRAJECTORIES);
  fillTable("trajectories", (some.length < all.length ? `The first ${some.length} of ${all.length} trajectories in this order` : `${all.length} ${all.length === 1 ? "trajectory" : "trajectories"}`) + only(), columns, some);
}


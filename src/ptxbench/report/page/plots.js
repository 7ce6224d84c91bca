// ---- Plots ----

// More than the library's ten, which come first: the paper's tables hold thirteen models.
const COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf",
                 "#5b6ad0", "#7fa63a", "#c4566a", "#b06ab3", "#4aa3df", "#c9962e"];
// A model has the same colour in every plot, whatever the filters leave.
const colourOf = (model) => COLOURS[[...new Set(data.cells.map((cell) => cell.model))].indexOf(model) % COLOURS.length];
const STATUS_COLOURS = {PASSED: "#2ca02c", COMPILE_ERROR: "#ff7f0e", RUNTIME_ERROR: "#d62728", INCORRECT_NUMERICAL: "#1f77b4", TIMEOUT: "#9467bd"};

function startPlotly() {
  if (window.Plotly !== undefined) return;
  const script = element("script");
  script.textContent = byId("plotting").textContent;
  document.head.append(script);
}

function draw(id, traces, layout, description) {
  const place = byId(id), empty = traces.every((trace) => (trace.x ?? trace.link.value).length === 0);
  place.classList.toggle("empty", empty);
  if (empty) {
    if (window.Plotly !== undefined) Plotly.purge(id);
    place.removeAttribute("role");
    place.removeAttribute("aria-label");
    place.replaceChildren(element("p", "Nothing is known to show here."));
    return;
  }
  startPlotly();
  if (place.querySelector(":scope > p")) place.replaceChildren();
  const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink"), line = style.getPropertyValue("--line");
  const axis = {gridcolor: line, zerolinecolor: line, automargin: true};
  // Where there is little room the legend stands below, one name a line.
  const narrow = place.clientWidth < 900 && traces.length > 1, names = narrow ? traces.length + (layout.legend?.title?.text.split("<br>").length ?? 0) : 0;
  const below = narrow ? {legend: {...layout.legend, orientation: "v", x: 0, xanchor: "left", y: -0.28, yanchor: "top"}, height: 380 + 20 * names, margin: {t: 30, l: 50, r: 15, b: 70 + 20 * names}} : {height: 400, margin: {t: 30}};
  Plotly.react(id, traces, {paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {color: ink}, modebar: {bgcolor: "rgba(0,0,0,0)", color: ink, activecolor: ink},
    ...layout, ...below, xaxis: {...axis, ...layout.xaxis}, yaxis: {...axis, ...layout.yaxis}},
    {displaylogo: false, responsive: true, displayModeBar: narrow ? false : undefined, showSendToCloud: false, toImageButtonOptions: {format: "svg", filename: "ptxbench-" + id}});
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", description);
}

const rateLabel = () => `${state.success}, ${state.kind === "turn" ? "share of planned turns" : "share of trajectories"}`;

const PLOTS = {
  rates(chosen) {
    const models = groupsOf(chosen, ["model"]);
    draw("rates", models.map((group, place) => {
      const points = [1, 2, 3, 4, 5, 6, 7, 8].map((k) => measure(group.trajectories, k, state.rules).rates[state.kind][state.success]).map(
        (rate, i) => ({k: i + 1, rate: rate.n === 0 ? null : rate.successes / rate.n, interval: wilson(rate.successes, rate.n)}));
      return {name: group.key[0], mode: "lines+markers", line: {color: colourOf(group.key[0])}, x: points.map((p) => p.k + 0.04 * (place - models.length / 2)), y: points.map((p) => p.rate),
        error_y: {type: "data", symmetric: false, thickness: 1, array: points.map((p) => p.rate === null ? 0 : p.interval[1] - p.rate),
                  arrayminus: points.map((p) => p.rate === null ? 0 : p.rate - p.interval[0])}};
    }), {xaxis: {title: {text: "within the first k turns"}}, yaxis: {title: {text: rateLabel()}, range: [0, 1.02]}},
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
      return {name: model, mode: "markers", x: own.map((p) => p.cell.date), y: own.map((p) => p.best), marker: {size: 9, color: colourOf(model), symbol: own.map((p) => symbol(p.group.key[1]))},
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
    draw("flow", keys.length === 0 ? [] : [{type: "sankey", arrangement: "fixed", node: {label: [...data.statuses, ...data.statuses], pad: 16, color: [...data.statuses, ...data.statuses].map((name) => STATUS_COLOURS[name] ?? "#7f7f7f")},
      link: {source: keys.map((key) => Math.floor(key / 100)), target: keys.map((key) => n + key % 100), value: keys.map((key) => flow.get(key)),
             color: keys.map(() => "rgba(128,128,140,0.35)")}}], {},
    "Flow from the status of a turn (left) to that of the next turn (right). The table below holds the figures.");
  },
  tokens(chosen) {
    const turns = chosen.flatMap((t) => Array.from({length: starts[t + 1] - starts[t]}, (_, i) => starts[t] + i))
      .filter((i) => correctOf(i, state.rules) === 1 && data.turns.speedup[i] !== null && data.turns.reasoning_tokens[i] !== null);
    draw("tokens", groupsOf(chosen, ["model"]).map((group) => {
      const own = turns.filter((i) => valueOf(data.turns.trajectory[i], "model") === group.key[0]);
      return {name: group.key[0], type: turns.length > 20000 ? "scattergl" : "scatter", mode: "markers", marker: {size: 5, opacity: 0.6, color: colourOf(group.key[0])},
              x: own.map((i) => data.turns.reasoning_tokens[i]), y: own.map((i) => data.turns.speedup[i])};
    }).filter((trace) => trace.x.length > 0), {xaxis: {title: {text: "reasoning tokens of the turn"}, rangemode: "tozero"}, yaxis: {title: {text: "speed-up of the correct turn"}, rangemode: "tozero"}},
    `${turns.length} correct turns: reasoning tokens against speed-up.`);
  },
  // A line per model: packs are compared on the same model only, and their tasks are named by the filters. A line ends where
  // another kind of packs begins: "05" is no step after "block-4".
  ladder(chosen) {
    const kind = (pack) => pack === "no-hint" ? "" : pack.replace(/[-\d].*$/, "");
    const packs = groupsOf(chosen, ["pack"]).map((group) => group.key[0])
      .sort((a, b) => kind(a).localeCompare(kind(b)) || (b === "no-hint") - (a === "no-hint") || a.localeCompare(b, "en", {numeric: true}));
    const models = groupsOf(chosen, ["model"]).map((group) => ({name: group.key[0], packs: new Map(groupsOf(group.trajectories, ["pack"]).map((one) => [one.key[0], one.trajectories]))}))
      .filter((model) => model.packs.size > 1);
    draw("ladder", models.map((model, place) => {
      const points = packs.flatMap((pack, i) => {
        const rung = model.packs.has(pack) ? measure(model.packs.get(pack), state.k, state.rules).rates[state.kind][state.success] : emptyRate();
        const gap = i > 0 && kind(packs[i - 1]) !== kind(pack) ? [{x: i - 0.5, rate: null, low: 0, high: 0, text: ""}] : [];
        if (rung.n === 0) return [...gap, {x: i, rate: null, low: 0, high: 0, text: ""}];
        const rate = rung.successes / rung.n, [low, high] = wilson(rung.successes, rung.n);
        return [...gap, {x: i + 0.05 * (place - (models.length - 1) / 2), rate, low: rate - low, high: high - rate, text: `${pack}: ${rung.successes}/${rung.n}`}];
      });
      return {name: model.name, mode: "lines+markers", line: {color: colourOf(model.name)}, x: points.map((p) => p.x), y: points.map((p) => p.rate),
        text: points.map((p) => p.text), hovertemplate: "%{text}<extra>" + model.name + "</extra>",
        error_y: {type: "data", symmetric: false, thickness: 1, array: points.map((p) => p.high), arrayminus: points.map((p) => p.low)}};
    }), {xaxis: {tickvals: packs.map((_, i) => i), ticktext: packs, title: {text: "knowledge pack, the least first"}}, yaxis: {title: {text: rateLabel()}, range: [0, 1.02]}},
    `Rates of ${packs.length} knowledge packs with 95 % intervals, a line for each of ${models.length} models that ran several. Grouping the overview table by pack gives the figures.`);
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


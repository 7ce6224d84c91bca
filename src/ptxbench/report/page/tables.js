// ---- Tables ----

const shown = (value, digits = 3) => value === null || value === undefined ? "" : value.toFixed(digits);
const whole = (value) => value === null ? "" : Math.round(value).toLocaleString("en");
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// A column: name, sort(row) and cell(row), which gives a <td>. An action's cell holds buttons: it is neither sorted nor saved.
// What is saved instead of the text that is shown stands in data-saved, as a JSON list; a column's `saved` names its parts.
const savedAs = (cell, ...values) => { cell.dataset.saved = JSON.stringify(values); return cell; };
// Long names of tasks may break behind an underscore, or they would make the table wider than the page.
function nameCell(name) {
  const cell = element("td"), pieces = String(name).length > 26 ? name.split(/(?<=_)/) : [name];
  for (const piece of pieces) cell.append(piece, element("wbr"));
  return cell;
}
const textColumn = (name, of) => ({name, sort: of, cell: (row) => nameCell(of(row))});
const numberColumn = (name, of, show = (value) => shown(value)) =>
  ({name, number: true, sort: (row) => of(row) ?? -1, cell: (row) => savedAs(element("td", show(of(row) ?? null), {class: "number"}), of(row) ?? null)});
const actionColumn = (what, cell) => ({action: true, name: what, cell});

function inOrder(id, columns, rows) {
  const by = columns.find((column) => !column.action && column.name === state.sort[id]);
  if (!by) return rows;
  return [...rows].sort((a, b) => {
    const x = by.sort(a), y = by.sort(b), order = typeof x === "string" ? x.localeCompare(y, "en", {numeric: true}) : x - y;
    return state.down[id] ? -order : order;
  });
}

function headOf(id, columns) {
  const head = element("tr");
  for (const column of columns) {
    const th = element("th", undefined, {scope: "col"});
    if (column.action) {
      th.className = "action";
      th.append(element("span", column.name, {class: "heard"}));
      head.append(th);
      continue;
    }
    const sorted = column.name === state.sort[id];
    th.setAttribute("aria-sort", sorted ? (state.down[id] ? "descending" : "ascending") : "none");
    if (column.number) th.className = "number";
    if (column.saved) savedAs(th, ...column.saved);
    const button = element("button", column.name.replaceAll("_", "_\u200b") + (sorted ? (state.down[id] ? " ↓" : " ↑") : ""), {type: "button", "data-sort": column.name});
    button.addEventListener("click", () => {
      state.down[id] = sorted && !state.down[id];
      state.sort[id] = column.name;
      update();
    });
    th.append(button);
    head.append(th);
  }
  const thead = element("thead");
  thead.append(head);
  return thead;
}

// The button that sorts keeps the focus, though the table is made anew.
function fillTable(id, caption, columns, rows) {
  const focused = byId(id).contains(document.activeElement) ? document.activeElement.dataset.sort : undefined;
  const body = element("tbody");
  for (const row of inOrder(id, columns, rows)) {
    const tr = element("tr");
    for (const column of columns) {
      const cell = column.cell(row);
      if (column.action) cell.classList.add("action");
      tr.append(cell);
    }
    body.append(tr);
  }
  byId(id).replaceChildren(element("caption", caption), headOf(id, columns), body);
  if (focused !== undefined) byId(id).querySelector(`[data-sort="${CSS.escape(focused)}"]`)?.focus();
}

function rateCell(rate) {
  const cell = element("td", undefined, {class: "rate"});
  if (rate.n === 0) {
    cell.textContent = `not known (${rate.unknown})`;
    cell.className = "rate unknown";
    return savedAs(cell, null, null, null, 0, 0, rate.unknown);
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
  return savedAs(cell, value, low, high, rate.successes, rate.n, rate.unknown);
}

const only = () => ATTRIBUTES.filter((name) => state.only[name].length > 0).map((name) => `, ${name} ${state.only[name].join(" or ")}`).join("");
const scope = () => `within ${state.k} turn${state.k === 1 ? "" : "s"}, ${state.rules} rules${only()}`;

function openGroup(row) {
  state.open = JSON.stringify(row.group.key);
  state.detail = state.turn = "";
  byId("detail").replaceChildren();
  update();
  byId("drillTitle").focus();
  byId("drillTitle").scrollIntoView();
}

function overview() {
  const chosen = selected();
  const rows = groupsOf(chosen, state.by).map((group) => ({group, m: measure(group.trajectories, state.k, state.rules)}));
  const rate = (row) => row.m.rates[state.kind][state.success];
  const share = (row) => rate(row).n === 0 ? -1 : rate(row).successes / rate(row).n;
  const keys = state.by.map((name, i) => textColumn(name, (row) => row.group.key[i]));
  fillTable("overview", `${rows.length} group${rows.length === 1 ? "" : "s"}, ${scope()}`, [
    ...keys,
    numberColumn("trajectories", (row) => row.m.trajectories, whole),
    {name: state.success + " " + (state.kind === "turn" ? "of planned turns" : "trajectories"), sort: share,
     saved: ["rate", "low", "high", "successes", "n", "not known"], cell: (row) => rateCell(rate(row))},
    numberColumn("best speed-up", (row) => row.m.best),
    numberColumn("best by target", (row) => row.m.bestTarget),
    numberColumn("median speed-up", (row) => median(row.m.speedups)),
    numberColumn("final speed-up", (row) => median(row.m.finals)),
    actionColumn("open", (row) => {
      const open = element("button", "open", {type: "button", "aria-label": `trajectories of ${row.group.key.join(", ")}`}), cell = element("td");
      open.addEventListener("click", () => openGroup(row));
      cell.append(open);
      return cell;
    }),
  ], rows);
  byId("counted").textContent = `${chosen.length} ${chosen.length === 1 ? "trajectory" : "trajectories"}, ${chosen.reduce((sum, t) => sum + starts[t + 1] - starts[t], 0)} turns`;
  costs(rows, keys);
  statuses(chosen);
}

// Per success only where it is known for every turn; else the cell says for how many.
function costs(rows, keys) {
  const successes = (row) => row.m.rates.trajectory[state.success].successes;
  const perSuccess = (name, total, digits) => ({
    name: name + " per success", number: true,
    sort: (row) => total(row).known === row.m.present && successes(row) > 0 ? total(row).sum / successes(row) : -1,
    cell: (row) => {
      const {sum, known} = total(row), n = successes(row);
      const text = known === 0 ? "not known" : known < row.m.present ? `known of ${known} of ${row.m.present} turns`
        : n === 0 ? "no success" : (sum / n).toLocaleString("en", {maximumFractionDigits: digits});
      const there = known === row.m.present && n > 0;
      return savedAs(element("td", text, {class: there ? "number" : "number unknown"}), there ? sum / n : null);
    }});
  const kinds = COSTS.filter(([name]) => data.turns[name] != null && data.turns[name].some((value) => value !== null));
  fillTable("costs", `Turns, and what a ${state.success === "target" ? "trajectory that is correct by target" : "correct trajectory"} costs, ${scope()}`, [
    ...keys,
    numberColumn("turns", (row) => row.m.present, whole),
    numberColumn("successes", successes, whole),
    ...kinds.map(([name, title, digits]) => perSuccess(title, (row) => row.m.totals[name], digits)),
  ], rows);
}

// What becomes of every status in the next turn: all turns of the trajectories, whatever k is.
function statuses(chosen) {
  const n = data.statuses.length, next = Array.from({length: n}, () => new Array(n + 1).fill(0));
  let turns = 0;
  for (const t of chosen)
    for (let i = starts[t]; i < starts[t + 1]; ++i, ++turns) ++next[data.turns.status[i]][i + 1 < starts[t + 1] ? data.turns.status[i + 1] : n];
  const sum = (row) => next[row].reduce((a, b) => a + b, 0), seen = [...next.keys()].filter((row) => sum(row) > 0);
  fillTable("statuses", `Status of ${turns} turns, and of the turn after each${only()}`, [
    textColumn("status", (row) => data.statuses[row]),
    numberColumn("turns", sum, whole),
    numberColumn("share", (row) => sum(row) / turns, percent),
    ...seen.map((to) => numberColumn("then " + data.statuses[to], (row) => next[row][to], whole)),
    numberColumn("no turn after", (row) => next[row][n], whole),
  ], seen);
}

function csvOf(table) {
  const quote = (text) => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const values = (cell) => cell.dataset.saved ? JSON.parse(cell.dataset.saved) : [cell.textContent.trim().replaceAll("\u200b", "").replace(/ [↑↓]$/, "")];
  const line = (row) => [...row.cells].filter((cell) => !cell.classList.contains("action")).flatMap(values).map((value) => quote(String(value ?? ""))).join(",");
  return [...table.rows].map(line).join("\n") + "\n";
}


#!/usr/bin/env python3
"""The report page in a real browser, and what report and serve-report answer. Usage: page_test.py PTXBENCH [unittest options]

The browser's tests need chromium (apt-get install chromium); it is not among the packages that the build installs, since it
is larger than all of them together."""
import html.parser
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

PTXBENCH = str(pathlib.Path(sys.argv.pop(1)).resolve())
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


def ptxbench(*arguments, code=0):
    run = subprocess.run([PTXBENCH, *map(str, arguments)], text=True, capture_output=True, timeout=300)
    if run.returncode != code:
        raise AssertionError(f"{arguments}: exit code {run.returncode}: {run.stderr}")
    return run


REFERENCES = [{"name": "hopper instructions", "kind": "instructions", "target": "hopper", "date": "2022-10-05"},
              {"name": "fa3", "kind": "library", "target": "hopper", "date": "2024-07-11"},
              {"name": "blackwell instructions", "kind": "instructions", "target": "blackwell", "date": "2025-01-31"}]


def observations(folder):
    """Two models; alpha's three trajectories: right by target at turn 2, right without evidence at turn 1, never right."""
    folder.mkdir()
    cell = {"run": "r", "target": "hopper", "task": "gemm_</script>", "workload": "w", "language": "cuda", "recording": False}
    trajectory = {"pack": "L1", "planned_turns": 2, "open": False}
    (folder / "observations.json").write_text(json.dumps({
        "schema": "ptxbench.observations.v2", "source": "made up", "notes": [], "published": [], "references": REFERENCES,
        "cells": [{**cell, "model": "alpha", "model_date": "2026-01-31", "date_kind": "knowledge"}, {**cell, "model": "beta", "model_date": "2026-02-28", "date_kind": "release"}],
        "trajectories": [{**trajectory, "id": str(i), "cell": 0 if i < 3 else 1} for i in range(4)]}))
    wrong = {"status": "COMPILE_ERROR", "correct_paper": False, "correct_strict": False}
    right = {"status": "PASSED", "correct_paper": True, "speedup": 0.5, "reasoning_tokens": 100}
    turns = [{"trajectory": 0, "turn": 1, **wrong}, {"trajectory": 0, "turn": 2, **right, "target_paper": True},
             {"trajectory": 1, "turn": 1, **right, "speedup": 0.25}, {"trajectory": 2, "turn": 1, **wrong},
             {"trajectory": 3, "turn": 1, **wrong}]
    (folder / "turns.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    return folder


def paper_run(run, tag, answers):
    """A run folder as the paper's implementation writes it: a trajectory of one turn for every answer."""
    (run / "trajectories").mkdir(parents=True)
    (run / "plan.json").write_text(json.dumps({"plan": [{"exp_index": i, "num_turns": 1, "prompt_tag": tag, "definition": "gemm_x"} for i in range(len(answers))]}))
    for i, answer in enumerate(answers):
        (run / f"trajectories/exp_{i:03}.json").write_text(json.dumps({
            "info": {"config": {"model": {"model_name": "m"}}}, "trajectory_format": "mini-swe-agent-1.1",
            "messages": [{"role": "system", "content": ""}, {"role": "user", "content": ""}, {"role": "assistant", "content": answer},
                         {"role": "user", "content": "Failed to compile kernel", "extra": {"event": "test_failed"}},
                         {"role": "exit", "content": "", "extra": {"exit_status": "LimitsExceeded"}}]}))
    return run


def kill_at_moments(arguments, moments, check):
    """Runs the command again and again, killed a little later each time; check() looks at what it left."""
    begin = time.monotonic()
    ptxbench(*arguments)
    whole = time.monotonic() - begin
    check()
    for i in range(moments):
        process = subprocess.Popen([PTXBENCH, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * i / moments)
        process.kill()
        process.wait()
        check()


class Tables(html.parser.HTMLParser):
    """Texts of the cells of every table, by the table's id; texts of other elements with an id."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.table, self.cell = {}, None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "table":
            self.table = dict(attributes).get("id")
            self.rows[self.table] = []
        elif tag == "tr" and self.table:
            self.rows[self.table].append([])
        elif tag in ("td", "th") and self.table:
            self.rows[self.table][-1].append("")
            self.cell = True

    def handle_endtag(self, tag):
        if tag == "table":
            self.table = None
        elif tag in ("td", "th"):
            self.cell = None

    def handle_data(self, text):
        if self.table and self.cell:
            self.rows[self.table][-1][-1] += text


def browse(page, **state):
    """The page as it stands after its scripts ran, and what they complained of."""
    address = pathlib.Path(page).as_uri() + "#" + urllib.parse.urlencode(state)
    run = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=10000", "--window-size=1200,6000",
                          "--dump-dom", address], text=True, capture_output=True, timeout=120)
    complaints = [line for line in run.stderr.splitlines() if "CONSOLE" in line and ("rror" in line or "xception" in line)]
    return run.stdout, complaints


def act(page, script, **state):
    """What a script that runs in the loaded page returns, as JSON."""
    copy = pathlib.Path(page).with_name("act.html")
    copy.write_text(pathlib.Path(page).read_text().replace("</body>", f"""<script>
addEventListener("load", () => {{
  const result = (() => {{ {script} }})();
  document.body.append(element("pre", JSON.stringify(result), {{id: "result"}}));
}});</script></body>"""))
    text, complaints = browse(copy, **state)
    if complaints:
        raise AssertionError(complaints)
    return json.loads(html.unescape(re.search(r'<pre id="result">(.*?)</pre>', text, re.S)[1]))


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_nothing_is_left_half_written(self):
        made = observations(self.folder / "data")
        (made / "turns.jsonl").write_text((made / "turns.jsonl").read_text()[:-10])
        run = ptxbench("report", made, "--html", self.folder / "page.html", code=2)
        self.assertRegex(run.stderr, r"turns\.jsonl:5.*\n?.*(cut off|newline|JSON)")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["data"])

    def test_tables_on_the_terminal(self):
        made = observations(self.folder / "data")
        text = ptxbench("report", made, "--by", "model", "--show", "statuses,pass_at").stdout
        self.assertRegex(text, r"(?m)^alpha +COMPILE_ERROR +2 +0\.5 +1 +1$")  # turns, share, then PASSED, then nothing
        self.assertNotIn("then_TIMEOUT", text)
        self.assertRegex(text, r"(?m)^alpha +1 +3 +0\.6667$")  # pass@1 of two in three
        self.assertIn("there is no table 'prices' here", ptxbench("report", made, "--show", "prices", code=2).stderr)
        self.assertIn("nothing to compare", ptxbench("report", made, "--study", "languages").stdout)

    def test_killed_import_leaves_all_or_nothing(self):
        run, out = paper_run(self.folder / "run", "hopper-05", ["x" * 200_000] * 30), self.folder / "out"

        def check():
            if out.exists():
                self.assertEqual(len(list((out / "transcripts").iterdir())), 30)
                ptxbench("report", out)
                shutil.rmtree(out)
        kill_at_moments(["import-paper", run, "--out", out], 10, check)
        ptxbench("import-paper", run, "--out", out)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out", "run"])

    def test_killed_report_leaves_the_page_before_or_the_new_one(self):
        page, tables = self.folder / "page.html", self.folder / "tables"
        small, large = self.folder / "small", self.folder / "large"
        ptxbench("import-paper", paper_run(self.folder / "a", "hopper-05", ["y"]), "--out", small)
        ptxbench("import-paper", paper_run(self.folder / "b", "hopper-07", ["x" * 200_000] * 30), "--out", large)
        known, seen = {}, set()
        for name in (small, large):
            ptxbench("report", name, "--html", page)
            known[page.read_bytes()] = name.name

        def check():
            seen.add(known[page.read_bytes()])  # one of the two, whole
            for number in json.loads(re.search(r"const DETAILS = {folder: \"page.html_data\", of: (\[.*?\])}", page.read_text())[1]):
                self.assertTrue((self.folder / f"page.html_data/{number}.js").read_text().endswith(");\n"))
            for table in tables.glob("*.csv"):
                self.assertTrue(table.read_text().endswith("\n"))
            ptxbench("report", small, "--html", page)
        kill_at_moments(["report", large, "--html", page, "--csv", tables], 10, check)
        self.assertEqual(seen, {"small", "large"})
        self.assertEqual([path for path in self.folder.iterdir() if ".partial-" in path.name], [])

    def test_served_on_loopback_until_ctrl_c(self):
        made = observations(self.folder / "data")
        server = subprocess.Popen([PTXBENCH, "serve-report", made], text=True, stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        address = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())[0]
        version = urllib.request.urlopen(address + "version").read()
        self.assertIn(b"ptxbench report", urllib.request.urlopen(address).read())
        with (made / "turns.jsonl").open("a") as log:
            log.write('{"trajectory": 3, "turn": 2, "status": "TIMEOUT", "correct_paper": false, "correct_strict": false}\n')
        self.assertNotEqual(urllib.request.urlopen(address + "version").read(), version)
        data = urllib.request.urlopen(address).read().decode()
        statuses = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', data, re.S)[1])
        self.assertEqual(len(statuses["turns"]["turn"]), 6)
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(address + "../etc/passwd")
        with self.assertRaisesRegex(urllib.error.HTTPError, "403"):
            urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "elsewhere.example"}))
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(10), 0)


@unittest.skipUnless(CHROMIUM, "no chromium: apt-get install chromium")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        cls.data = observations(cls.folder / "data")
        cls.page = cls.folder / "page.html"
        ptxbench("report", cls.data, "--html", cls.page)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def overview(self, **state):
        text, complaints = browse(self.page, **state)
        self.assertEqual(complaints, [])
        return Tables(text).rows["overview"]

    # Counted by hand: alpha is right in two of three trajectories, in two of six planned turns; Wilson's interval of 2/3 is
    # 20.8 to 93.9 %.
    def test_figures(self):
        rows = self.overview(by="model")
        self.assertEqual([row[0] for row in rows[1:]], ["alpha", "beta"])
        self.assertEqual(rows[1][1], "3")
        self.assertEqual(rows[1][2].strip(), "66.7 % [20.8, 93.9], 2/3")
        self.assertEqual(rows[1][3:7], ["0.500", "0.500", "0.375", "0.375"])  # best, by target, median, final: of 0.5 and 0.25
        self.assertEqual(self.overview(by="model", kind="turn")[1][2].strip(), "33.3 % [9.7, 70.0], 2/6")

    def test_missing_evidence_is_shown_apart(self):
        self.assertEqual(self.overview(by="model", success="target")[1][2].strip(), "50.0 % [9.5, 90.5], 1/2, 1 not known")
        self.assertEqual(self.overview(by="model", rules="strict")[1][2].strip(), "0.0 % [0.0, 79.3], 0/1, 2 not known")

    def test_filters_and_sorting_come_from_the_address(self):
        self.assertEqual([row[0] for row in self.overview(by="model", model="beta")[1:]], ["beta"])
        self.assertEqual([row[0] for row in self.overview(by="model", sort="model", down="1")[1:]], ["beta", "alpha"])
        self.assertEqual(self.overview(by="model", k="1")[1][2].strip(), "33.3 % [6.1, 79.2], 1/3")

    def test_groups_open_into_trajectories(self):
        text, complaints = browse(self.page, by="model", open='["alpha"]')
        self.assertEqual(complaints, [])
        rows = Tables(text).rows["trajectories"]
        self.assertEqual([row[0] for row in rows[1:]], ["0", "1", "2"])
        self.assertEqual(rows[1][3:5], ["2", "0.500"])  # first correct turn, best speed-up
        self.assertEqual(rows[1][5].split(), ["COMPILE_ERROR", "PASSED", "0.50"])
        self.assertEqual(rows[1][6], "no transcript")
        text, _ = browse(self.page, by="model", open='["alpha"]', **{"sort-trajectories": "best speed-up", "down-trajectories": "1"})
        self.assertEqual([row[0] for row in Tables(text).rows["trajectories"][1:]], ["0", "1", "2"])
        text, _ = browse(self.page, by="model", open='["alpha"]', **{"sort-trajectories": "best speed-up"})
        self.assertEqual([row[0] for row in Tables(text).rows["trajectories"][1:]], ["2", "1", "0"])

    # Three turns failed to compile: one was corrected, two were the last of their trajectories, as the two correct ones.
    def test_what_becomes_of_each_status(self):
        text, _ = browse(self.page)
        rows = Tables(text).rows["statuses"]
        self.assertEqual([name.replace("\u200b", "") for name in rows[0]], ["status", "turns", "share", "then PASSED", "then COMPILE_ERROR", "no turn after"])
        self.assertEqual(rows[1:], [["PASSED", "2", "40.0 %", "0", "0", "2"], ["COMPILE_ERROR", "3", "60.0 %", "1", "0", "2"]])

    # Alpha's tokens are known for two of its four turns. In the second folder all turns have some: 100 + 200 for one success.
    def test_costs_per_success(self):
        text, _ = browse(self.page, by="model")
        self.assertEqual(Tables(text).rows["costs"], [["model", "turns", "successes", "reasoning tokens per success"],
                                                      ["alpha", "4", "2", "known of 2 of 4 turns"], ["beta", "1", "0", "not known"]])
        folder = observations(self.folder / "costs")
        turns = [{"trajectory": 0, "turn": 1, "status": "COMPILE_ERROR", "correct_paper": False, "reasoning_tokens": 100, "cost_usd": 0.5, "seconds": 2},
                 {"trajectory": 0, "turn": 2, "status": "PASSED", "correct_paper": True, "reasoning_tokens": 200, "cost_usd": 0.25, "seconds": 3.5}]
        (folder / "turns.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
        ptxbench("report", folder, "--html", self.folder / "costs.html")
        text, complaints = browse(self.folder / "costs.html", by="model", model="alpha")
        self.assertEqual(complaints, [])
        rows = Tables(text).rows["costs"]
        self.assertEqual(rows[0][3:], ["reasoning tokens per success", "USD per success", "seconds per success"])
        self.assertEqual(rows[1], ["alpha", "2", "1", "300", "0.75", "5.5"])

    def test_saved_tables_hold_numbers(self):
        lines = act(self.page, "return ptxbench.csvOf(byId('overview'))", by="model", sort="model").splitlines()
        self.assertEqual(lines[0], "model,trajectories,rate,low,high,successes,n,not known,best speed-up,best by target,median speed-up,final speed-up")
        cells = lines[1].split(",")
        self.assertEqual([cells[0], cells[1], *cells[5:]], ["alpha", "3", "2", "3", "0", "0.5", "0.5", "0.375", "0.375"])
        self.assertAlmostEqual(float(cells[2]), 2 / 3)

    def test_keyboard_stays_where_it_was(self):
        sorts = """
          const button = () => document.querySelector("#overview [data-sort=model]"), seen = [];
          for (let i = 0; i < 2; ++i) {
            button().focus();
            button().click();
            seen.push([document.activeElement === button(), button().closest("th").getAttribute("aria-sort")]);
          }
          document.querySelector("#overview td.action button").click();
          return [...seen, document.activeElement.id];"""
        self.assertEqual(act(self.page, sorts, by="model"), [[True, "ascending"], [True, "descending"], "drillTitle"])

    def test_everything_has_a_name(self):
        nameless = """
          const named = (one) => one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim() || one.closest("label")?.textContent.trim();
          return [...document.querySelectorAll("button, select, input, th, [role=group], section")].filter((one) => !named(one)).map((one) => one.outerHTML);"""
        self.assertEqual(act(self.page, nameless, by="model", open='["alpha"]'), [])
        captions = "return [...document.querySelectorAll('table')].filter((one) => one.rows.length > 0 && !one.caption?.textContent).map((one) => one.id)"
        self.assertEqual(act(self.page, captions, by="model", open='["alpha"]'), [])

    def test_empty_plots_say_so(self):
        text, complaints = browse(self.page, model="beta")
        self.assertEqual(complaints, [])
        self.assertRegex(text, r'<div id="tokens" class="plot empty"><p>Nothing is known to show here.</p></div>')

    def test_plots_are_drawn_and_described(self):
        folder = observations(self.folder / "packs")
        manifest = folder / "observations.json"
        manifest.write_text(manifest.read_text().replace('"L1"', '"L0"', 1))
        ptxbench("report", folder, "--html", self.folder / "packs.html")
        text, _ = browse(self.folder / "packs.html")
        for plot in ("rates", "speed", "flow", "tokens", "ladder"):
            self.assertRegex(text, rf'<div id="{plot}"[^>]*aria-label="[^"]+"[^>]*>\s*<div class="plot-container')

    def test_time_plot_has_the_releases_of_its_targets(self):
        text, complaints = browse(self.page, by="model")
        self.assertEqual(complaints, [])
        description = html.unescape(re.search(r'<div id="speed"[^>]*aria-label="([^"]*)"', text)[1])
        self.assertIn("Vertical lines: hopper instructions 2022-10-05, fa3 2024-07-11.", description)
        plot = text[text.index('id="speed"'):text.index('id="flow"')]
        self.assertIn(">hopper instructions</text>", plot)
        self.assertIn(">fa3</text>", plot)
        self.assertNotIn("blackwell", plot)
        self.assertIn(">knowledge date of the model</text>", plot)  # beta has a release date and no speed-up

    def test_turns_that_may_still_come_are_not_known(self):
        folder = observations(self.folder / "open")
        manifest = folder / "observations.json"
        manifest.write_text(manifest.read_text().replace('"id": "2", "cell": 0', '"id": "2", "cell": 0, "x": 0').replace(
            '"open": false, "id": "2", "cell": 0, "x": 0', '"open": true, "id": "2", "cell": 0'))
        ptxbench("report", folder, "--html", self.folder / "open.html")
        text, complaints = browse(self.folder / "open.html", by="model")
        self.assertEqual(complaints, [])
        # Trajectory 2 failed its first turn of two and is not over.
        self.assertEqual(Tables(text).rows["overview"][1][2].strip(), "100.0 % [34.2, 100.0], 2/2, 1 not known")

    def test_nothing_leaves_the_page(self):
        page = self.page.read_text()
        self.assertNotRegex(page.split('<script id="plotting"')[0], "https?://")
        self.assertIn("showSendToCloud: false", page)

    def test_kernels_of_a_run_folder(self):
        ptxbench("run", "--demo", "--out", self.folder / "demo")
        page = self.folder / "demo.html"
        ptxbench("report", self.folder / "demo", "--html", page)
        model = json.loads((self.folder / "demo/run.json").read_text())["trajectories"][0]["model"]
        text, complaints = browse(page, detail="0", by="model", open=json.dumps([model]))
        self.assertEqual(complaints, [])
        self.assertRegex(text, r'<button class="chip good" type="button" title="open turn 3">PASSED</button>')
        self.assertIn("Turn 1: COMPILE_ERROR", text)
        self.assertIn("Difference to the kernel before", text)
        self.assertIn("Feedback as the model saw it", text)
        # The last turn's verdict, layer by layer. The emulator has no times.
        rows = {row[0]: row[1:] for row in re.findall(r'<tr><th scope="row">(\w+)</th><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td>', text)}
        self.assertEqual(rows["compile"], ("passed", "", ""))
        self.assertEqual(rows["executed"], ("passed", "hold", "hold"))
        self.assertEqual(rows["fast"][0], "not measured")
        self.assertNotIn('"seed"', (self.folder / "demo.html_data/0.js").read_text())

    KERNEL = '// <b>& </script>\n__global__ void k(int* p) {\n  asm volatile("mbarrier.try_wait.parity.shared::cta.b64 %0, [%1];" :: "r"(1));\n}\n'

    def imported(self, name, tag, answer):
        """A run folder of the paper's implementation with one turn, imported and reported: the page's text with it open."""
        ptxbench("import-paper", paper_run(self.folder / name, tag, [answer]), "--out", self.folder / (name + "-run"))
        ptxbench("report", self.folder / (name + "-run"), "--html", self.folder / (name + ".html"))
        text, complaints = browse(self.folder / (name + ".html"), detail="0")
        self.assertEqual(complaints, [])
        return text

    def test_kernels_are_coloured_as_cuda_with_ptx(self):
        text = self.imported("cuda", "hopper-05", "```cpp\n" + self.KERNEL + "```")
        self.assertIn("Turn 1: COMPILE_ERROR", text)
        self.assertRegex(text, r'<span class="hljs-keyword">__global__</span>')
        self.assertRegex(text, r'<span class="hljs-built_in">mbarrier\.try_wait\.parity\.shared::cta\.b64</span>')
        self.assertIn('<span class="hljs-variable">%0</span>', text)
        # The kernel's own markup stays text.
        self.assertIn('<span class="hljs-comment">// &lt;b&gt;&amp; &lt;/script&gt;</span>', text)

    def test_triton_is_coloured_as_python(self):
        text = self.imported("triton", "triton-hopper", "```python\n@triton.jit\ndef run(x):\n    pass\n```")
        self.assertRegex(text, r'<span class="hljs-meta">@triton\.jit</span>')
        self.assertRegex(text, r'<span class="hljs-keyword">def</span>')


if __name__ == "__main__":
    unittest.main(verbosity=2)

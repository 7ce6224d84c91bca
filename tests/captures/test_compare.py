#!/usr/bin/env python3
"""The comparator itself: that it accepts what it should and, above all, that it refuses the rest."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import compare  # noqa: E402

# Prints the cases of a list file, honours --after and --only, and breaks off at a case whose line says `error` or `die`.
PROGRAM = """
import sys
args = dict(zip(sys.argv[2::2], sys.argv[3::2]))
waiting = "--after" in args
for row in open(sys.argv[1]).read().splitlines():
    name = row.split(": ")[0].split(" ")[-1]
    if waiting:
        waiting = name != args["--after"]
        continue
    if args.get("--only", "") not in name:
        continue
    if row.endswith(": die"):
        sys.exit("lost in " + name)
    print(row, flush=True)
    if ": error " in row:
        sys.exit(1)
"""


class Words(unittest.TestCase):
    def same(self, rule, expected, found):
        return compare.difference(compare.Line(f"{rule} x: {expected}".strip()), compare.Line(f"{rule} x: {found}".strip())) is None

    def test_exact(self):
        self.assertTrue(self.same("", "3f800000 #12345678", "3f800000 #12345678"))
        self.assertFalse(self.same("", "3f800000 #12345678", "3f800000 #12345679"))
        self.assertFalse(self.same("", "3f800000 7fc00000", "3f800001 7fc00000"))
        self.assertFalse(self.same("", "00 01", "00"))

    def test_nan_bits_count_when_exact(self):
        self.assertFalse(self.same("", "7fffffff", "7fc00000"))
        self.assertTrue(self.same("~ulp1", "7fffffff", "7fc00000"))

    def test_ulps(self):
        self.assertTrue(self.same("~ulp2", "3f800000", "3f800002"))
        self.assertFalse(self.same("~ulp2", "3f800000", "3f800003"))
        self.assertTrue(self.same("~ulp2", "3f800000", "3f7fffff"))
        self.assertTrue(self.same("~ulp1", "00000000", "80000000"))
        self.assertTrue(self.same("~ulp2", "00000001", "80000001"))
        self.assertFalse(self.same("~ulp1", "00000001", "80000001"))
        self.assertTrue(self.same("~ulp1", "3c00", "3c01"))
        self.assertFalse(self.same("~ulp1", "3ff0000000000000", "3ff0000000000002"))

    def test_relative_and_absolute(self):
        self.assertTrue(self.same("~rel1e-3", "3f800000", "3f801000"))
        self.assertFalse(self.same("~rel1e-3", "3f800000", "3f810000"))
        self.assertTrue(self.same("~ulp1~abs1e-6", "00000000", "35000000"))
        self.assertFalse(self.same("~ulp1~abs1e-6", "00000000", "36000000"))
        self.assertFalse(self.same("~rel1e-3", "7f800000", "7f7fffff"))

    def test_rules_must_agree(self):
        self.assertIsNotNone(compare.difference(compare.Line("x: 3f800000"), compare.Line("~ulp9 x: 3f800000")))

    def test_faults(self):
        fault, other, value = (compare.Line(f"x: {t}") for t in ("error cudaErrorIllegalAddress", "error cudaErrorLaunchFailure", "00"))
        self.assertIsNone(compare.difference(fault, other))
        self.assertIsNotNone(compare.difference(fault, value))
        self.assertIsNotNone(compare.difference(value, fault))


class Runs(unittest.TestCase):
    def compare(self, recorded, printed, known="", only=""):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, text in (("recorded", recorded), ("printed", printed), ("known", known), ("program", PROGRAM)):
                (folder / name).write_text(text)
            command = [sys.executable, HERE / "compare.py", "--topic", "t", "--recording", folder / "recorded", "--known",
                       folder / "known"] + (["--only", only] if only else [])
            done = subprocess.run(command + ["--", sys.executable, folder / "program", folder / "printed"],
                                  capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def test_agreement(self):
        self.assertEqual(self.compare("# GPU\na: 1\nb: 2", "a: 1\nb: 2")[0], 0)

    def test_difference_names_the_case(self):
        rc, text = self.compare("a: 1\nb: 2", "a: 1\nb: 3")
        self.assertEqual(rc, 1)
        self.assertIn("b: 1 of 1 words", text)

    def test_missing_and_new_cases(self):
        self.assertIn("no line printed", self.compare("a: 1\nb: 2", "a: 1")[1])
        self.assertIn("not in the recording", self.compare("a: 1", "a: 1\nb: 2")[1])

    def test_goes_on_behind_a_fault(self):
        text = "a: 1\nb: error X\nc: 3\nd: error Y\ne: 5"
        self.assertEqual(self.compare(text, text)[0], 0)

    def test_goes_on_behind_a_silent_death(self):
        rc, text = self.compare("a: 1\nb: 2\nc: 3\nd: 4", "a: 1\nb: die\nc: 3\nd: 5")
        self.assertEqual(rc, 1)
        self.assertIn("lost in b", text)
        self.assertIn("4 cases recorded, 2 agree, 2 differ", text)

    def test_gives_up_on_a_program_that_prints_nothing(self):
        rc, text = self.compare("a: 1\nb: 2\nc: 3", "")
        self.assertEqual(rc, 1)  # ends well, but without the cases
        broken = PROGRAM.replace("import sys", "import sys; sys.exit('no GPU here')", 1)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "recorded").write_text("a: 1\nb: 2\nc: 3")
            (folder / "program").write_text(broken)
            done = subprocess.run([sys.executable, HERE / "compare.py", "--topic", "t", "--recording", folder / "recorded", "--",
                                   sys.executable, folder / "program", "x"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("no GPU here"), 1)

    def test_known_differences(self):
        self.assertEqual(self.compare("a: 1\nb: 2", "a: 1\nb: 3", "t/b: not yet\nother/a: elsewhere")[0], 0)
        rc, text = self.compare("a: 1\nb: 2", "a: 1\nb: 2", "t/b*: not yet")
        self.assertEqual(rc, 1)
        self.assertIn("differs no more", text)

    def test_known_needs_a_reason(self):
        self.assertNotEqual(self.compare("a: 1", "a: 1", "t/a")[0], 0)

    def test_only(self):
        self.assertEqual(self.compare("a1: 1\nb1: 2", "a1: 9\nb1: 2", only="b")[0], 0)

    def test_program_that_does_not_start(self):
        done = subprocess.run([sys.executable, HERE / "compare.py", "--topic", "wgmma", "--", "/nonexistent"], capture_output=True)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()

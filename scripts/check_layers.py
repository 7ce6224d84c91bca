#!/usr/bin/env python3
"""Checks the includes under src/ptxbench against cmake/layers.txt, and who may use JSON, CUDA and HTTP headers."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Third-party headers that only some layers may see: (pattern, layers).
THIRD_PARTY = [
    (r"nlohmann/", {"schema", "service", "agent"}),
    (r"(cuda|cupti|cublas|cudnn|nvml)[A-Za-z_0-9]*\.h", {"gpu"}),
    (r"curl/", {"agent"}),
    (r"httplib\.h", {"service", "cli"}),
]


def layers():
    allowed = {}
    for line in (ROOT / "cmake/layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, deps = line.partition(":")
            allowed[name.strip()] = set(deps.split())
    return allowed


def main():
    allowed, faults, files = layers(), [], 0
    for path in sorted((ROOT / "src/ptxbench").rglob("*")):
        if path.suffix not in {".h", ".cc", ".def", ".inc"}:
            continue
        files += 1
        layer = path.relative_to(ROOT / "src/ptxbench").parts[0]
        where = path.relative_to(ROOT)
        if layer not in allowed:
            faults.append(f"{where}: folder '{layer}' is not a layer of cmake/layers.txt")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not match:
                continue
            header = match.group(2)
            if match.group(1) == '"':
                parts = header.split("/")
                if parts[0] != "ptxbench" or len(parts) < 3:
                    faults.append(f'{where}:{number}: write "ptxbench/<layer>/<file>", found "{header}"')
                elif parts[1] != layer and parts[1] not in allowed[layer]:
                    faults.append(f"{where}:{number}: layer '{layer}' must not include layer '{parts[1]}'")
            for pattern, users in THIRD_PARTY:
                if re.match(pattern, header) and layer not in users:
                    faults.append(f"{where}:{number}: <{header}> is for {sorted(users)} only")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{files} files, {len(faults)} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())

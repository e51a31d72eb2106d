"""Run them: ``python -m tests.libraries [--only peft]``. Exit status 1 where a test ends differently."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .catalogue import LIBRARIES, Library
from .sources import installed, unpacked

ROOT = Path(__file__).resolve().parents[2]


def outcomes(library: Library, *, inspected: bool, limit: int) -> dict[str, Any]:
    """How each of the library's tests ended."""
    root, site = unpacked(library), installed(library.needs)
    source = root / "src" if (root / "src").is_dir() else root
    with tempfile.TemporaryDirectory() as folder:
        outcomes_file = Path(folder) / "outcomes.json"
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, source, site))),
            "LIBRARIES_INSPECTED": str(int(inspected)),
            "LIBRARIES_OUTCOMES": str(outcomes_file),
            "AUTOGRAD_INSPECTOR_STRICT": "1",
            "HF_HUB_OFFLINE": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        tests = [test for test in library.tests if (root / test).exists()]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.libraries.plugin"]
        command += ["-p", "no:cacheprovider", "--timeout=120", "-W", "ignore"]
        command += ["--continue-on-collection-errors", *library.options]
        # The library's own settings of pytest may ask for plugins that are not here.
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8")
        command += ["-c", str(settings), "--rootdir", str(root)]
        with (Path(folder) / "output.txt").open("w+", encoding="utf-8") as output:
            subprocess.run(
                [*command, *tests], cwd=root, env=environment, stdout=output, stderr=output, timeout=limit, check=False
            )
            output.seek(0)
            text = output.read()
        recorded = json.loads(outcomes_file.read_text(encoding="utf-8")) if outcomes_file.exists() else {"ended": {}}
        if not recorded["ended"]:
            raise SystemExit(f"{library.name}: no test ran\n{text[-3000:]}")
        return recorded


def differences(plain: dict[str, Any], inspected: dict[str, Any]) -> list[str]:
    """The tests that end differently, or under which recording stopped."""
    before, after = plain["ended"], inspected["ended"]
    changed = [
        f"{name}: plain {before.get(name)}, inspected {after.get(name)}"
        for name in before | after
        if before.get(name) != after.get(name)
    ]
    return changed + [f"{name}: {why}" for name, why in inspected["stopped"].items()]


def main() -> int:
    """Run the libraries' tests twice and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.libraries", description=__doc__)
    parser.add_argument("--only", choices=[library.name for library in LIBRARIES], help="one library alone")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one run of one library's tests")
    options = parser.parse_args()
    apart = 0
    for library in LIBRARIES:
        if options.only not in {None, library.name}:
            continue
        started = time.perf_counter()
        plain = outcomes(library, inspected=False, limit=options.limit)
        between = time.perf_counter()
        inspected = outcomes(library, inspected=True, limit=options.limit)
        changed = differences(plain, inspected)
        passed = sum(ended["outcome"] == "passed" for ended in plain["ended"].values())
        times = f"{between - started:.0f} s plain, {time.perf_counter() - between:.0f} s inspected"
        print(f"{library.name}: {len(plain['ended'])} tests, {passed} pass plain, {len(changed)} differ ({times})")
        for line in changed:
            print(f"  {line}")
        apart += len(changed)
    return min(apart, 1)


if __name__ == "__main__":
    sys.exit(main())

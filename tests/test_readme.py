"""The README is what the code is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)


def test_rule_table_is_generated_from_the_catalogue():
    """README's table is what scripts/rule_table.py makes of the rules."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "rule_table.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run: python scripts/rule_table.py"


def test_every_make_target_that_the_readme_names_exists():
    """A command that the README shows can be typed."""
    named = set(re.findall(r"^ +make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert named <= targets


def test_the_first_example_is_real(tmp_path):
    """What the README shows of its first program is what the command prints of it, word by word."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program, printed = (
        re.sub("^    ", "", block.lstrip("\n"), flags=re.MULTILINE) for block in _BLOCK.findall(text)[:2]
    )
    (tmp_path / "train.py").write_text(program, "utf-8")
    command = [sys.executable, "-m", "autograd_inspector", "run", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert printed.startswith("error AG201")
    assert printed in done.stderr

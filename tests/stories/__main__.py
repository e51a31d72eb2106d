"""The demo: run the five stories under the inspector, and show what broke, where, and what to write instead.

``python -m tests.stories`` tells one variant of each story, ``--all`` tells every one; each leaves an HTML
report in ``reports/``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from autograd_inspector import Report
    from autograd_inspector.model.finding import Finding
    from autograd_inspector.model.location import Location

    from .story import Story

REPORTS = Path("reports")
COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}
console = Console(highlight=False)


def say(text: str, style: str = "", indent: int = 2) -> None:
    """Print a paragraph; nothing in it is taken for markup."""
    console.print(Padding(Text(text, style=style), (0, 0, 0, indent)))


def inspected_break(story: Story) -> tuple[str | None, Report]:
    """Run the broken program; its error, if it raised one, and the report."""
    import autograd_inspector

    from .story import error_text

    error = None
    with autograd_inspector.inspect() as inspection:
        try:
            story.broken()
        except Exception as raised:
            error = error_text(raised)
    return error, inspection.report


def inspected_repair(story: Story) -> Report:
    """Run the repaired program; the report."""
    import autograd_inspector

    with autograd_inspector.inspect() as inspection:
        story.repaired()
    return inspection.report


def alarms(report: Report) -> list[Finding]:
    """Errors and warnings, the gravest first."""
    return [finding for finding in report.findings if finding.severity != "info"]


def show_location(location: Location) -> None:
    """Print ``file:line  source``, on one line so that a terminal can open it."""
    path = Path(location.filename)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    line = Text(f"      {path}:{location.lineno}  {location.source.strip()}")
    console.print(line, soft_wrap=True)


def show_finding(finding: Finding) -> None:
    """Print a finding in short: what and why, the culprit's line, the fix."""
    say(f"{finding.rule} {finding.name} ({finding.severity})", COLOURS[finding.severity], indent=4)
    say(finding.message, indent=6)
    for location in finding.locations[:1]:
        show_location(location)
    say(f"fix: {finding.fix}", "green", indent=6)


def tell(story: Story) -> bool:
    """Tell one story; whether the report found the fault and is content with the repaired program."""
    start = time.perf_counter()
    error, report = inspected_break(story)
    say(f"what broke:  {error or 'no exception: it runs, and computes the wrong thing'}")
    reported = alarms(report)
    gravest = [finding for finding in reported if finding.severity == reported[0].severity]
    say("what the report says:" if reported else "the report says nothing is wrong")
    for finding in gravest:
        show_finding(finding)
    path = REPORTS / f"{story.slug}.html"
    report.to_html(path)
    left = alarms(inspected_repair(story))
    say(f"repaired:    {'nothing to report' if not left else ', '.join(f.rule for f in left)}")
    say(f"full report: {path}   ({time.perf_counter() - start:.1f} s)")
    return not left and any(finding.rule in story.rules for finding in reported)


def chosen(stories: tuple[Story, ...], *, every_variant: bool) -> list[Story]:
    """Every story, or the first variant of each number."""
    if every_variant:
        return list(stories)
    first: dict[int, Story] = {}
    for story in stories:
        first.setdefault(story.number, story)
    return list(first.values())


def main() -> int:
    """Tell the stories; 1 if the report was wrong about one of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.stories", description="The five stories.")
    parser.add_argument("--all", action="store_true", help="every variant, not just one of each story")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    say("loading torch, transformers, lightning, peft, trl …", "dim", indent=0)
    from .catalogue import STORIES

    REPORTS.mkdir(exist_ok=True)
    stories = chosen(STORIES, every_variant=options.all)
    total = stories[-1].number
    mistaken = []
    for story in stories:
        console.print()
        say(f"story {story.number} of {total} … {story.title}", "bold", indent=0)
        if not tell(story):
            mistaken.append(story.slug)
    console.print()
    if mistaken:
        say(f"the report was wrong about {', '.join(mistaken)}", "bold red", indent=0)
    say("The same in notebooks: `make lab` opens JupyterLab on the tutorials.", indent=0)
    return 1 if mistaken else 0


if __name__ == "__main__":
    sys.exit(main())

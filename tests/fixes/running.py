"""How a program of a case is run, and what is asked afterwards."""

from __future__ import annotations

import copy
import linecache
import math
import warnings
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import schedulefree
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.model.finding import Finding
from tests.fixes.cases import Case

NAMES = {
    "torch": torch,
    "nn": nn,
    "F": F,
    "copy": copy,
    "np": np,
    "math": math,
    "schedulefree": schedulefree,
    "checkpoint": checkpoint,
}
"""What the programs need not import."""


@dataclass(frozen=True)
class Run:
    """What a run left: the report, the names of the program, and what it raised."""

    report: Report
    names: dict[str, Any]
    raised: str

    @property
    def alarms(self) -> list[Finding]:
        """Findings that say something is wrong."""
        return [finding for finding in self.report.findings if finding.severity != "info"]

    def shows(self, symptom: str) -> bool:
        """Whether the symptom is there."""
        if not symptom:
            return bool(self.raised)
        with torch.inference_mode(mode=False), torch.no_grad():
            return bool(eval(symptom, self.names))

    def __str__(self) -> str:
        lines = [self.raised or "raised nothing"]
        for finding in self.report.findings:
            lines += [f"{finding.rule} {finding.severity}: {finding.message}", f"    fix: {finding.fix}"]
        return "\n".join([*lines, *self.report.notes])


def available(case: Case) -> bool:
    """Whether the libraries are there that the case needs."""
    return not case.needs or find_spec(case.needs) is not None


@cache
def run(case: Case) -> Run:
    """Run the program of a case in a block; grad mode is put back, whatever the program leaves."""
    program = case.sick
    filename = "<sick or repaired>"
    linecache.cache[filename] = (len(program), None, program.splitlines(keepends=True), filename)
    names, raised = dict(NAMES), ""
    torch.manual_seed(0)
    inspection = autograd_inspector.inspect(values=case.values)
    with warnings.catch_warnings(), torch.inference_mode(mode=False), torch.enable_grad():
        warnings.simplefilter("ignore")
        exec(case.before, names)
        try:
            with inspection:
                exec(compile(program, filename, "exec"), names)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
        finally:
            if torch.distributed.is_initialized():
                torch.distributed.destroy_process_group()
    return Run(inspection.report, names, raised)

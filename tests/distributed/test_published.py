"""Published cases: each is a program that test_programs runs, or a test of its own."""

import importlib

from tests.distributed.published import ALONE, PROGRAMS
from tests.distributed.score import PROGRAMS as FOLDER
from tests.distributed.score import loaded
from tests.practice.truth import CAUSE, marked


def test_each_case_of_ranks_is_a_sick_program_with_a_marked_line():
    """Its truth says by which rule, and test_programs that the rule names the line."""
    for name in PROGRAMS.values():
        truth = loaded(FOLDER / f"{name}.py").TRUTH
        assert (truth.healthy, bool(truth.rule), bool(marked(FOLDER / f"{name}.py", CAUSE))) == (False, True, True), (
            name
        )


def test_each_case_of_one_process_has_its_test():
    """By name."""
    module = importlib.import_module("tests.rules.test_published_cases")
    assert all(hasattr(module, name) for name in ALONE.values())

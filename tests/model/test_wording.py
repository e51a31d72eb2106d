"""Sentences agree in number, and long lists of names are cut."""

from __future__ import annotations

from collections import Counter

import pytest

from autograd_inspector.model.wording import agree, counted, join_names, summarize_names


@pytest.mark.parametrize(
    ("subject", "word"), [(1, "is"), (2, "are"), (0, "are"), (["a"], "is"), (("a", "b"), "are"), ({}, "are")]
)
def test_a_word_agrees_with_its_subject(subject, word):
    """One thing is, none and several are: by a count, or by the things themselves."""
    assert agree(subject, "is", "are") == word


def test_things_are_counted():
    """With the noun in number, and thousands apart."""
    assert counted(1, "step") == "1 step"
    assert counted(12_000, "step") == "12,000 steps"
    assert counted(2, "entry", "entries") == "2 entries"


def test_names_are_joined():
    """Each once, in order, and of many the rest is counted."""
    assert join_names(["b", "a", "b"]) == "b, a"
    assert join_names([]) == ""
    assert join_names("abcde", 3) == "a, b, c and 2 more"


def layers(*modules):
    return [f"{module}.{kind}" for module in modules for kind in ("weight", "bias")]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (layers("net.0", "net.2"), "net.0.weight, net.0.bias, net.2.weight, net.2.bias"),
        (layers("net.t5.0", "net.t5.1", "net.t5.2"), "net.t5.* (6 parameters)"),
        (layers("net.a", "net.b", "net.c"), "net.a.* (2 parameters), net.b.* (2 parameters), net.c.* (2 parameters)"),
        (layers("gen.0", "gen.1", "critic.0"), "gen.* (4 parameters), critic.* (2 parameters)"),
        ([*layers("net.a", "net.b"), "scale"], "net.* (4 parameters), scale"),
        (["p['a.w']", "p['a.b']", 'p["c.w"]', "p[0]", "p[i.j].w"], "p['a.w'], p['a.b'], p[\"c.w\"], p[0], p[i.j].w"),
        (
            layers("w['a.0']", "w['b.1']", "w['c.2']"),
            ", ".join(f"w[{k}].* (2 parameters)" for k in ("'a.0'", "'b.1'", "'c.2'")),
        ),
        (
            [f"the {k} of `exp` in m.{k}.0" for k in range(5)],
            ", ".join(f"the {k} of `exp` in m.{k}.0" for k in range(5)),
        ),
        (Counter({"Linear.weight": 4, "Linear.bias": 1}), "Linear.weight (4 parameters), Linear.bias"),
        (Counter(dict.fromkeys(layers("B.0", "B.1", "B.2"), 3)), ", ".join(f"B.{k}.* (6 parameters)" for k in "012")),
    ],
)
def test_many_names_are_summarized(names, said):
    """By the layer that has them all, by the layers of one model, or by the models."""
    assert summarize_names(names) == said


def test_a_module_whose_name_begins_with_a_bracket():
    """It is a part of the path like any other."""
    names = [f"net.{module}.{kind}" for module in ("a", "[b](c)", "d") for kind in ("weight", "bias")]
    assert "net.[b](c).* (2 parameters)" in summarize_names(names)

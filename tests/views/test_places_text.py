"""The lines of a finding, in whatever room there is."""

from __future__ import annotations

import re

import pytest

from autograd_inspector.model.location import Location
from autograd_inspector.views.text.places import Places
from autograd_inspector.views.text.report import rendered

SOURCE = "loss = F.cross_entropy(model(inputs), labels)"


def lines(width, *names):
    places = tuple(Location(f"/src/{name}", 7, source=SOURCE, role="computed here") for name in names)
    return rendered([Places(places)], width=width, color=False).splitlines()


def test_role_place_and_source_stand_beside_each_other():
    """One line each, in columns, where the source has room; the culprit's, which is the first, is marked."""
    first, second = lines(100, "train.py", "evaluate.py")
    assert first == f"> computed here  train.py:7     {SOURCE}"
    assert second.startswith("  computed here")
    assert second.index(SOURCE) == first.index(SOURCE)


def test_long_names_push_the_source_below():
    """The source stays in one piece under a long file name, for all lines of the finding alike."""
    found = lines(100, "train_the_variational_autoencoder_on_all_of_the_data.py", "train.py")
    assert found[1::2] == [f"      {SOURCE}"] * 2
    assert found[0].startswith("> ")
    assert found[2] == "  computed here  train.py:7"


@pytest.mark.parametrize("width", [20, 40, 60])
def test_nothing_is_lost_in_a_narrow_terminal(width):
    """Every character is there, in lines that are no longer than the terminal is wide."""
    found = lines(width, "train.py")
    assert max(map(len, found)) <= width
    assert SOURCE.replace(" ", "") in "".join(found).replace(" ", "")


@pytest.mark.parametrize("width", [48, 60, 80, 100])
def test_a_long_line_breaks_between_names(width):
    """A line that has no room goes on below after a blank, a bracket or a comma, or before an attribute."""
    source = (
        'optimizer.load_state_dict(checkpoint["optimizer_state_dict"],strict=False).and_more(self.features_of(mask))'
    )
    place = Location("/src/train.py", 7, source=source, role="loaded here")
    found = rendered([Places((place,))], width=width, color=False)
    assert max(map(len, found.splitlines())) <= width
    words = re.findall(r"\w+", source)
    assert [word for word in re.findall(r"\w+", found) if word in words] == words

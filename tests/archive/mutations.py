"""Damage done to a report's JSON, from a seed: what an editor, a broken disk or somebody hostile might do to it."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

HUGE = 10**30
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, -2, 5, 99_999, 2**31, 2**63, HUGE, -HUGE, 10**50, 0.5, 1e308, "", "x", "inf", "nan",
    "-1", "7", "\u0000", "\u202e", "x" * 10_000, [], {}, [[]], [0], [-1], [10**9], [None], {"a": 1}, "error", "</p>",
)  # fmt: skip


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value but the root, its key or index last."""
    paths = []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        paths += [(*path, key), *_paths(each, (*path, key))]
    return paths


def _at(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


class Damage:
    """Damaged copies of one report."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = json.loads(text)
        self.paths = _paths(self.data)
        self.lists = [path for path in self.paths if isinstance(_at(self.data, path), list)]
        # One path of each make: else nearly all damage would be done to the fields of ops.
        makes: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for path in self.paths:
            makes.setdefault(tuple("#" if isinstance(key, int) else key for key in path), []).append(path)
        self.makes = list(makes.values())

    def one(self, seed: int) -> bytes:
        """The report with damage of some kind, once or several times."""
        chance = random.Random(seed)
        if chance.random() < 0.15:
            return chance.choice(_TEXTUAL)(self.text, chance)
        data = copy.deepcopy(self.data)
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            try:
                chance.choice(_STRUCTURAL)(self, data, chance)
            except (KeyError, IndexError, TypeError, AttributeError, ValueError):
                continue  # An earlier damage took away what this one is about.
        return json.dumps(data).encode()

    def some_path(self, chance: random.Random) -> tuple[Any, ...]:
        return chance.choice(chance.choice(self.makes))


Structural = Callable[[Damage, Any, random.Random], None]


def _set(damage: Damage, data: Any, chance: random.Random) -> None:
    *outer, key = damage.some_path(chance)
    _at(data, tuple(outer))[key] = copy.deepcopy(chance.choice(ODD))


def _shift(damage: Damage, data: Any, chance: random.Random) -> None:
    """A number a little beside itself: the id of a neighbour, a length that is off by one."""
    numbers = [p for p in (damage.some_path(chance) for _ in range(40)) if type(_at(damage.data, p)) is int]
    *outer, key = numbers[0]
    _at(data, tuple(outer))[key] += chance.choice((-1, 1, -2, 2, -50, 50, 1000))


def _drop(damage: Damage, data: Any, chance: random.Random) -> None:
    *outer, key = damage.some_path(chance)
    del _at(data, tuple(outer))[key]


def _listed(damage: Damage, data: Any, chance: random.Random) -> None:
    """Members of a list twice, away, in another order, or all but a few."""
    members = _at(data, chance.choice(damage.lists))
    how = chance.randrange(6)
    if how == 0:
        members.append(copy.deepcopy(members[chance.randrange(len(members))]))
    elif how == 1:
        del members[chance.randrange(len(members))]
    elif how == 2:
        chance.shuffle(members)
    elif how == 3:
        del members[chance.randrange(len(members)) :]
    elif how == 4:
        members.reverse()
    else:
        members[:] = (members * chance.choice((2, 50)))[:2000]


def _exchange(damage: Damage, data: Any, chance: random.Random) -> None:
    """What belongs somewhere else."""
    *outer, key = damage.some_path(chance)
    _at(data, tuple(outer))[key] = copy.deepcopy(_at(data, damage.some_path(chance)))


def _renumber(damage: Damage, data: Any, chance: random.Random) -> None:
    """Every number of one make is another: all ids negative, huge or the same, all counts huge."""
    paths, number = chance.choice(damage.makes), chance.choice((-1, -2, 0, 1, 3 * 10**8, 10**12, 2**63, HUGE))
    for *outer, key in paths:
        if isinstance(_at(data, tuple(outer))[key], int):
            _at(data, tuple(outer))[key] = number


def _empty(damage: Damage, data: Any, chance: random.Random) -> None:
    tables = [path for path in damage.lists if len(path) <= 2]
    _at(data, chance.choice(tables)).clear()


def _deep(damage: Damage, data: Any, chance: random.Random) -> None:
    value: Any = 0
    for _ in range(chance.choice((3, 400))):
        value = [value] if chance.random() < 0.5 else {"frames": value}
    *outer, key = damage.some_path(chance)
    _at(data, tuple(outer))[key] = value


def _grown(damage: Damage, data: Any, chance: random.Random) -> None:
    """One record many times, each with a number of its own: a graph of thousands, calls nested as deep."""
    table = chance.choice([path for path in damage.lists if isinstance((_at(damage.data, path) or [0])[0], dict)])
    records = _at(data, table)
    for _ in range(2000):
        record = dict(records[-1])
        for key in ("id", "index"):
            if key in record:
                record[key] = len(records)
        if "parent" in record or chance.random() < 0.1:
            record["parent"] = len(records) - 1
        records.append(record)


_STRUCTURAL: tuple[Structural, ...] = (
    _set, _set, _set, _shift, _shift, _shift, _drop, _drop, _listed, _listed, _exchange, _renumber, _renumber, _empty,
    _deep, _grown,
)  # fmt: skip


def _flipped(text: str, chance: random.Random) -> bytes:
    data = bytearray(text.encode())
    for _ in range(chance.choice((1, 1, 5))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _cut(text: str, chance: random.Random) -> bytes:
    return text.encode()[: chance.randrange(len(text))]


def _spliced(text: str, chance: random.Random) -> bytes:
    data = text.encode()
    at, other = sorted(chance.randrange(len(data)) for _ in range(2))
    return data[:at] + data[other:]


def _digits(text: str, chance: random.Random) -> bytes:
    """A number that is thousands of digits long."""
    at = chance.choice([n for n, character in enumerate(text) if character.isdigit() and text[n - 1] in ":,["])
    return (text[:at] + "9" * chance.choice((45, 400, 5000)) + text[at:]).encode()


_TEXTUAL: tuple[Callable[[str, random.Random], bytes], ...] = (
    _flipped, _flipped, _cut, _spliced, _digits,
    lambda text, _: b"\xef\xbb\xbf" + text.encode(),
    lambda text, _: text.encode("utf-16"),
    lambda text, _: text.encode("utf-32"),
    lambda text, _: gzip.compress(text.encode()),
    lambda text, chance: chance.randbytes(chance.randrange(2000)),
    lambda text, chance: b"[" * chance.choice((100, 200_000)),
    lambda text, chance: b'{"schema":1,"capture":' + b'{"x":' * chance.choice((100, 200_000)),
    lambda text, chance: (text + text).encode(),
    lambda text, chance: text.replace('"', "'").encode(),
    lambda text, chance: text[:-1].encode() + b',"schema":2}',
    lambda text, chance: text[:-1].encode() + b',"capture":{}}',
    lambda text, chance: b"\0" * chance.randrange(1, 5000),
)  # fmt: skip

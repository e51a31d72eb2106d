"""Results of earlier training steps that pile up, each with its graph: what a list of losses keeps."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torch import Tensor

from autograd_inspector.capture.lines.keepers import keeper
from autograd_inspector.capture.recording.raw_records import FACT_BIRTH, OP_SITE
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.capture.recording.rounds import Rounds
from autograd_inspector.capture.tensors.attributes import has_history
from autograd_inspector.model.event import RetainedGraph

_HELD = 512
"""So many results are followed, the latest: the graphs of a program that keeps more are not searched in every round."""
_GROWS = 3
"""Results of so many rounds have piled up. Those of two are the last one and the best one, or the one before."""
_OUTLIVES = 2
"""So many steps of every other optimizer they have outlived: its round is over, and the next one as well."""
_SWEEPS = 3
"""So often unreachable objects are collected to see what is left: in a large program that takes its time. After that
only when twice as many rounds have begun as at the last time."""


class _Result(NamedTuple):
    """The site of the op that made it, and how many ops had run when a later round met it (-1: none has)."""

    site: int
    met: int


class _Pile:
    """The results of one statement: the most that were alive at once, and those of them that were still met later.

    A list keeps what it has until it lets go of all. A variable, or a buffer of the last few, exchanges its entries
    one after the other: of those that it had at first, none is met any more.
    """

    def __init__(self, results: dict[int, int], now: int) -> None:
        self.most = len(results)
        self.lasting = results
        self.seen = now

    def meet(self, results: Mapping[int, int], now: int) -> bool:
        """Look again; False once all have been let go of."""
        left = {tensor: met for tensor, met in self.lasting.items() if tensor in results}
        if left:
            self.lasting, self.seen = left, now
        return bool(left)

    def grown(self, rounds: Rounds, now: int) -> bool:
        """Whether what lasted had come together over several rounds, whoever's rounds are counted."""
        first = min(self.lasting)
        outlived = dict(rounds.between(first, self.seen))
        return all(outlived.get(optimizer, 0) >= _OUTLIVES for optimizer, _ in rounds.between(first, now)) and any(
            rounds.spanned(optimizer, self.lasting) >= _GROWS for optimizer in outlived
        )


class RetainedResults:
    """Looks, whenever a round's first backward begins, which results of earlier rounds are alive with their graphs.

    A variable that the loop assigns anew has let go of the older ones by then; a list has not.
    """

    def __init__(self) -> None:
        self.rounds = Rounds()
        self.piled: list[tuple[int, int]] = []
        """(tensor, how many ops had run when a later round met it) of all that have piled up."""
        self._held: dict[int, _Result] = {}
        self._piles: dict[int, _Pile] = {}
        """By the site of the op."""
        self._grown: dict[int, dict[int, int]] = {}
        """Site -> the largest pile that has come together there."""
        self._swept: set[int] = set()
        """Sites whose results were alive when unreachable objects had just been collected."""
        self._unowned: set[int] = set()
        """Sites whose results were not: each lives until the next collection."""
        self._sweeps = 0
        self._looks = 0
        self._next_sweep = 0
        self._start = 0

    def tensors(self) -> set[int]:
        """All that it knows of."""
        piles = (*self._grown.values(), *(pile.lasting for pile in self._piles.values()))
        return {*self._held, *(tensor for tensor, _ in self.piled)}.union(*piles)

    def look(self, recording: Records, leaves: Mapping[int, Tensor]) -> None:
        """A backward begins that is to reach those leaves."""
        if not self.rounds.begun(recording, leaves):
            return
        self._looks += 1
        now, at = len(recording.registry.entries), len(recording.ops)
        candidates = self._held | dict(self._fresh(recording))
        self._start = now
        self._held = {}
        sites: dict[int, dict[int, int]] = {}
        for number, tensor in recording.registry.alive(candidates):
            if has_history(tensor):
                site, met = candidates[number]
                if met < 0 and any(self.rounds.between(number, now)):
                    met = at
                self._held[number] = _Result(site, met)
                if met >= 0:
                    sites.setdefault(site, {})[number] = met
        self._compare(self._reachable(recording, sites), now)
        if len(self._held) > _HELD:
            self._relieve(now)
        self.rounds.forget(min([now, *self._held, *(min(pile.lasting) for pile in self._piles.values())]))

    def _fresh(self, recording: Records) -> Iterator[tuple[int, _Result]]:
        """What was made since the last look."""
        registry = recording.registry
        for number, entry in registry.entries.items(self._start):
            if entry.requires_grad and entry() is not None:
                made = recording.ops.get(registry.facts[number][FACT_BIRTH])
                if made is not None:
                    yield number, _Result(made[OP_SITE], -1)

    def _reachable(self, recording: Records, sites: dict[int, dict[int, int]]) -> dict[int, dict[int, int]]:
        """The same without what lives on in reference cycles alone, as a distribution that caches its own sample does.

        Nobody keeps that: the interpreter frees it sooner or later, unless the program has turned its collector off.
        What piles up and has not been looked at behind a collection yet may be of that kind, and is left out as well.
        """
        if not gc.isenabled():
            return sites
        sites = {site: results for site, results in sites.items() if site not in self._unowned}
        spanned = self.rounds.most_spanned
        piling = {site for site, results in sites.items() if spanned(results) >= _GROWS}.difference(self._swept)
        if piling and (self._sweeps < _SWEEPS or self._looks >= self._next_sweep):
            self._sweeps += 1
            self._next_sweep = 2 * self._looks
            gc.collect()
            alive = {number for number, _ in recording.registry.alive(self._held)}
            left = {site: {n: met for n, met in results.items() if n in alive} for site, results in sites.items()}
            self._swept |= piling
            self._unowned |= {site for site in piling if spanned(left[site]) < _GROWS}
            return {site: results for site, results in left.items() if site not in self._unowned}
        return {site: results for site, results in sites.items() if site not in piling}

    def _compare(self, sites: Mapping[int, dict[int, int]], now: int) -> None:
        for site in [site for site, pile in self._piles.items() if not pile.meet(sites.get(site, {}), now)]:
            self._close(site, now)
        for site, results in sites.items():
            pile = self._piles.get(site)
            if len(results) > (_GROWS - 1 if pile is None else pile.most):
                self._piles[site] = _Pile(results, now)

    def _close(self, site: int, now: int) -> bool:
        """The pile is complete; whether it is one."""
        pile = self._piles.pop(site)
        grown = pile.grown(self.rounds, now)
        if grown and len(pile.lasting) > len(self._grown.get(site, ())):
            self._grown[site] = pile.lasting
        return grown

    def _relieve(self, now: int) -> None:
        """Follow no more what has piled up for certain, and of the rest the latest."""
        closed_sites = {site for site in list(self._piles) if self._close(site, now)}
        rest = [(number, result) for number, result in self._held.items() if result.site not in closed_sites]
        self._held = dict(rest[-_HELD:])

    def finish(self, recording: Records) -> None:
        """The program is done."""
        for site in list(self._piles):
            self._close(site, len(recording.registry.entries))
        self.piled = sorted((tensor, met) for pile in self._grown.values() for tensor, met in pile.items())
        self._held.clear()
        self._grown.clear()

    def records(self, recording: Records) -> tuple[RetainedGraph, ...]:
        """What has piled up, with the line that puts it away where the source shows one."""
        keeper_of_site: dict[int, tuple[int, bool]] = {}
        records = []
        for tensor, met in self.piled:
            birth = recording.registry.facts[tensor][FACT_BIRTH]
            made = recording.ops.get(birth) if birth >= 0 else None  # None also where an interrupt cut the op short.
            site = made[OP_SITE] if made is not None else -1
            if site not in keeper_of_site:
                keeper_of_site[site] = keeper(recording.stacks, site) if site >= 0 else (-1, False)
            records.append(RetainedGraph(tensor, met, *keeper_of_site[site]))
        return tuple(records)

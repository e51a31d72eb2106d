"""The same work under every tool, as multiples of the work alone."""

from __future__ import annotations

from .clock import Timing, Work, interleaved, seconds, timed
from .display import Row, Section, microseconds, milliseconds, progress
from .peers import PEERS, Peer
from .workloads import Subject

PATIENCE = 60.0
"""A tool whose first call takes longer is not called again."""

FORWARD, BACKWARD = "forward alone", "forward + backward alone"


class Comparison:
    """One subject under all tools."""

    def __init__(self, subject: Subject, *, rounds: int) -> None:
        self.subject = subject
        self.rounds = rounds
        self.timings: dict[str, Timing] = {}
        self.notes: list[str] = []

    def run(self, *, lingering: bool) -> None:
        """Measure the tools that leave torch as it was (first), or those that do not."""
        works: dict[str, Work] = {}
        if not lingering:
            works[FORWARD], works[BACKWARD] = timed(self.subject.forward), timed(self.subject.forward_backward)
        for peer in PEERS:
            if peer.lingers == lingering and self._usable(peer):
                works[peer.name] = timed(lambda run=peer.run: run(self.subject))
        if works:
            progress(f"{len(works)} works on {self.subject.name}, {self.rounds} rounds")
            self.timings |= interleaved(works, self.rounds)

    def _usable(self, peer: Peer) -> bool:
        """Whether it works here, and in reasonable time: a first call tells."""
        if why := peer.missing():
            self.notes.append(f"{peer.name}: not installed here ({why})")
            return False
        try:
            spent = seconds(lambda: peer.run(self.subject))
        except Exception as error:
            self.notes.append(f"{peer.name}: fails here ({type(error).__name__}: {str(error)[:120]})")
            return False
        if spent > PATIENCE:
            self.timings[peer.name] = Timing((spent,))
            self.notes.append(f"{peer.name}: one call only, it took {spent:.0f} s")
            return False
        return True

    def section(self) -> Section:
        """The table: each tool against the work that it includes."""
        rows = [Row(name, 1.0, 1.0, self._figure(self.timings[name])) for name in (FORWARD, BACKWARD)]
        for peer in PEERS:
            timing = self.timings.get(peer.name)
            if timing is not None:
                floor = self.timings[BACKWARD if peer.backward else FORWARD]
                name = f"{peer.name} (+ backward)" if peer.backward else peer.name
                rows.append(Row(name, timing.times(floor), timing.typical(floor), self._figure(timing)))
        return Section(f"Other tools on {self.subject.name}", "the work alone", tuple(rows), tuple(self.notes))

    def _figure(self, timing: Timing) -> str:
        if self.subject.length:
            return f"{microseconds(timing.best / self.subject.length)} an op"
        return milliseconds(timing.best)


def measure(subjects: tuple[Subject, ...], *, rounds: int) -> list[Section]:
    """One table a subject."""
    comparisons = [Comparison(subject, rounds=rounds) for subject in subjects]
    for lingering in (False, True):
        for comparison in comparisons:
            comparison.run(lingering=lingering)
    return [comparison.section() for comparison in comparisons]

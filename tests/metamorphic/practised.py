"""Runs programs of practice as they are and rewritten, and tells where a report says something else.

`python -m tests.metamorphic.practised --count 500 --seed 1 [NAME...]` prints each difference.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import torch

from autograd_inspector import inspect
from tests.mutation.running import warm
from tests.practice.programs import every, loaded, name_of, truth_of

from .rewriting import KINDS, ORIGINAL, rewritten
from .running import Difference, Verdict, placed

LIMIT = 120
"""Seconds that a program may take."""
EACH = 5
"""So many variants of each program that is drawn: the original is run once for all of them."""
Pair = tuple[Path, str]
_LOOKS = ("values printed", "values logged", "values asserted", "values formatted", "values given to NumPy")
ANOTHER_PROGRAM = {
    # Where a state is stored, and no longer held by a variable alone, is named first.
    ("rl/stored_states_of_a_recurrent_ppo", "variables as attributes"),
    ("rl/stored_states_of_a_recurrent_ppo", "variables as items"),
    ("rl/sac_learned_temperature", "variables as attributes"),
    ("rl/sac_learned_temperature", "variables as items"),
    # Where the value that nothing uses is looked at, it is used.
    ("rl/ddpg_polyak", "values printed"),
    *(("vision/lottery_mask_hook", kind) for kind in _LOOKS),
    (
        "selfsupervised/barlow_twins_warmup",
        "statements in blocks",
    ),  # Python: a return ends on the line of `finally`.
}


def drawn(count: int, seed: int, names: Sequence[str] = ()) -> list[Pair]:
    """So many pairs of a program and a way to rewrite it, those of one program after each other."""
    random = Random(seed)
    sources = [source for source in every() if not names or any(part in name_of(source) for part in names)]
    random.shuffle(sources)
    each = min(len(KINDS), max(EACH, -(-count // max(1, len(sources)))))
    pairs = [(source, kind) for source in sources for kind in random.sample(KINDS, each)]
    return [pair for pair in pairs if (name_of(pair[0]), pair[1]) not in ANOTHER_PROGRAM][:count]


def differences(pairs: Iterable[Pair], seed: int, folder: Path) -> Iterator[Difference | None]:
    """For each pair what the reports differ in, None where they are the same."""
    originals: dict[Path, Counter[Verdict]] = {}
    for source, kind in pairs:
        if source not in originals:
            originals = {source: said(source, ORIGINAL, seed, folder)}
        before, after = originals[source], said(source, kind, seed, folder)
        yield None if before == after else Difference(kind, name_of(source), before, after)


def said(source: Path, kind: str, seed: int, folder: Path) -> Counter[Verdict]:
    """What the report says of a variant, run in a fork; one of NOTHING where there is no report."""
    text, lines = rewritten(source.read_text(encoding="utf-8"), kind, (), Random(f"{seed} {kind} {source.stem}"))
    path = folder / f"{source.parent.name}__{source.stem}__{kind.replace(' ', '_')}.py"
    path.write_text(text, encoding="utf-8")
    forks = multiprocessing.get_context("fork")
    receiver, sender = forks.Pipe(duplex=False)
    child = forks.Process(target=_send, args=(path, sender))
    child.start()
    sender.close()
    try:
        verdicts = receiver.recv() if receiver.poll(LIMIT) else [("does not end", "", "", 0)]
    except EOFError:
        verdicts = [("the process died", "", "", 0)]
    child.kill()
    child.join()
    return Counter(placed(verdict, {path.name: (kind, source.name, lines)}) for verdict in verdicts)


def _send(path: Path, sender) -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    warnings.simplefilter("ignore")
    try:
        sender.send(_verdicts(path))
    except BaseException as error:  # a program that cannot be run is a difference
        sender.send([(f"{error!r}", "", "", 0)])


def _verdicts(path: Path) -> list[Verdict]:
    module = loaded(path)
    if hasattr(module, "setup"):
        module.setup()
    try:
        with inspect(values=truth_of(module).values) as inspection:
            module.run()
    except Exception:
        pass
    verdicts = []
    for finding in inspection.report.findings:
        place = finding.locations[0] if finding.locations else None
        file, line = (Path(place.filename).name, place.lineno) if place else ("", 0)
        verdicts.append((finding.rule, finding.severity, file, line))
    return verdicts


def prepare() -> None:
    """Load what every fork needs; threads of a pool are not there in a fork, which would wait for them."""
    torch.set_num_threads(1)
    warm([])
    gc.collect()
    gc.freeze()


def main(arguments: list[str]) -> int:
    """Print the differences; 1 where there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of programs")
    parser.add_argument("--count", type=int, default=500, help="how many variants")
    parser.add_argument("--seed", type=int, default=1, help="others with each seed")
    options = parser.parse_args(arguments)
    prepare()
    pairs = drawn(options.count, options.seed, options.names)
    with TemporaryDirectory() as folder:
        told = [each for each in map(_print, differences(pairs, options.seed, Path(folder))) if each is not None]
    print(f"{len(pairs)} variants, {len(told)} differences")
    return bool(told)


def _print(difference: Difference | None) -> Difference | None:
    if difference is not None:
        print(difference, flush=True)
    return difference


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

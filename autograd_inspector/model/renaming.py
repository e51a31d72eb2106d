"""How the names of a checkpoint become those of a model: a wrapper's prefix on one side or the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

_DEEPEST = 4
_WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
Shape = tuple[int, ...]


class Renaming(Struct, frozen=True, omit_defaults=True):
    """``removed`` is the prefix that the checkpoint's names have too much, ``added`` the one that they lack.

    ``wrappers`` are removed wherever in a name they stand ("layers.0._orig_mod.weight").
    """

    removed: str = ""
    added: str = ""
    wrappers: tuple[str, ...] = ()

    def __call__(self, name: str) -> str:
        """The name that the model would use."""
        for wrapper in self.wrappers:
            name = name.replace(wrapper, "")
        return self.added + name.removeprefix(self.removed)

    def applies(self, name: str) -> bool:
        """Whether the name has what is to be removed; a name without it is none of the model's."""
        for wrapper in self.wrappers:
            name = name.replace(wrapper, "")
        return name.startswith(self.removed)

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.wrappers)


def renaming_of(saved: Mapping[str, Shape], wanted: Mapping[str, Shape]) -> Renaming:
    """The renaming under which most names agree in name and shape; none when the names agree as they are."""
    plain = _agreeing(Renaming(), saved, wanted)
    if plain == len(wanted) or not saved or not wanted:
        return Renaming()
    best, most = Renaming(), plain
    for candidate in _candidates(saved, wanted):
        agreeing = _agreeing(candidate, saved, wanted)
        if agreeing > most:
            best, most = candidate, agreeing
    return best if most * 2 >= min(len(wanted), len(saved)) and most > plain else Renaming()


def bare(name: str) -> str:
    """A name without the prefixes of wrappers, whoever put them there."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def wrapper_of(prefix: str) -> str:
    """What puts a prefix before every name, as far as its own name tells."""
    wrappers = {
        "module": "DistributedDataParallel or DataParallel",
        "_orig_mod": "torch.compile",
        "_fsdp_wrapped_module": "FullyShardedDataParallel",
        "_checkpoint_wrapped_module": "checkpoint_wrapper",
    }
    return " in ".join(dict.fromkeys(wrappers[part] for part in reversed(prefix.split(".")) if part in wrappers))


def _candidates(saved: Iterable[str], wanted: Iterable[str]) -> Iterable[Renaming]:
    names = list(saved)
    inside = tuple(wrapper for wrapper in _WRAPPERS if any(wrapper in name for name in names))
    for removed in _prefixes(names):
        for added in _prefixes(list(wanted)):
            yield Renaming(removed, added)
    if inside:
        yield Renaming("", "", inside)
        yield from (
            Renaming(removed, "", inside) for removed in _prefixes([Renaming("", "", inside)(n) for n in names])
        )


def _prefixes(names: Sequence[str]) -> list[str]:
    """The prefixes that at least half of the names have, the empty one first."""
    prefixes = [""]
    for _ in range(_DEEPEST):
        longest = prefixes[-1]
        heads = Counter(
            name[len(longest) :].partition(".")[0] + "."
            for name in names
            if name.startswith(longest) and "." in name[len(longest) :]
        )
        if not heads or heads.most_common(1)[0][1] * 2 < len(names):
            break
        prefixes.append(longest + heads.most_common(1)[0][0])
    return prefixes


def _agreeing(renaming: Renaming, saved: Mapping[str, Shape], wanted: Mapping[str, Shape]) -> int:
    return sum(wanted.get(renaming(name)) == shape for name, shape in saved.items() if renaming.applies(name))

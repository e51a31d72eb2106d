"""Where the program made the object whose method entered inference mode: ``trainer`` of ``trainer.validate()``."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.freezing.bound_before import bound_before
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import ReceiverBound
from autograd_inspector.source.collected import Collected


def receivers_bound(recording: Recording) -> Iterator[ReceiverBound]:
    """One event for each statement, of the regions that a library entered."""
    entered = (region.site for region in recording.regions if region.kind == "inference_mode")
    sites = dict.fromkeys(site for site in entered if site >= 0)
    for site in sites:
        chain = recording.stacks.chains[site]
        if chain and chain[0][2]:
            found = dict.fromkeys(bound_before(recording, site, Collected.receiver, adding=False))
            for statement, _ in found:
                yield ReceiverBound(len(recording.ops), statement, site)

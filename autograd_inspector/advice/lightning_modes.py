"""Lightning's Trainer: it validates, tests and predicts under inference mode, unless it was made not to."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Region
from autograd_inspector.model.program_events import ReceiverBound

_PACKAGES = ("/lightning/pytorch/", "/pytorch_lightning/")
_TRAINER = "Trainer."


def entered_by_trainer(analysis: Analysis, region: Region) -> bool:
    """Whether the Trainer entered inference mode: a method of it called what did.

    Source: ``lightning.pytorch.loops.utilities._no_grad_context``, and ``inference_mode`` of the Trainer.
    """
    frames = [frame for frame in analysis.capture.site(region.site) if frame.library]
    return region.kind == "inference_mode" and any(
        frame.function.startswith(_TRAINER) and any(name in frame.filename.replace("\\", "/") for name in _PACKAGES)
        for frame in frames
    )


def without_inference_mode(called: str) -> str:
    """What to do about it, where ``trainer.validate`` was called."""
    return (
        "Create the Trainer with `inference_mode=False`, and compute this under `torch.enable_grad()`: "
        f"`{called}()` enters inference mode otherwise, in which enable_grad() records nothing."
    )


def trainer_made(analysis: Analysis, region: Region) -> tuple[Location, ...]:
    """The statements that made the Trainer, where the source shows them."""
    events = (event for event in analysis.capture.events_of(ReceiverBound) if event.made == region.site)
    return tuple(place for event in events for place in analysis.user_frames(event.site, "trainer created here")[:1])

"""AG703: units that are never active, and functions that are flat where they are used."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.vitals.activity import dead_rows, saturated_rows
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.vitals import ModuleVitals


def check(analysis: Analysis) -> Iterator[Problem]:
    """Hidden units are 0 in every step, or sigmoids and tanhs are saturated. Needs `values=True`.

    Why it matters
        The derivative is 0 or almost 0 there: no gradient passes through the unit to earlier layers, so the unit cannot
        recover. Common causes are a step that was too large, a bias far below 0, or inputs that are not normalized.

    Example
        ::

            model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
            nn.init.constant_(model[0].bias, -20.0)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(24):
                optimizer.zero_grad()
                model(torch.randn(32, 4)).pow(2).mean().backward()
                optimizer.step()

    Fix
        ::

            model = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(), nn.Linear(16, 1))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(24):
                optimizer.zero_grad()
                model(torch.randn(32, 4)).pow(2).mean().backward()
                optimizer.step()

    References
        Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010; Maas,
        Hannun and Ng, "Rectifier Nonlinearities Improve Neural Network Acoustic Models", 2013.
    """
    vitals = analysis.capture.vitals
    for row in dead_rows(vitals):
        yield _dead(analysis, row)
    for row in saturated_rows(vitals):
        yield _saturated(analysis, row)


def _dead(analysis: Analysis, row: ModuleVitals) -> Problem:
    return Problem(
        "warning",
        f"{row.never:,} of {row.units:,} units of {_called(analysis, row)} are 0 for every input in all "
        f"{len(row.dead.measured):,} kept steps: no gradient passes through them",
        "Check the learning rate, the bias and the scale of the inputs; `leaky_relu` and `gelu` have a gradient "
        "below 0.",
        analysis.user_frames(row.site, "applied here"),
        (_called(analysis, row),),
    )


def _saturated(analysis: Analysis, row: ModuleVitals) -> Problem:
    share = row.saturated.last or 0.0
    return Problem(
        "warning",
        f"{share:.0%} of the values that {_called(analysis, row)} returns are saturated: the derivative there is below a hundredth of "
        "its maximum, so almost no gradient passes through",
        "Scale down or normalize the inputs (`nn.LayerNorm`).",
        analysis.user_frames(row.site, "applied here"),
        (_called(analysis, row),),
    )


def _called(analysis: Analysis, row: ModuleVitals) -> str:
    """As the graph has it: a single model's name stands before its modules."""
    models = analysis.capture.models
    path = f"{models[0]}.{row.path}" if row.path and len(models) == 1 and models[0] else row.path
    return f"{path} ({row.op or row.type})" if path else f"`{row.op or row.type}`"

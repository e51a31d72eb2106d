"""AG705: a layer whose gradient is all noise."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.vitals.noise import noisy_layers
from autograd_inspector.model.finding import Problem


def check(analysis: Analysis) -> Iterator[Problem]:
    """A gradient that is all noise, unlike those of the layers around it. Needs `values=True`.

    Why it matters
        Gradients of two batches that agree on a direction have a cosine similarity above 0. If it is 0 step after step,
        the layer does a random walk: its targets or its inputs are unrelated to what it should learn, or the batch is
        too small for it. The other layers train normally, so the loss hardly shows it.

    Example
        ::

            body, good, bad = nn.Linear(16, 64), nn.Linear(64, 16), nn.Linear(64, 16)
            nn.init.zeros_(bad.weight)
            optimizer = torch.optim.SGD([*body.parameters(), *good.parameters(), *bad.parameters()], lr=0.01)
            for _ in range(48):
                inputs, unrelated = torch.randn(64, 16), torch.randn(64, 16)
                hidden = body(inputs).tanh()
                loss = (bad(hidden) - unrelated).pow(2).mean() + (good(hidden) - inputs).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    Fix
        ::

            body, good, bad = nn.Linear(16, 64), nn.Linear(64, 16), nn.Linear(64, 16)
            nn.init.zeros_(bad.weight)
            optimizer = torch.optim.SGD([*body.parameters(), *good.parameters(), *bad.parameters()], lr=0.01)
            for _ in range(48):
                inputs = torch.randn(64, 16)
                hidden = body(inputs).tanh()
                loss = (bad(hidden) + inputs).pow(2).mean() + (good(hidden) - inputs).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    References
        McCandlish, Kaplan, Amodei et al., "An Empirical Model of Large-Batch Training", 2018.
    """
    for noisy in noisy_layers(analysis.capture):
        name = name_of(analysis, noisy.layer.vitals.tensor)
        yield Problem(
            "info",
            f"the gradient of {name} is all noise: its mean cosine similarity to the gradient of the previous step is "
            f"{abs(noisy.cosine):.2f}, that of the layers around it {noisy.around:.2f}",
            "Check that the targets and the inputs of this layer belong together. A larger batch, or gradient accumulation, "
            "averages noise out.",
            analysis.user_frames(noisy.layer.op.site, "used here"),
            (name,),
            (
                f"Over {noisy.steps:,} steps. The noise scale of the layers around it is about {noisy.scale:.1f} times the "
                "batch size.",
            ),
            (noisy.layer.op.index,),
        )

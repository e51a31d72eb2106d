"""AG303: a complex tensor whose imaginary part a cast drops."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

SIGNAL = torch.randn(4, 16, generator=torch.Generator().manual_seed(1))


def filtered(feature_of):
    gain, phase = nn.Parameter(torch.ones(9)), nn.Parameter(torch.zeros(9))
    optimizer = torch.optim.SGD([gain, phase], lr=0.1)
    for _ in range(2):
        spectrum = torch.fft.rfft(SIGNAL)
        trained(optimizer, feature_of(torch.complex(spectrum.real * gain, spectrum.imag + phase)).pow(2).mean())


@pytest.mark.parametrize("values", [False, True])
def test_cast_of_a_spectrum(values):
    """The parameter behind the imaginary part learns nothing; both parts, or a magnitude, drop nothing."""

    def cast(spectrum):
        return spectrum.to(torch.float32)  # cast

    diagnosed(
        lambda: filtered(cast), "AG303", "# cast", "phase", "imaginary", severity="warning", where=cast, values=values
    )
    calm(lambda: filtered(torch.view_as_real), lambda: filtered(torch.abs))

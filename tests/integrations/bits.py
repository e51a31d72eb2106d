"""Everything that a training has moved, as bytes that can be compared."""

import torch


def bits(model: torch.nn.Module) -> dict[str, bytes]:
    """The weights and buffers."""
    return {
        name: value.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        for name, value in model.state_dict().items()
    }


def grave(report) -> list[str]:
    """The codes of errors and warnings."""
    return [finding.rule for finding in report.findings if finding.severity != "info"]

"""Graphs that are sent away (AG503)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a tensor with its graph is pickled": case(
        "AG503",
        """
import multiprocessing.reduction
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
out = net(x)
data = multiprocessing.reduction.ForkingPickler.dumps(out)
""",
        by("Send `out.detach()` instead of out", "dumps(out)", "dumps(out.detach())"),
        by(
            "compute it under torch.no_grad() if it needs no gradient",
            "out = net(x)",
            "with torch.no_grad():\n    out = net(x)",
        ),
    ),
    "a tensor with its graph is copied": case(
        "AG503",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
out = net(x)
other = copy.deepcopy(out)
""",
        by("Copy `out.detach()` instead of out", "deepcopy(out)", "deepcopy(out.detach())"),
        by(
            "compute it under torch.no_grad() if it needs no gradient",
            "out = net(x)",
            "with torch.no_grad():\n    out = net(x)",
        ),
    ),
    "a model keeps features with their graph and is copied": case(
        "AG503",
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
    def forward(self, x):
        self.last = self.net(x)
        return self.head(self.last)
model = Model()
out = model(torch.randn(3, 4))
other = copy.deepcopy(model)
""",
        by(
            "keep the tensor itself under another name: `self.last = features.detach()`",
            "        self.last = self.net(x)\n        return self.head(self.last)",
            "        features = self.net(x)\n        self.last = features.detach()\n        return self.head(features)",
        ),
    ),
    "what has no name is copied with its graph": case(
        "AG503",
        """
net = nn.Linear(4, 4)
other = copy.deepcopy(net(torch.randn(3, 4)))
""",
        by(
            "Detach the output of net first (`.detach()`)",
            "net(torch.randn(3, 4)))",
            "net(torch.randn(3, 4)).detach())",
        ),
        by(
            "compute it under torch.no_grad() if it needs no gradient",
            "other =",
            "with torch.no_grad():\n    other =",
        ),
    ),
    "a list keeps features with their graph and is copied": case(
        "AG503",
        """
net = nn.Linear(4, 4)
kept = []
kept.append(net(torch.randn(3, 4)))
other = copy.deepcopy(kept)
""",
        by(
            "all detach() on the value that `kept.append(net(torch.randn(3, 4)))` stores in kept",
            "append(net(torch.randn(3, 4)))",
            "append(net(torch.randn(3, 4)).detach())",
        ),
        by(
            "compute it under torch.no_grad() if it needs no gradient",
            "kept.append",
            "with torch.no_grad():\n    kept.append",
        ),
    ),
}

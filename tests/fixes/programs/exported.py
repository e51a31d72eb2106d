"""Models that were exported in eval mode, and options and hooks that do less than they seem to."""

from __future__ import annotations

from tests.fixes.cases import by, case

ENCODER = """
encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5))
encoder.eval()
traced = torch.export.export(encoder, (torch.randn(6, 4),)).module()
"""
LEARNS = """
head = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*traced.parameters(), *head.parameters()], lr=0.1)
x = torch.ones(6, 4)
for _ in range(2):
    optimizer.zero_grad()
    head(traced(x)).pow(2).mean().backward()
    optimizer.step()
"""

CASES = {
    "a model is exported in eval mode": case(
        "AG411",
        ENCODER + LEARNS,
        by("into train mode before it is exported: `encoder.train()`", "encoder.eval()\n", "encoder.train()\n"),
        symptom="torch.equal(traced(x), traced(x))",
    ),
    "a model had been exported in eval mode": case(
        "AG411",
        LEARNS,
        by("Put the module into train mode before it is exported", "encoder.eval()\n", "encoder.train()\n"),
        before=ENCODER,
        symptom="torch.equal(traced(x), traced(x))",
    ),
    "a rate is written where no step reads it": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.5)
for step in range(3):
    optimizer.defaults["lr"] = 0.1 * (step + 1)
    optimizer.zero_grad()
    net(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Write to the groups",
            '    optimizer.defaults["lr"] = 0.1 * (step + 1)\n',
            '    for group in optimizer.param_groups:\n        group["lr"] = 0.1 * (step + 1)\n',
        ),
        by(
            "use a scheduler",
            '    optimizer.defaults["lr"] = 0.1 * (step + 1)\n',
            "",
            "lr=0.5)\n",
            "lr=0.5)\nscheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)\n",
            "    optimizer.step()\n",
            "    optimizer.step()\n    scheduler.step()\n",
        ),
        symptom='optimizer.param_groups[0]["lr"] == 0.5',
    ),
    "saved tensors come back in half precision": case(
        "AG415",
        """
def pack(tensor):
    return tensor if isinstance(tensor, nn.Parameter) else tensor.half()
def unpack(packed):
    return packed
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    loss = net(torch.ones(2, 3)).mean()
loss.backward()
""",
        by("Let the unpack hook return what the pack hook got", "    return packed\n", "    return packed.float()\n"),
    ),
    "an alignment is impossible": case(
        "AG304",
        """
net = nn.Linear(4, 5)
x = torch.randn(6, 2, 4)
targets = torch.tensor([[1, 2, 3, 1, 2, 3, 1], [1, 2, 0, 0, 0, 0, 0]])
scores = net(x).log_softmax(-1)
loss = nn.CTCLoss()(scores, targets, torch.tensor([6, 6]), torch.tensor([7, 2]))
loss.backward()
""",
        by(
            "A target that is longer than its input, or has repeated labels and too few steps between them, has no "
            "alignment, and its loss is infinite: leave such samples out",
            "(scores, targets, torch.tensor([6, 6]), torch.tensor([7, 2]))",
            "(scores[:, 1:], targets[1:], torch.tensor([6]), torch.tensor([2]))",
        ),
        by("use `nn.CTCLoss(zero_infinity=True)`", "nn.CTCLoss()", "nn.CTCLoss(zero_infinity=True)"),
        symptom="not torch.isfinite(loss)",
        values=True,
    ),
    "statistics are updated by the recomputation": case(
        "AG202",
        """
from torch.utils.checkpoint import checkpoint
first, norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
optimizer = torch.optim.SGD(first.parameters(), lr=0.0)
h = first(torch.randn(8, 4))
mean = h.mean(0).detach()
y = checkpoint(lambda h: norm(h).relu(), h, use_reentrant=False)
y.pow(2).mean().backward()
""",
        by(
            "Leave the normalization out of the checkpoint",
            "checkpoint(lambda h: norm(h).relu(), h,",
            "checkpoint(torch.relu, norm(h),",
        ),
        symptom="not torch.allclose(norm.running_mean, 0.1 * mean, atol=1e-6)",
    ),
}

"""What a checkpoint computes again with other values (AG202)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a checkpoint's input is modified before backward": case(
        "AG202",
        """
net = nn.Linear(4, 4)
mask = torch.ones(4)
def block(x):
    return net(x * mask)
x = torch.ones(3, 4)
out = checkpoint(block, x, use_reentrant=False)
mask.mul_(0)
out.sum().backward()
""",
        by("edit `mask.clone()` under another name", "mask.mul_", "halved = mask.clone()\nhalved.mul_"),
        by("edit it afterwards", "mask.mul_(0)\n", "", ".backward()\n", ".backward()\nmask.mul_(0)\n"),
        symptom="not net.weight.grad.any()",
    ),
    "several inputs of a checkpoint are modified before backward": case(
        "AG202",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
out = checkpoint(lambda x: net(x).tanh(), x, use_reentrant=False)
old = net.weight.detach().clone()
with torch.no_grad():
    for p in net.parameters():
        p.mul_(0)
seen = net.weight.detach().clone()
out.sum().backward()
optimizer.step()
""",
        by(
            "Do not modify net.weight, net.bias between forward and backward: edit them afterwards",
            "with torch.no_grad():\n    for p in net.parameters():\n        p.mul_(0)\n",
            "",
            "optimizer.step()\n",
            "optimizer.step()\nwith torch.no_grad():\n    for p in net.parameters():\n        p.mul_(0)\n",
        ),
        symptom="not torch.equal(old, seen)",
    ),
    "a step comes between a checkpoint and its backward": case(
        "AG202",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
out = checkpoint(lambda x: net(x).tanh(), x, use_reentrant=False)
net(x).sum().backward()
optimizer.step()
out.sum().backward()
""",
        by(
            "Call optimizer.step() only after the last backward()",
            "optimizer.step()\nout.sum().backward()",
            "out.sum().backward()\noptimizer.step()",
        ),
        symptom="not torch.allclose(net.bias.grad, 3 + (1 - out.detach()**2).sum(0))",
    ),
    "a checkpointed function saves and modifies a tensor": case(
        "AG202",
        """
net = nn.Linear(4, 4)
def block(x):
    y = net(x)
    z = y.exp()
    z.mul_(2)
    return z.sin()
x = torch.ones(3, 4)
out = checkpoint(block, x, use_reentrant=False)
out.sum().backward()
""",
        by("work on `z.clone()` there", "    z.mul_", "    z = z.clone()\n    z.mul_"),
        symptom="not torch.allclose(net.bias.grad, (2 * torch.cos(2 * net(x).exp()) * net(x).exp()).sum(0))",
    ),
    "a checkpointed function modifies what lives outside": case(
        "AG202",
        """
net = nn.Linear(4, 4)
mask = torch.ones(4)
def block(x):
    mask.mul_(0.5)
    return net(x * mask)
x = torch.ones(3, 4, requires_grad=True)
out = checkpoint(block, x, use_reentrant=True)
out.sum().backward()
""",
        by(
            "Compute out of place inside the checkpointed function",
            "    mask.mul_(0.5)\n    return net(x * mask)",
            "    return net(x * (mask * 0.5))",
        ),
        by("modify mask outside of it", "    mask.mul_(0.5)\n", "", "out = ", "mask.mul_(0.5)\nout = "),
        symptom="not torch.equal(net.weight.grad, torch.full((4, 4), 1.5))",
    ),
    "a checkpoint draws other numbers": case(
        "AG202",
        """
net = nn.Linear(4, 4)
x = torch.ones(3, 4)
def block(x):
    return net(x * torch.rand_like(x))
out = checkpoint(block, x, use_reentrant=False, preserve_rng_state=False)
out.sum().backward()
torch.manual_seed(0)
nn.Linear(4, 4)
drawn = torch.rand(3, 4)
""",
        by("Leave preserve_rng_state at True", ", preserve_rng_state=False", ""),
        symptom="not torch.allclose(net.weight.grad[0], drawn.sum(0))",
    ),
    "a checkpoint recomputes another forward": case(
        "AG202",
        """
net = nn.Linear(4, 4)
calls = 0
def block(x):
    global calls
    calls += 1
    return net(x).tanh() if calls == 1 else net(x)
x = torch.ones(3, 4)
checkpoint(block, x, use_reentrant=False).sum().backward()
""",
        by(
            "not on a counter, cache, mode or autocast that differs in backward",
            "    global calls\n    calls += 1\n    return net(x).tanh() if calls == 1 else net(x)",
            "    return net(x).tanh()",
        ),
    ),
}

"""Gradients that are clipped, changed or dropped too late (AG305)."""

from __future__ import annotations

from tests.fixes.cases import by, case

NET = """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
"""

CASES = {
    "gradients are clipped after the step": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    net(100 * x).mean().backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
""",
        by(
            "Clip between backward() and step()",
            "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n",
            "",
            "    optimizer.step()",
            "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n    optimizer.step()",
        ),
        symptom="(net.weight - start).norm() > 1",
    ),
    "gradients are clipped to a limit of zero": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.0)
    optimizer.step()
""",
        by("Pass a limit above 0", "net.parameters(), 0.0)", "net.parameters(), 1.0)"),
        by("skip the call", "    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.0)\n", ""),
        symptom="torch.equal(net.weight, start)",
    ),
    "gradients are clipped after steps in hooks": case(
        "AG305",
        """
net = nn.Linear(4, 1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}
def stepped(p):
    optimizers[p].step()
    optimizers[p].zero_grad()
for p in net.parameters():
    p.register_post_accumulate_grad_hook(stepped)
net(100 * x).mean().backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
""",
        by(
            "Clip each gradient in the hook, before its step()",
            "torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n",
            "",
            "    optimizers[p].step()",
            "    torch.nn.utils.clip_grad_norm_([p], 1.0)\n    optimizers[p].step()",
        ),
        symptom="(net.weight - start).norm() > 1",
    ),
    "gradients of another module are clipped": case(
        "AG305",
        NET
        + """
other = nn.Linear(4, 1)
for _ in range(2):
    optimizer.zero_grad()
    net(100 * x).mean().backward()
    torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
    optimizer.step()
""",
        by("Clip the parameters that the optimizer holds", "clip_grad_norm_(other.", "clip_grad_norm_(net."),
        symptom="(net.weight - start).norm() > 1",
    ),
    "a generator of parameters is used up for clipping": case(
        "AG305",
        """
net = nn.Linear(4, 1)
params = net.parameters()
optimizer = torch.optim.SGD(params, lr=0.1)
start = net.weight.detach().clone()
x = torch.ones(3, 4)
net(100 * x).mean().backward()
torch.nn.utils.clip_grad_norm_(params, 1.0)
optimizer.step()
""",
        by("`params = list(net.parameters())`", "params = net.parameters()", "params = list(net.parameters())"),
        by("call net.parameters() again for clipping", "norm_(params", "norm_(net.parameters()"),
        symptom="(net.weight - start).norm() > 1",
    ),
    "a step applies the gradient of the round before": case(
        "AG305",
        """
net, scale = nn.Linear(4, 1), nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
x = torch.ones(3, 4)
for i in range(3):
    for p in net.parameters():
        p.grad = None
    loss = net(x).mean()
    if i == 0:
        loss = loss * scale
    loss.backward()
    optimizer.step()
    last = scale.grad
""",
        by(
            "Assign the new gradients in every iteration",
            "    optimizer.step()",
            "    scale.grad = torch.zeros(1) if i else scale.grad\n    optimizer.step()",
        ),
        by(
            "clear them with zero_grad() where no loss reaches it",
            "    for p in net.parameters():\n        p.grad = None\n",
            "    optimizer.zero_grad()\n",
        ),
        symptom="last is not None and bool(last.any())",
    ),
    "gradients are dropped after the step": case(
        "AG305",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
start = net.weight.detach().clone()
x = torch.ones(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    head(net(x)).mean().backward()
    optimizer.step()
    for p in net.parameters():
        p.grad = None
""",
        by(
            "Drop them between backward() and step()",
            "    for p in net.parameters():\n        p.grad = None\n",
            "",
            "    optimizer.step()\n",
            "    for p in net.parameters():\n        p.grad = None\n    optimizer.step()\n",
        ),
        by("otherwise remove that line", "    for p in net.parameters():\n        p.grad = None\n", ""),
        symptom="not torch.equal(net.weight, start) and net.weight.grad is None",
    ),
    "gradients are dropped before there are any": case(
        "AG305",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
start = head.weight.detach().clone()
x = torch.ones(3, 4)
for i in range(2):
    optimizer.zero_grad()
    if i == 0:
        head.weight.grad = None
    head(net(x)).mean().backward()
    optimizer.step()
    if i == 0:
        first = head.weight.detach().clone()
""",
        by(
            "Drop them between backward() and step()",
            "    if i == 0:\n        head.weight.grad = None\n    head(net(x)).mean().backward()\n",
            "    head(net(x)).mean().backward()\n    if i == 0:\n        head.weight.grad = None\n",
        ),
        by("otherwise remove that line", "    if i == 0:\n        head.weight.grad = None\n", "    first = start\n"),
        symptom="not torch.equal(first, start)",
    ),
    "gradients are scaled after they are clipped": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    for _ in range(2):
        net(9 * torch.ones(3, 4)).sum().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    for p in net.parameters():
        p.grad.div_(6)
    optimizer.step()
norm = torch.cat([p.grad.flatten() for p in net.parameters()]).norm()
""",
        by(
            "Scale the gradients first, and clip them afterwards, right before step()",
            "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n",
            "",
            "    optimizer.step()\n",
            "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n    optimizer.step()\n",
        ),
        symptom="norm < 0.5",
    ),
    "gradients are changed after the step": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
    for p in net.parameters():
        p.grad.mul_(0.5)
""",
        by(
            "Change gradients between backward() and step()",
            "    for p in net.parameters():\n        p.grad.mul_(0.5)\n",
            "",
            "    optimizer.step()\n",
            "    for p in net.parameters():\n        p.grad.mul_(0.5)\n    optimizer.step()\n",
        ),
        symptom="torch.allclose(net.weight, start - 0.2)",
    ),
    "an optimizer steps twice for one backward": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
    optimizer.step()
""",
        by(
            "Call step() once after each backward()",
            "    optimizer.step()\n    optimizer.step()",
            "    optimizer.step()",
        ),
        symptom="(net.weight - start).abs().max() > 0.3",
    ),
    "LBFGS is stepped without a closure": case(
        "AG305",
        """
net = nn.Linear(4, 1)
fitter = torch.optim.LBFGS(net.parameters(), max_iter=2)
x = torch.ones(3, 4)
net(x).pow(2).mean().backward()
fitter.step()
""",
        by(
            "`fitter.step(closure)`",
            "net(x).pow(2).mean().backward()\nfitter.step()",
            "def closure():\n    fitter.zero_grad()\n    loss = net(x).pow(2).mean()\n    loss.backward()\n    return loss\n"
            "fitter.step(closure)",
        ),
    ),
}

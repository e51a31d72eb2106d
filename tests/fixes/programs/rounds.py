"""What goes wrong from one round to the next: averages, kept values, dropped losses, looked-up modules."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "weights are moved back by another value": case(
        "AG305",
        """
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, start, drift = torch.ones(4, 3), net.weight.detach().clone(), []
net(x).square().sum().backward()
kept = []
with torch.no_grad():
    for p in net.parameters():
        move = 0.1 * p.grad
        kept.append(move)
        p.add_(move)
optimizer.zero_grad()
net(x).square().sum().backward()
with torch.no_grad():
    for p, old in zip(net.parameters(), kept):
        back = 0.1 * p.grad
        p.sub_(back)
drift.append((net.weight - start).abs().max().item())
optimizer.step()
""",
        by("pass the same tensors to `sub_`", "p.sub_(back)", "p.sub_(old)"),
        by(
            "restore a copy of the weights",
            "kept.append(move)",
            "kept.append(p.clone())",
            "p.sub_(back)",
            "p.copy_(old)",
        ),
        symptom="drift[0] > 1e-4",
    ),
    "an average is written into the network that learns": case(
        "AG109",
        """
net = nn.Linear(4, 4)
slow = copy.deepcopy(net).requires_grad_(False)
began = slow.weight.clone()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 4)
for _ in range(3):
    optimizer.zero_grad()
    (net(x) - slow(x).tanh()).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        for trained, kept in zip(net.parameters(), slow.parameters()):
            trained.lerp_(kept, 0.1)
""",
        by("Write the average into the copy", "trained.lerp_(kept, 0.1)", "kept.lerp_(trained, 0.1)"),
        symptom="torch.equal(slow.weight, began)",
        before="import copy\n",
    ),
    "a checkpointed function looks the loop's variable up": case(
        "AG202",
        """
optimizer = torch.optim.SGD(stack.parameters(), lr=0.1)
h = torch.randn(5, 4, requires_grad=True) * 2
for block in stack:
    h = checkpoint(lambda x: block(x), h, use_reentrant=False)
h.pow(2).mean().backward()
optimizer.step()
""",
        by("Pass the module itself", "lambda x: block(x)", "block"),
        by("bind it when the function is defined", "lambda x: block(x)", "lambda x, block=block: block(x)"),
        symptom="not torch.allclose(stack[0].bias.grad, 6 * stack[2].bias.grad)",
        before="""
from torch.utils.checkpoint import checkpoint

stack = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
with torch.no_grad():
    for times, each in enumerate(stack, 1):
        each.weight.copy_(times * torch.eye(4))
""",
    ),
    "a residual reads its slope from .grad": case(
        "AG305",
        """
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    x = torch.rand(8, 1, requires_grad=True)
    u = net(x)
    u.sum().backward(retain_graph=True)
    slope = x.grad
    (slope + u).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "with torch.autograd.grad(..., create_graph=True)",
            "    u.sum().backward(retain_graph=True)\n    slope = x.grad\n",
            "    (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)\n",
        ),
        symptom="not slope.requires_grad",
    ),
    "backward stands behind the loop": case(
        "AG305",
        """
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batches = [torch.randn(4, 3) for _ in range(3)]
for _ in range(2):
    used = 0
    optimizer.zero_grad()
    for x in batches:
        loss = net(x).pow(2).mean()
        used = 1
    loss.backward()
    optimizer.step()
""",
        by(
            "Call backward() for each of them",
            "        used = 1\n    loss.backward()\n",
            "        loss.backward()\n        used += 1\n",
        ),
        by(
            "add them up",
            "    used = 0\n",
            "    used, total = 0, 0\n",
            "        used = 1\n    loss.backward()\n",
            "        total = total + loss\n        used += 1\n    total.backward()\n",
        ),
        symptom="used == 1",
    ),
    "a product is kept over the updates": case(
        "AG102",
        """
down, up, head = (nn.Parameter(torch.randn(3, 3)) for _ in range(3))
optimizer = torch.optim.SGD([down, up, head], lr=0.01)
product = None
for step in range(5):
    optimizer.zero_grad()
    merged = up @ down if product is None else product
    (torch.randn(4, 3) @ merged @ head).pow(2).mean().backward()
    optimizer.step()
    if step == 1:
        with torch.no_grad():
            product = up @ down
""",
        by(
            "discard the stored value when the parameters change",
            "if product is None else product",
            "if True else product",
        ),
        symptom="up.grad is None",
    ),
    "a scheduler steps at each micro-batch": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
for i in range(4):
    net(torch.randn(3, 4)).pow(2).mean().backward()
    if i % 2:
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()
""",
        by(
            "Call the scheduler's step() after optimizer.step()",
            "        optimizer.step()\n",
            "        optimizer.step()\n        scheduler.step()\n",
            "        optimizer.zero_grad()\n    scheduler.step()\n",
            "        optimizer.zero_grad()\n",
        ),
        symptom="scheduler.last_epoch == 4",
    ),
    "a scheduler steps first": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
rates = []
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    scheduler.step()
    rates.append(scheduler.get_last_lr()[0])
    optimizer.step()
""",
        by(
            "Call the scheduler's step() after optimizer.step()",
            "    scheduler.step()\n    rates.append(scheduler.get_last_lr()[0])\n    optimizer.step()\n",
            "    rates.append(scheduler.get_last_lr()[0])\n    optimizer.step()\n    scheduler.step()\n",
        ),
        symptom="rates[0] < 0.1",
    ),
    "divided losses, and steps in hooks": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}
stepped = []
def step(p):
    optimizers[p].step()
    optimizers[p].zero_grad()
    stepped.append(p)
def ignore(p):
    pass
for p in net.parameters():
    p.register_post_accumulate_grad_hook(step)
for x in torch.randn(4, 8, 4):
    loss = net(x).pow(2).mean() / 4
    loss.backward()
last = loss.grad_fn.name()
""",
        by("Do not divide the loss if each micro-batch is one step", "mean() / 4", "mean()"),
        by(
            "to accumulate, call step() after the last backward() of them instead of in a hook",
            "hook(step)",
            "hook(ignore)",
            "last = loss.grad_fn.name()",
            "last = loss.grad_fn.name()\nfor optimizer in optimizers.values():\n    optimizer.step()",
        ),
        symptom="len(stepped) == 8 and last.startswith('Div')",
    ),
}

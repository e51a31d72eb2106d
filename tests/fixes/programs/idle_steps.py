"""Steps without effect (AG413)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a step of one's own keeps the parameters that it once chose": case(
        "AG413",
        """
class Chosen(torch.optim.SGD):
    plan = None
    @torch.no_grad()
    def step(self, closure=None):
        parameters = self.param_groups[0]["params"]
        if self.plan is None or any(p.grad is None for p in parameters):
            self.plan = [p for p in parameters if p.grad is not None]
        for p in self.plan:
            p.sub_(0.1 * p.grad)
net = nn.Linear(4, 1)
optimizer = Chosen(net.parameters(), lr=0.1)
kept = []
for i in range(6):
    optimizer.zero_grad()
    if i != 1:
        net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    kept.append(net.weight.detach().clone())
""",
        by(
            "Make step() check the gradients in each call",
            "        if self.plan is None or any(p.grad is None for p in parameters):\n            self.plan",
            "        if True:\n            self.plan",
        ),
        symptom="torch.equal(kept[0], kept[-1])",
    ),
    "a scheduler is left behind": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for epoch in range(3):
    if epoch == 1:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by(
            "Create the scheduler again for the new optimizer: `ExponentialLR(optimizer, ...)`",
            "    if epoch == 1:\n        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n",
            "    if epoch == 1:\n        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)\n",
        ),
        symptom="optimizer.param_groups[0]['lr'] == 0.1",
    ),
    "a scheduler overwrites the learning rates of the groups": case(
        "AG413",
        """
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
start = body.weight.detach().clone()
optimizer = torch.optim.SGD([{"params": body.parameters(), "lr": 0.0}, {"params": head.parameters(), "lr": 0.1}])
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=4)
for i in range(4):
    optimizer.zero_grad()
    head(body(torch.ones(3, 4))).pow(2).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by(
            "Give OneCycleLR one value for each group, in the order of the groups, as in `max_lr=[...]`",
            "max_lr=0.1,",
            "max_lr=[0.0, 0.1],",
        ),
        symptom="not torch.equal(start, body.weight)",
    ),
    "a scheduler overwrites a learning rate": case(
        "AG413",
        """
net, tokens = nn.Linear(4, 1), nn.Parameter(torch.zeros(3, 4))
optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": [tokens]}], lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / 10)
for i in range(5):
    if i == 2:
        optimizer.param_groups[1]["lr"] = 0.0
        start = tokens.detach().clone()
    optimizer.zero_grad()
    net(torch.ones(3, 4) + tokens).pow(2).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by(
            "`scheduler.base_lrs[1] = ...`",
            '["lr"] = 0.0\n',
            '["lr"] = 0.0\n        scheduler.base_lrs[1] = 0.0\n',
        ),
        by("stop calling its step()", "    scheduler.step()", "    if i < 1:\n        scheduler.step()"),
        by(
            "freeze its parameters: `p.requires_grad_(False)` and `p.grad = None`",
            '        optimizer.param_groups[1]["lr"] = 0.0\n',
            "        tokens.requires_grad_(False)\n        tokens.grad = None\n",
        ),
        symptom="not torch.equal(start, tokens)",
    ),
    "a step of one's own drops what it computes": case(
        "AG413",
        """
class Plain(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p = p - 0.1 * p.grad
net = nn.Linear(4, 1)
optimizer = Plain(net.parameters())
start = net.weight.detach().clone()
for i in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by("`p.copy_(new_value)`", "p = p - 0.1 * p.grad", "p.copy_(p - 0.1 * p.grad)"),
        by("in place `p.sub_(lr * update)`", "p = p - 0.1 * p.grad", "p.sub_(0.1 * p.grad)"),
        symptom="torch.equal(start, net.weight)",
    ),
    "updates are rounded away": case(
        "AG413",
        """
net = nn.Linear(4, 1)
with torch.no_grad():
    net.weight.fill_(1.0)
    net.bias.fill_(1.0)
net.bfloat16()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
x = torch.ones(3, 4, dtype=torch.bfloat16)
start = net.weight.detach().clone()
for i in range(3):
    optimizer.zero_grad()
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
""",
        by(
            "Keep the parameters in float32 and compute in bfloat16 under torch.autocast()",
            "net.bfloat16()\n",
            "",
            "    loss = net",
            '    with torch.autocast("cpu", dtype=torch.bfloat16):\n        loss = net',
        ),
        by(
            "use an optimizer that keeps float32 copies of them",
            "optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)",
            "masters = [p.detach().float() for p in net.parameters()]\noptimizer = torch.optim.SGD(masters, lr=1e-1)",
            "    optimizer.step()",
            "    for m, p in zip(masters, net.parameters()):\n        m.grad = p.grad.float()\n    optimizer.step()\n    with torch.no_grad():\n        for m, p in zip(masters, net.parameters()):\n            p.copy_(m)",
            "    optimizer.zero_grad()",
            "    net.zero_grad()",
        ),
        symptom="torch.equal(start, net.weight)",
        values=True,
    ),
    "a warm-up by integer division stays at 0": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 100)
start = net.weight.detach().clone()
for i in range(5):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by("`(step + 1) / warmup_steps`", "step // 100", "(step + 1) / 100"),
        symptom="torch.equal(start, net.weight)",
    ),
    "a warm-up in steps is stepped once an epoch": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 4))
start = net.weight.detach().clone()
for i in range(5):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
scheduler.step()
""",
        by(
            "Call the scheduler's step() after each optimizer.step()",
            "    optimizer.step()\nscheduler.step()",
            "    optimizer.step()\n    scheduler.step()",
        ),
        by("`(step + 1) / warmup`", "step / 4", "(step + 1) / 4"),
        symptom="torch.equal(start, net.weight)",
    ),
    "an optimizer is given a learning rate of 0": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
start = net.weight.detach().clone()
for i in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by("Set a learning rate for optimizer: for example, `SGD(..., lr=1e-3)`", "lr=0.0", "lr=1e-3"),
        symptom="torch.equal(start, net.weight)",
    ),
    "a warm-up by hand stays at 0": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net.weight.detach().clone()
step = 0
for i in range(3):
    for group in optimizer.param_groups:
        group["lr"] = 0.1 * min(step / 2, 1)
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    if i % 10 == 9:
        step += 10
""",
        by("a warm-up counts the steps of the optimizer", "    if i % 10 == 9:\n        step += 10", "    step += 1"),
        by("and begins above 0, `(step + 1) / warmup`", "step / 2", "(step + 1) / 2"),
        symptom="torch.equal(start, net.weight)",
    ),
    "a schedule counts micro-batches": case(
        "AG413",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=4)
for i in range(8):
    net(torch.ones(3, 4)).mean().backward()
    if i % 2 == 1:
        rate = optimizer.param_groups[0]["lr"]
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()
""",
        by(
            "Set the length of the schedule to the number of calls to its step(): all updates of the training",
            "total_iters=4",
            "total_iters=8",
        ),
        by(
            "call it next to the optimizer's step(), not with every batch",
            "    scheduler.step()",
            "    if i % 2 == 1:\n        scheduler.step()",
        ),
        symptom="rate == 0",
    ),
    "a number of a parameter is read once": case(
        "AG413",
        """
net = nn.Linear(4, 1)
log_alpha = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
of_alpha = torch.optim.SGD([log_alpha], lr=0.1)
alpha = log_alpha.exp().item()
for _ in range(5):
    out = net(torch.ones(3, 4))
    loss = (alpha * out.square()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    of_alpha.zero_grad()
    (-log_alpha * (1 + out.detach().abs().mean())).mean().backward()
    of_alpha.step()
""",
        by(
            "Read the number again after each step",
            "    of_alpha.step()\n",
            "    of_alpha.step()\n    alpha = log_alpha.exp().item()\n",
        ),
        by(
            "use a tensor that is computed from `log_alpha.detach()` each time instead",
            "(alpha * out",
            "(log_alpha.detach().exp() * out",
        ),
        symptom="loss.item() == out.square().mean().item()",
    ),
}

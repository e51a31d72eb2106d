"""Parameters that something besides the optimizer writes: lost updates and loads, changes that stay (AG204, AG205, AG413, AG417)."""

from __future__ import annotations

from tests.fixes.cases import by, case

_FLOW = """
class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(4))
        self.done = torch.tensor(False)
    def forward(self, x):
        if not self.done:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
            self.done.fill_(True)
        return x + self.shift
"""

_LORA = """
base = nn.Linear(4, 4).requires_grad_(False)
down, up = nn.Parameter(torch.randn(4, 2)), nn.Parameter(torch.randn(2, 4))
optimizer = torch.optim.SGD([down, up], lr=0.1)
start = base.weight.clone()
for i in range(3):
    optimizer.zero_grad()
    x = torch.randn(8, 4)
    (base(x) + x @ down @ up).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        base.weight += (down @ up).T
        print(base(x).mean().item())
"""

_DEEP = """
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high, self.deep = nn.Linear(4, 1), nn.Linear(4, 1), True
    def forward(self, x):
        return (self.high(x) + self.low(x) if self.deep else self.high(x)).mean()

net = Deep()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""

_WRAPPED = """
class Slow(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner, self.defaults, self.state = inner, {}, {}
        self.param_groups = [dict(group) for group in inner.param_groups]
    def step(self, closure=None):
        return self.inner.step(closure)
net = nn.Linear(4, 1)
inner = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer = Slow(inner)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for i in range(4):
    net.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
    scheduler.step()
"""

CASES = {
    "an average stays in after an evaluation": case(
        "AG205",
        """
net = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.1))
average = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
jumped = []
for _ in range(4):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).pow(2).mean().backward()
    optimizer.step()
    with torch.no_grad():
        average[0].weight.lerp_(net[0].weight, 0.1)
        average[0].bias.lerp_(net[0].bias, 0.1)
    mine = net[0].weight.detach().clone()
    net.eval()
    with torch.no_grad():
        net[0].weight.copy_(average[0].weight)
        net[0].bias.copy_(average[0].bias)
        net(torch.ones(3, 4))
    net.train()
    jumped.append(not torch.equal(mine, net[0].weight))
""",
        by(
            "Copy their own values before the evaluation, and copy them back after it",
            "    net.eval()\n",
            "    kept = [p.detach().clone() for p in net.parameters()]\n    net.eval()\n",
            "        net(torch.ones(3, 4))\n    net.train()\n",
            "        net(torch.ones(3, 4))\n        for p, value in zip(net.parameters(), kept):\n            p.copy_(value)\n    net.train()\n",
        ),
        by(
            "Or evaluate a copy of the model that holds the averages",
            "        net[0].weight.copy_(average[0].weight)\n        net[0].bias.copy_(average[0].bias)\n        net(torch.ones(3, 4))\n",
            "        average.eval()(torch.ones(3, 4))\n",
        ),
        symptom="all(jumped)",
    ),
    "a layer is initialized by each forward": case(
        "AG413",
        """
class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(4))
        self.register_buffer("done", torch.tensor(False))
    def forward(self, x):
        if not self.done:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
        return x + self.shift
net = nn.Sequential(Shift(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
lost = []
for i in range(4):
    before = net[0].shift.detach().clone()
    loss = net(torch.randn(8, 4)).pow(2).mean()
    lost.append(not torch.equal(before, net[0].shift))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        by(
            "record in a buffer that it is done",
            "self.shift.copy_(-x.mean(0))",
            "self.shift.copy_(-x.mean(0))\n            self.done.fill_(True)",
        ),
        by(
            "use the computed tensor in the forward, and leave the parameter out",
            "        self.shift = nn.Parameter(torch.zeros(4))\n",
            "        self.shift = torch.zeros(4)\n",
            "                self.shift.copy_(-x.mean(0))\n",
            "                self.mean = x.mean(0)\n",
            "return x + self.shift",
            "return x - self.mean",
        ),
        symptom="all(lost)",
    ),
    "each forward rounds the weights": case(
        "AG413",
        """
class Rounded(nn.Linear):
    def forward(self, x):
        self.weight.data.copy_((self.weight.data / 0.5).round() * 0.5)
        return super().forward(x)
net = Rounded(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
net(torch.zeros(1, 4))
start = net.weight.detach().clone()
for i in range(3):
    optimizer.zero_grad()
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
net(torch.zeros(1, 4))
""",
        by(
            "compute with the rounded values: `q = w + (round(w) - w).detach()`",
            "        self.weight.data.copy_((self.weight.data / 0.5).round() * 0.5)\n        return super().forward(x)",
            "        q = self.weight + ((self.weight / 0.5).round() * 0.5 - self.weight).detach()\n"
            "        return F.linear(x, q, self.bias)",
        ),
        symptom="torch.equal(start, net.weight)",
    ),
    "a schedule moves copies of the groups": case(
        "AG413",
        _WRAPPED,
        by(
            "`self.param_groups = inner.param_groups`",
            "[dict(group) for group in inner.param_groups]",
            "inner.param_groups",
        ),
        by("create the scheduler for the inner optimizer", "ExponentialLR(optimizer", "ExponentialLR(inner"),
        symptom='inner.param_groups[0]["lr"] == 0.1',
    ),
    "an average is formed in the state of the first model": case(
        "AG204",
        """
first, second = nn.Linear(4, 2), nn.Linear(4, 2)
start = first.weight.detach().clone()
state = first.state_dict()
for name, value in second.state_dict().items():
    state[name] += value
    state[name] /= 2
average = nn.Linear(4, 2)
average.load_state_dict(state)
print(first(torch.ones(1, 4)).mean().item(), average(torch.ones(1, 4)).mean().item())
""",
        by(
            "`state = {name: value.clone() for name, value in model.state_dict().items()}`",
            "state = first.state_dict()",
            "state = {name: value.clone() for name, value in first.state_dict().items()}",
        ),
        symptom="not torch.equal(start, first.weight)",
    ),
    "a copy of a buffer is written and dropped": case(
        "AG205",
        """
class Counted(nn.Linear):
    def __init__(self):
        super().__init__(4, 2)
        self.register_buffer("count", torch.zeros(()))
    def forward(self, x):
        self.count.clone().add_(1)
        return super().forward(x)
net = Counted()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("Write into the buffer itself, without `clone()`", "self.count.clone().add_(1)", "self.count.add_(1)"),
        symptom="net.count == 0",
    ),
    "a forward overwrites what was loaded": case(
        "AG205",
        _FLOW
        + """
first, net = Flow(), Flow()
first(torch.ones(3, 4))
net.load_state_dict(copy.deepcopy(first.state_dict()))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 4)).pow(2).mean().backward()
moved = not torch.equal(net.shift, first.shift)
optimizer.step()
""",
        by(
            "keep the flag in a registered buffer",
            "self.done = torch.tensor(False)",
            'self.register_buffer("done", torch.tensor(False))',
        ),
        symptom="moved",
    ),
    "a merge that no evaluation undoes": case(
        "AG417",
        _LORA,
        by(
            "subtract the same value",
            "        print(base(x).mean().item())\n",
            "        print(base(x).mean().item())\n        base.weight -= (down @ up).T\n",
        ),
        by(
            "write back a copy of the weight from before the merge",
            "        base.weight += (down @ up).T\n        print(base(x).mean().item())\n",
            "        kept = base.weight.clone()\n        base.weight += (down @ up).T\n"
            "        print(base(x).mean().item())\n        base.weight.copy_(kept)\n",
        ),
        symptom="not torch.allclose(start, base.weight, atol=1e-5)",
    ),
    "an evaluation switches a head off": case(
        "AG417",
        _DEEP
        + """
for _ in range(2):
    net.train()
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.ones(3, 4)).backward()
        optimizer.step()
    learns = net.low.weight.grad is not None
    net.deep = False
    net.eval()
    with torch.no_grad():
        net(torch.ones(3, 4))
""",
        by(
            "Set `deep = True` again before training continues",
            "    net.train()\n",
            "    net.train()\n    net.deep = True\n",
        ),
        symptom="not learns",
    ),
    "a head is switched off": case(
        "AG417",
        _DEEP
        + """
for i in range(4):
    if i == 2:
        net.deep = False
    optimizer.zero_grad()
    net(torch.ones(3, 4)).backward()
    optimizer.step()
    learns = net.low.weight.grad is not None
""",
        by(
            "Set `deep = True` again if this part should be trained. If it is switched off on purpose, nothing needs to change",
            "    optimizer.zero_grad()\n",
            "    net.deep = True\n    optimizer.zero_grad()\n",
        ),
        symptom="not learns",
    ),
    "an export rounds the weights that are trained": case(
        "AG417",
        """
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
exported, lost = [], False
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(3, 4)).sub(1).pow(2).mean().backward()
    optimizer.step()
    old = model.weight.detach().clone()
    model.half()
    exported.append(model.state_dict())
    model.float()
    lost = lost or not torch.equal(old, model.weight)
""",
        by(
            "Convert a copy: `copy.deepcopy(model).half()`",
            "    model.half()\n    exported.append(model.state_dict())\n    model.float()\n",
            "    exported.append(copy.deepcopy(model).half().state_dict())\n",
        ),
        by(
            "or convert the tensors of the state_dict: `{name: t.half() for name, t in model.state_dict().items()}`",
            "    model.half()\n    exported.append(model.state_dict())\n    model.float()\n",
            "    exported.append({name: t.half() for name, t in model.state_dict().items()})\n",
        ),
        symptom="lost",
    ),
    "an adapter is merged by each of two eval()": case(
        "AG417",
        """
class Adapted(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        self.requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.ones(4, 2))
        self.merged = False
    def train(self, mode=True):
        with torch.no_grad():
            if mode and self.merged:
                self.weight -= self.up @ self.down
            if not mode:
                self.weight += self.up @ self.down
        self.merged = not mode
        return super().train(mode)
    def forward(self, x):
        y = super().forward(x)
        return y if self.merged else y + x @ self.down.t() @ self.up.t()

net = Adapted()
optimizer = torch.optim.SGD([net.down, net.up], lr=0.1)
start = net.weight.clone()
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    net.eval()
    net.eval()
    net.train()
""",
        by("Merge only where the weight is not merged yet", "if not mode:", "if not mode and not self.merged:"),
        symptom="not torch.allclose(start, net.weight, atol=1e-5)",
    ),
    "a copy is taken for a view of a weight": case(
        "AG205",
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 4).t())
    def forward(self, x):
        return x @ self.weight

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    try:
        with torch.no_grad():
            flat = net.weight.reshape(-1)
            flat.clamp_(min=0)
    except RuntimeError:
        net.weight.data.clamp_(min=0)
""",
        by(
            "`p[i, j] = value`",
            "            flat = net.weight.reshape(-1)\n            flat.clamp_(min=0)",
            "            net.weight[net.weight < 0] = 0",
        ),
        by(
            "`p.copy_(new_values)`",
            "            flat.clamp_(min=0)",
            "            net.weight.copy_(flat.clamp(min=0).view(4, 2))",
        ),
        by("`p.view(-1)`, which raises an error instead of copying", "net.weight.reshape(-1)", "net.weight.view(-1)"),
        symptom="(net.weight < 0).any()",
    ),
}

"""What is undone, done once too often, or done to a part alone, in loops that run well."""

from __future__ import annotations

from tests.fixes.cases import by, case

NET = """
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
x = torch.linspace(-1, 1, 32).reshape(8, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
"""

CASES = {
    "a perturbation is taken back behind the step": case(
        "AG413",
        NET
        + """
for _ in range(2):
    net(x).pow(2).mean().backward()
    saved = net[0].weight.data.clone()
    net[0].weight.data.add_(0.1 * net[0].weight.grad.sign())
    net(x).pow(2).mean().backward()
    optimizer.step()
    net[0].weight.data.copy_(saved)
    optimizer.zero_grad()
""",
        by(
            "Restore the saved values before step(), right after the last backward()",
            "    optimizer.step()\n    net[0].weight.data.copy_(saved)\n",
            "    net[0].weight.data.copy_(saved)\n    optimizer.step()\n",
        ),
        symptom="torch.equal(net[0].weight, start)",
    ),
    "the groups of a wrapper are not shared any more": case(
        "AG413",
        """
class Wrapper(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        self.param_groups, self.state, self.defaults = inner.param_groups, inner.state, inner.defaults
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
    def load_state_dict(self, state):
        self.inner.load_state_dict(state)
    def step(self, closure=None):
        return self.inner.step(closure)
net = nn.Linear(4, 1)
optimizer = Wrapper(torch.optim.SGD(net.parameters(), lr=0.1))
optimizer.load_state_dict(torch.optim.SGD(nn.Linear(4, 1).parameters(), lr=0.1).state_dict())
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for _ in range(3):
    net.zero_grad()
    net(torch.ones(2, 4)).pow(2).mean().backward()
    optimizer.step()
    scheduler.step()
""",
        by(
            "Share them again after the load: `self.param_groups = inner.param_groups`",
            "        self.inner.load_state_dict(state)",
            "        self.inner.load_state_dict(state)\n        self.param_groups = self.inner.param_groups",
        ),
        symptom="optimizer.inner.param_groups[0]['lr'] == 0.1",
    ),
    "a part is frozen before backward": case(
        "AG406",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    net[0].requires_grad_(False)
    loss.backward()
    optimizer.step()
    net[0].requires_grad_(True)
""",
        by(
            "Call requires_grad_(True) on them again before backward(), and freeze them only after it",
            "    loss.backward()\n",
            "    net[0].requires_grad_(True)\n    loss.backward()\n",
        ),
        symptom="torch.equal(net[0].weight, start)",
    ),
    "rows without gradient decay": case(
        "AG406",
        """
table = nn.Embedding(6, 4)
start = table.weight.detach().clone()
optimizer = torch.optim.AdamW(table.parameters(), lr=0.1, weight_decay=0.01)
for _ in range(2):
    optimizer.zero_grad()
    table(torch.arange(6)).sub(1).pow(2).mean().backward()
    table.weight.grad[:5] = 0
    optimizer.step()
""",
        by("Put table.weight into a parameter group with weight_decay=0", "weight_decay=0.01", "weight_decay=0.0"),
        symptom="not torch.equal(table.weight[:5], start[:5])",
    ),
    "gradients are clipped after each backward": case(
        "AG305",
        NET
        + """
for number in range(6):
    net(x).pow(2).mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
    if number % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
clips = number
""",
        by(
            "Clip once, after the last backward() and right before step()",
            "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)\n    if number % 3 == 2:\n",
            "    if number % 3 == 2:\n        torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)\n        clips = 0\n",
            "clips = number\n",
            "",
        ),
        symptom="clips > 0",
    ),
    "a loss goes past the scaler": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
head = nn.Linear(4, 1)
others = torch.optim.SGD(head.parameters(), lr=0.1)
before = head.weight.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    others.zero_grad()
    scaler.scale(net(x).pow(2).mean()).backward()
    loss = (head(x) - 5).pow(2).mean()
    loss.backward()
    scaler.step(optimizer)
    scaler.step(others)
    scaler.update()
""",
        by(
            "Call `scaler.scale(loss).backward()` instead of",
            "    loss.backward()",
            "    scaler.scale(loss).backward()",
        ),
        symptom="(head.bias.abs().max() < 1.0)",
    ),
    "an intermediate of forward is saved": case(
        "AG108",
        """
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        ctx.save_for_backward(x, gate)
        return x * gate
    @staticmethod
    def backward(ctx, grad):
        x, gate = ctx.saved_tensors
        return grad * (gate + x * gate * (1 - gate))
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(2, 3, requires_grad=True)
second = torch.autograd.functional.hessian(lambda v: F.silu(v).sum(), torch.ones(1))
for _ in range(2):
    optimizer.zero_grad()
    (slope,) = torch.autograd.grad(Swish.apply(net(x)).sum(), x, create_graph=True)
    slope.pow(2).sum().backward()
    optimizer.step()
v = torch.ones(1, requires_grad=True)
(slope,) = torch.autograd.grad(Swish.apply(v).sum(), v, create_graph=True)
(curve,) = torch.autograd.grad(slope.sum(), v)
""",
        by(
            "Compute it again in Swish.backward, from the inputs that forward saved",
            "        x, gate = ctx.saved_tensors",
            "        x, _ = ctx.saved_tensors\n        gate = torch.sigmoid(x)",
        ),
        symptom="not torch.allclose(curve, second.flatten())",
    ),
    "state is loaded into the old optimizer": case(
        "AG409",
        """
def made(net):
    return torch.optim.Adam(net.parameters())
checkpoint = torch.optim.Adam(nn.Linear(4, 1).parameters())
for p in checkpoint.param_groups[0]["params"]:
    p.grad = torch.ones_like(p)
checkpoint.step()
checkpoint = checkpoint.state_dict()
net = nn.Linear(4, 1)
optimizer = made(net)
optimizer.load_state_dict(checkpoint)
optimizer = made(net)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.ones(2, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Create the optimizer first, once, and then load the state into it",
            "optimizer.load_state_dict(checkpoint)\noptimizer = made(net)\n",
            "optimizer.load_state_dict(checkpoint)\n",
        ),
        symptom="optimizer.state[net.weight]['step'] == 2",
    ),
}

"""Saved tensors that are modified in place before backward (AG201)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a loss is computed from a score of before the step": case(
        "AG201",
        """
net_g, net_d = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
opt_d, opt_g = torch.optim.SGD(net_d.parameters(), lr=0.1), torch.optim.SGD(net_g.parameters(), lr=0.1)
fake = net_g(torch.randn(4, 2))
score = net_d(fake)
(-score).mean().backward(retain_graph=True)
opt_d.step()
opt_g.zero_grad()
score.mean().backward()
opt_g.step()
""",
        by("again after the step", "score.mean().backward()\n", "net_d(fake).mean().backward()\n"),
    ),
    "a result that is saved is modified": case(
        "AG201",
        """
w = torch.randn(3, requires_grad=True)
y = w.exp()
y *= 2
y.sum().backward()
""",
        by("Write `y = y * 2` instead of `y *= 2`", "y *= 2", "y = y * 2"),
    ),
    "an in-place op within an expression": case(
        "AG201",
        """
w = torch.randn(3, requires_grad=True)
y = w.exp()
z = y.mul_(2) + 1
z.sum().backward()
""",
        by("Use the out-of-place `mul` instead of `mul_`", "y.mul_(2)", "y.mul(2)"),
        by("modify `y.clone()`", "y.mul_(2)", "y.clone().mul_(2)"),
    ),
    "a module works in place": case(
        "AG201",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.ReLU(inplace=True))
net(torch.randn(3, 4)).sum().backward()
""",
        by("Set inplace=False on net.2 (nn.ReLU)", "inplace=True", "inplace=False"),
    ),
    "a step comes before the last backward": case(
        "AG201",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
out = net(x)
first, second = out.mean(), out.pow(2).mean()
first.backward(retain_graph=True)
optimizer.step()
second.backward()
""",
        by(
            "Call optimizer.step() only after the last backward()",
            "optimizer.step()\nsecond.backward()",
            "second.backward()\noptimizer.step()",
        ),
    ),
    "a part of a tensor is assigned": case(
        "AG201",
        """
w = torch.randn(3, 4, requires_grad=True)
h = w.exp()
h[:, 0] = 0.0
h.sum().backward()
""",
        by("`h = h.clone()` before the assignment", "h[:, 0] =", "h = h.clone()\nh[:, 0] ="),
        by("use torch.where", "h[:, 0] = 0.0", "h = torch.where(torch.arange(4) == 0, 0.0, h)"),
    ),
    "a tensor is refilled for the next forward": case(
        "AG201",
        """
net = nn.Linear(4, 4)
x = torch.randn(3, 4)
first = net(x).pow(2).sum()
x.copy_(torch.randn(3, 4))
second = net(x).pow(2).sum()
(first + second).backward()
""",
        by("use a separate tensor for each forward", "x.copy_(torch.randn(3, 4))", "x = torch.randn(3, 4)"),
        by("call backward() first", "x.copy_", "first.backward()\nx.copy_", "(first + second)", "second"),
    ),
    "a parameter is modified before backward": case(
        "AG201",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.randn(3, 4)).pow(2).mean()
with torch.no_grad():
    net[1].weight.clamp_(-0.1, 0.1)
loss.backward()
optimizer.step()
""",
        by(
            "Modify parameters only after backward() (and after optimizer.step())",
            "with torch.no_grad():\n    net[1].weight.clamp_(-0.1, 0.1)\n",
            "",
            "optimizer.step()\n",
            "optimizer.step()\nwith torch.no_grad():\n    net[1].weight.clamp_(-0.1, 0.1)\n",
        ),
    ),
    "code that no op shows modifies a saved tensor": case(
        "AG201",
        """
w = torch.ones(3, requires_grad=True)
c = torch.ones(3)
y = c * w
torch.autograd.graph.increment_version(c)
y.sum().backward()
""",
        by(
            "Pass a copy (`.clone()`) of c to the code that modifies it",
            "increment_version(c)",
            "increment_version(c.clone())",
        ),
    ),
    "a leaf is modified before backward": case(
        "AG201",
        """
x = torch.randn(3, requires_grad=True)
loss = x.pow(2).sum()
with torch.no_grad():
    x.clamp_(-0.1, 0.1)
loss.backward()
""",
        by(
            "Modify x only after backward()",
            "with torch.no_grad():\n    x.clamp_(-0.1, 0.1)\n",
            "",
            "loss.backward()\n",
            "loss.backward()\nwith torch.no_grad():\n    x.clamp_(-0.1, 0.1)\n",
        ),
    ),
    "a buffer is updated before backward": case(
        "AG201",
        """
class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("v", torch.ones(4))
        self.weight = nn.Parameter(torch.randn(3, 4))
    def forward(self):
        out = self.weight @ self.v
        self.v.mul_(0.9)
        return out
net = Normed()
loss = net().sum()
loss.backward()
""",
        by("Pass `self.v.clone()` to `matmul`", "@ self.v", "@ self.v.clone()"),
        by(
            "call backward() before",
            "        self.v.mul_(0.9)\n",
            "",
            "loss.backward()\n",
            "loss.backward()\nnet.v.mul_(0.9)\n",
        ),
    ),
    "states are filled from themselves": case(
        "AG201",
        """
cell = nn.Linear(4, 4)
states = torch.zeros(4, 4)
states[0] = torch.randn(4)
for t in range(3):
    states[t + 1] = cell(states[t]).tanh()
states.sum().backward()
""",
        by("Pass `states[t].clone()` to `linear`", "cell(states[t])", "cell(states[t].clone())"),
        by(
            "collect the parts in a list and combine them with torch.stack",
            "states = torch.zeros(4, 4)\nstates[0] = torch.randn(4)\n",
            "states = [torch.randn(4)]\n",
            "    states[t + 1] = cell(states[t]).tanh()",
            "    states.append(cell(states[t]).tanh())",
            "states.sum()",
            "torch.stack(states).sum()",
        ),
    ),
    "an embedding renormalises the table that a layer reads": case(
        "AG201",
        """
table = nn.Embedding(5, 4, max_norm=1.0)
optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
ids = torch.tensor([1, 2])
h = torch.randn(2, 4, requires_grad=True)
scores = h @ table.weight.t()
rows = table(ids)
(scores.sum() + rows.sum()).backward()
optimizer.step()
""",
        by("pass `table.weight.clone()` to `matmul`", "h @ table.weight", "h @ table.weight.clone()"),
        by(
            "call the embedding first",
            "scores = h @ table.weight.t()\nrows = table(ids)\n",
            "rows = table(ids)\nscores = h @ table.weight.t()\n",
        ),
    ),
    "a custom Function modifies what it is given": case(
        "AG201",
        """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        return x * 1
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2
w = torch.randn(3, requires_grad=True)
y = w.exp()
Scale.apply(y).sum().backward()
""",
        by(
            "Compute out of place inside the custom Function",
            "        x.mul_(2)\n        return x * 1",
            "        return x * 2",
        ),
    ),
    "a loop's state leads back behind a step": case(
        "AG201",
        """
cell = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
state = torch.zeros(1, 4)
for _ in range(3):
    optimizer.zero_grad()
    state = cell(state + 1)
    state.pow(2).mean().backward(retain_graph=True)
    optimizer.step()
""",
        by(
            "`state = state.detach()`. retain_graph=True does not help here",
            "    optimizer.step()\n",
            "    optimizer.step()\n    state = state.detach()\n",
        ),
    ),
    "a list of tensors is modified at once": case(
        "AG201",
        """
w = torch.randn(3, requires_grad=True)
ys = [w.exp(), w.sigmoid()]
torch._foreach_mul_(ys, 2)
(ys[0] + ys[1]).sum().backward()
""",
        by(
            "Modify a copy: `[t.clone() for t in ys]`", "torch._foreach", "ys = [t.clone() for t in ys]\ntorch._foreach"
        ),
        by(
            "do it after backward()",
            "torch._foreach_mul_(ys, 2)\n",
            "",
            ".backward()\n",
            ".backward()\nwith torch.no_grad():\n    torch._foreach_mul_(ys, 2)\n",
        ),
    ),
    "a checkpointed function modifies its input": case(
        "AG201",
        """
net = nn.Linear(4, 4)
def block(x):
    x.mul_(2)
    return net(x).pow(2)
x = torch.randn(3, 4)
checkpoint(block, x, use_reentrant=False).sum().backward()
""",
        by(
            "Work on a copy inside the checkpointed function: `x = x.clone()` before `mul_`",
            "    x.mul_",
            "    x = x.clone()\n    x.mul_",
        ),
    ),
    "an earlier cell modified what is saved": case(
        "AG201",
        """
loss.backward()
""",
        by(
            "(re-run the cell with the forward)",
            "with torch.no_grad():\n    y.mul_(2)",
            "",
            "loss.backward()",
            "loss.backward()\nwith torch.no_grad():\n    y.mul_(2)",
        ),
        by("edit a `.clone()`", "y.mul_(2)", "y.clone().mul_(2)"),
        by(
            "edit it afterwards",
            "with torch.no_grad():\n    y.mul_(2)",
            "",
            "loss.backward()",
            "loss.backward()\nwith torch.no_grad():\n    y.mul_(2)",
        ),
        before="w = torch.randn(3, requires_grad=True)\ny = w.exp()\nloss = y.sum() + (y * y).sum()\nwith torch.no_grad():\n    y.mul_(2)",
    ),
}

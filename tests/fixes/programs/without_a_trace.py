"""Faults that raise nothing, or name no line: what picks, what is squared, kept, outdated, left (AG201 to AG501)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a grid is sampled at the nearest pixel": case(
        "AG303",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    grid = net(torch.randn(1, 3, 3, 4))
    warped = F.grid_sample(torch.randn(1, 1, 5, 5), grid, mode="nearest", align_corners=True)
    optimizer.zero_grad()
    warped.pow(2).mean().backward()
    optimizer.step()
""",
        by('Use `mode="bilinear"`', 'mode="nearest"', 'mode="bilinear"'),
        symptom="not net.weight.grad.any()",
    ),
    "a stop-gradient detaches in place": case(
        "AG201",
        """
net = nn.Linear(4, 3)
hidden = net(torch.randn(5, 4)).exp()
squared = hidden.pow(2)
target = hidden.detach_()
(squared - target).mean().backward()
""",
        by("Use `detach()`, which returns a new tensor", ".detach_()", ".detach()"),
    ),
    "a gradient is squared in place": case(
        "AG306",
        """
net = nn.Linear(4, 1)
fisher = {p: torch.zeros_like(p) for p in net.parameters()}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (net(torch.randn(8, 4)) + 3).pow(2).mean().backward()
    for p in net.parameters():
        fisher[p].add_(p.grad.pow_(2))
    optimizer.step()
lowest = min(p.grad.min() for p in net.parameters())
""",
        by("Use `pow`, which returns a new tensor", "pow_(2)", "pow(2)"),
        symptom="lowest >= 0",
    ),
    "a weight of a penalty is the gradient itself": case(
        "AG201",
        """
net = nn.Linear(4, 1)
net(torch.randn(8, 4)).pow(2).mean().backward()
weights = {}
for name, p in net.named_parameters():
    weights[name] = p.grad.abs_()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    penalty = sum((weights[name] * p.pow(2)).sum() for name, p in net.named_parameters())
    loss = net(torch.randn(8, 4)).pow(2).mean() + penalty
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
""",
        by("Keep a copy of the gradient: `p.grad.clone()`", "p.grad.abs_()", "p.grad.clone().abs_()"),
    ),
    "one module is called for a whole list": case(
        "AG301",
        """
class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
        self.calls = []
        for layer in self.layers:
            self.calls.append(lambda h: layer(h))

    def forward(self, x):
        return torch.cat([call(x) for call in self.calls], -1)

heads = Heads()
optimizer = torch.optim.SGD(heads.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    heads(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by("Bind the module when the function is made", "lambda h: layer(h)", "lambda h, layer=layer: layer(h)"),
        symptom="heads.layers[0].weight.grad is None",
    ),
    "a repeated token is computed once": case(
        "AG501",
        """
token = nn.Parameter(torch.randn(1, 4))
net = nn.Linear(4, 1)
tokens = token.repeat(3, 1)
optimizer = torch.optim.SGD([token, *net.parameters()], lr=0.1)
for _ in range(4):
    seen = tokens
    loss = net(seen + torch.randn(3, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    before = token.detach().clone()
    optimizer.step()
""",
        by("Compute tokens from token again in each iteration", "seen = tokens", "seen = token.repeat(3, 1)"),
        symptom="not torch.equal(seen[:1], before)",
    ),
    "a step returns at the first missing gradient": case(
        "AG413",
        """
class Plain(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            if p.grad is None:
                return
            p.sub_(self.param_groups[0]["lr"] * p.grad)

first, unused, last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = Plain([*first.parameters(), *unused.parameters(), *last.parameters()])
unused.requires_grad_(False)
start = last.weight.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    last(first(torch.randn(8, 4))).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Skip that parameter alone: `if p.grad is None: continue`",
            "                return",
            "                continue",
        ),
        symptom="torch.equal(last.weight, start)",
    ),
    "a curvature estimate leaves its gradients": case(
        "AG305",
        """
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
added = False
for step in range(5):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    loss = F.cross_entropy(net(x), y)
    (alone,) = torch.autograd.grad(loss, net.bias, retain_graph=True)
    loss.backward()
    added = added or not torch.allclose(alone, net.bias.grad)
    optimizer.step()
    optimizer.zero_grad()
    if step % 2:
        logits = net(x)
        F.cross_entropy(logits, logits.detach().argmax(-1)).backward()
        for p in net.parameters():
            optimizer.state[p]["curvature"] = p.grad.square()
""",
        by(
            "Call `optimizer.zero_grad()` right before the backward() of the next loss",
            "    loss.backward()\n",
            "    optimizer.zero_grad()\n    loss.backward()\n",
        ),
        symptom="added",
    ),
}

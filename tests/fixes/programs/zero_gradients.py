"""Gradients that are exactly zero, and losses that are given the wrong thing (AG303, AG307)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "both factors are initialized with zeros": case(
        "AG303",
        """
base = nn.Linear(4, 4).requires_grad_(False)
a, b = nn.Parameter(torch.zeros(2, 4)), nn.Parameter(torch.zeros(4, 2))
optimizer = torch.optim.SGD([a, b], lr=0.1)
x = torch.linspace(-1, 1, 12).reshape(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    (base(x) + x @ a.t() @ b.t() - 1).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Initialize one of the two with random numbers and the other with zeros",
            "optimizer = torch",
            "nn.init.normal_(a, std=0.02)\noptimizer = torch",
        ),
        symptom="not a.any() and not b.any()",
    ),
    "a single weight is divided by its own sum": case(
        "AG303",
        """
router, expert = nn.Linear(4, 3), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*router.parameters(), *expert.parameters()], lr=0.1)
for _ in range(2):
    x = torch.randn(5, 4)
    gates, chosen = router(x).softmax(-1).topk(1, dim=-1)
    gates = gates / gates.sum(-1, keepdim=True)
    loss = (expert(x) * gates).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        by(
            "Divide only where the sum has several terms; a single weight",
            "    gates = gates / gates.sum(-1, keepdim=True)\n",
            "    if gates.size(-1) > 1:\n        gates = gates / gates.sum(-1, keepdim=True)\n",
        ),
        symptom="router.weight.grad.abs().max() < 1e-6",
    ),
    "the gradient goes through round": case(
        "AG303",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
soft = net(torch.randn(3, 4)).sigmoid()
hard = soft.round()
out = hard
out.sum().backward()
optimizer.step()
""",
        by("`soft + (hard - soft).detach()`", "out = hard", "out = soft + (hard - soft).detach()"),
        symptom="not net.weight.grad.any()",
    ),
    "a ReLU network has no second derivative": case(
        "AG303",
        """
act = nn.ReLU()
net = nn.Sequential(nn.Linear(1, 4), act, nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.rand(5, 1, requires_grad=True)
(first,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
loss = (second - 1).pow(2).mean() + net(torch.zeros(1, 1)).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by("nn.Tanh(), nn.SiLU()", "nn.ReLU()", "nn.Tanh()"),
        by("nn.Softplus()", "nn.ReLU()", "nn.Softplus()"),
        symptom="not second.any()",
    ),
    "cross_entropy has one class": case(
        "AG303",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out, y = net(torch.randn(3, 4)), torch.zeros(3, dtype=torch.long)
loss = F.cross_entropy(out, y)
loss.backward()
optimizer.step()
""",
        by("softmax and cross_entropy need one output for each class", "nn.Linear(4, 1)", "nn.Linear(4, 2)"),
        by(
            "F.binary_cross_entropy_with_logits on the output itself",
            "F.cross_entropy(out, y)",
            "F.binary_cross_entropy_with_logits(out.squeeze(1), y.float())",
        ),
        symptom="not net.weight.grad.any()",
        values=True,
    ),
    "a ReLU is dead": case(
        "AG303",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
with torch.no_grad():
    net[0].bias.fill_(-1000.0)
x = 10 * torch.rand(30, 4) - 5
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(x).sum().backward()
optimizer.step()
""",
        by("start from a smaller or positive bias", "-1000.0", "1.0"),
        by("use a LeakyReLU", "nn.ReLU()", "nn.LeakyReLU()"),
        symptom="not net[0].weight.grad.any()",
        values=True,
    ),
    "a ReLU is dead by its data": case(
        "AG303",
        """
layer = nn.Linear(1, 4)
with torch.no_grad():
    layer.weight.fill_(1.0)
net = nn.Sequential(layer, nn.ReLU(), nn.Linear(4, 1))
x = torch.randn(30, 1) - 1000
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(x).sum().backward()
optimizer.step()
""",
        by("normalize them", "- 1000\n", "- 1000\nx = (x - x.mean()) / x.std()\n"),
        by("use a LeakyReLU", "nn.ReLU()", "nn.LeakyReLU()"),
        symptom="not net[0].weight.grad.any()",
        values=True,
    ),
    "a ReLU dies of its learning rate": case(
        "AG303",
        """
optimizer.zero_grad()
net(x).sum().backward()
optimizer.step()
""",
        by(
            "normalize them, start from a smaller or positive bias",
            "fill_(1.0)",
            "fill_(1.0)\n    net[0].bias.fill_(1e6)",
        ),
        by("lower the learning rate", "lr=1000.0", "lr=0.001"),
        by("use a LeakyReLU", "nn.ReLU()", "nn.LeakyReLU()"),
        symptom="not net[0].weight.grad.any()",
        before="""
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
with torch.no_grad():
    net[2].weight.fill_(1.0)
x = torch.rand(30, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=1000.0)
net(x).sum().backward()
optimizer.step()
""",
        values=True,
    ),
    "a clamp leaves nothing": case(
        "AG303",
        """
net = nn.Linear(4, 4)
with torch.no_grad():
    net.bias.fill_(100.0)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.randn(3, 4))
bounded = out.clamp(-1, 1)
bounded.sum().backward()
optimizer.step()
""",
        by("a scaled tanh", "out.clamp(-1, 1)", "(out / 100).tanh()"),
        by("clamp only values that need no gradient", "out.clamp(-1, 1)", "out\nshown = out.detach().clamp(-1, 1)"),
        symptom="not net.weight.grad.any()",
        values=True,
    ),
    "a sigmoid is saturated": case(
        "AG303",
        """
net = nn.Linear(1, 1)
with torch.no_grad():
    net.weight.fill_(1.0)
x, y = 1000 * (1 + torch.rand(8, 1)), torch.zeros(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(x)
loss = F.mse_loss(out.sigmoid(), y)
loss.backward()
optimizer.step()
""",
        by("normalize the data", "\noptimizer =", "\nx = (x - x.mean()) / x.std()\noptimizer ="),
        by("scale down the initial weights", "fill_(1.0)", "fill_(0.001)"),
        by(
            "binary_cross_entropy_with_logits, cross_entropy",
            "F.mse_loss(out.sigmoid(), y)",
            "F.binary_cross_entropy_with_logits(out, y)",
        ),
        symptom="not net.weight.grad.any()",
        values=True,
    ),
    "a mask selects nothing": case(
        "AG303",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.rand(3, 4)
mask = (x < 0).float()
(net(x) * mask).sum().backward()
optimizer.step()
""",
        by("its condition may be inverted", "x < 0", "x >= 0"),
        symptom="not net.weight.grad.any()",
        values=True,
    ),
    "cross_entropy is given probabilities": case(
        "AG307",
        """
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.randn(5, 4))
probabilities = out.softmax(dim=1)
loss = F.cross_entropy(probabilities, torch.tensor([0, 1, 2, 0, 1]))
loss.backward()
optimizer.step()
""",
        by(
            "Pass cross_entropy() the input of `softmax` instead of its output",
            "F.cross_entropy(probabilities",
            "F.cross_entropy(out",
        ),
        symptom="torch.allclose(loss, F.cross_entropy(probabilities, torch.tensor([0, 1, 2, 0, 1])))",
    ),
    "nll_loss is given probabilities": case(
        "AG307",
        """
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out, y = net(torch.randn(5, 4)), torch.tensor([0, 1, 2, 0, 1])
given = out.softmax(dim=1)
loss = F.nll_loss(given, y)
loss.backward()
optimizer.step()
""",
        by("Use log_softmax instead of softmax", "out.softmax", "out.log_softmax"),
        by("cross_entropy() on the logits", "F.nll_loss(given, y)", "F.cross_entropy(out, y)"),
        symptom="loss < 0",
    ),
    "one of two ways is rounded": case(
        "AG303",
        """
encoder, head, other = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters(), *other.parameters()], lr=0.1)
hidden = encoder(torch.randn(3, 4))
rounded = torch.round(hidden)
(through,) = torch.autograd.grad(rounded.sum(), hidden, retain_graph=True)
loss = head(rounded).pow(2).mean() + other(hidden).sin().mean()
loss.backward()
optimizer.step()
""",
        by(
            "`soft + (hard - soft).detach()`",
            "torch.round(hidden)",
            "hidden + (torch.round(hidden) - hidden).detach()",
        ),
        symptom="not through.any()",
    ),
}

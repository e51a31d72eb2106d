"""What was meant to learn, and is frozen, unknown to the optimizer, or a copy (AG106, AG404, AG406, AG413)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "a discriminator stays frozen": case(
        "AG406",
        """
generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
opt_d = torch.optim.SGD(discriminator.parameters(), lr=0.1)
for turn in range(3):
    fake = generator(torch.randn(8, 2))
    loss = F.softplus(discriminator(fake.detach())).mean()
    opt_d.zero_grad()
    if loss.requires_grad:
        loss.backward()
    opt_d.step()
    moves = discriminator.weight.grad is not None
    discriminator.requires_grad_(False)
    opt_g.zero_grad()
    F.softplus(-discriminator(fake)).mean().backward()
    opt_g.step()
""",
        by(
            "Call requires_grad_(True) on them before the loss that trains them is computed",
            "    fake =",
            "    discriminator.requires_grad_(True)\n    fake =",
        ),
        by(
            "remove the step() calls after which nothing moves",
            "    opt_d.step()\n    moves = discriminator.weight.grad is not None",
            "    if loss.requires_grad:\n        opt_d.step()\n    moves = True",
        ),
        symptom="not moves",
    ),
    "a penalty is computed of a frozen discriminator": case(
        "AG406",
        """
generator, discriminator = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 1))
opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
opt_d = torch.optim.SGD(discriminator.parameters(), lr=0.1)
for turn in range(2):
    discriminator.requires_grad_(True)
    real = torch.randn(8, 3)
    opt_d.zero_grad()
    discriminator(real).mean().backward()
    opt_d.step()
    discriminator.requires_grad_(False)
    opt_g.zero_grad()
    discriminator(generator(torch.randn(8, 2))).mean().backward()
    opt_g.step()
    opt_d.zero_grad()
    real.requires_grad_(True)
    torch.autograd.grad(discriminator(real).sum(), real, create_graph=True)[0].pow(2).mean().backward()
    opt_d.step()
    moves = discriminator[0].weight.grad is not None
""",
        by(
            "Call requires_grad_(True) on them before the loss that trains them is computed",
            "    real.requires_grad_",
            "    discriminator.requires_grad_(True)\n    real.requires_grad_",
        ),
        by(
            "remove the step() calls after which nothing moves",
            "    opt_d.step()\n    moves = discriminator[0].weight.grad is not None",
            "    moves = True",
        ),
        symptom="not moves",
    ),
    "a model is frozen for the turn of its actor": case(
        "AG406",
        """
class Frozen:
    def __init__(self, net):
        self.parameters = net.parameters()
    def __enter__(self):
        for p in self.parameters:
            p.requires_grad_(False)
    def __exit__(self, *error):
        for p in self.parameters:
            p.requires_grad_(True)

model, skip, actor = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
opt_m = torch.optim.SGD([*model.parameters(), *skip.parameters()], lr=0.1)
opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(4, 3)
    opt_m.zero_grad()
    (skip(x).pow(2).mean() + model(x).pow(2).mean()).backward()
    opt_m.step()
    learns = model.weight.grad is not None
    with Frozen(model):
        opt_a.zero_grad()
        model(actor(x)).mean().backward()
        opt_a.step()
""",
        by(
            "Call requires_grad_(True) on them after opt_a.step()",
            "        opt_a.step()\n",
            "        opt_a.step()\n    model.requires_grad_(True)\n",
        ),
        by(
            "If a context manager does so, let it keep a list: a generator of parameters can be iterated only once",
            "self.parameters = net.parameters()",
            "self.parameters = list(net.parameters())",
        ),
        symptom="not learns",
    ),
    "an adapter is frozen at zero": case(
        "AG106",
        """
class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4)
        self.A, self.B = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(4, 2))

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T

net = nn.Sequential(Adapted(), nn.Linear(4, 1))
for name, p in net.named_parameters():
    p.requires_grad = name in ("lora_A", "lora_B") or name.startswith("1.")
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "let it require grad, and give it to the optimizer: check the names that select the frozen parameters",
            '("lora_A", "lora_B")',
            '("0.A", "0.B")',
        ),
        symptom="not net[0].B.any()",
    ),
    "no name of a parameter passes the test": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
for name, p in net.named_parameters():
    if name.startswith("encoder."):
        p.requires_grad = False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by("Use names that named_parameters() yields", '"encoder."', '"0."'),
        symptom="not torch.equal(net[0].weight, start)",
    ),
    "a group has a learning_rate": case(
        "AG413",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
groups = [{"params": net[0].parameters()}, {"params": net[1].parameters(), "learning_rate": 0.1}]
optimizer = torch.optim.SGD(groups, lr=1e-5)
start = net[1].bias.detach().clone()
net(torch.ones(3, 4)).mean().backward()
optimizer.step()
""",
        by("If SGD is meant to use it, give it a name that SGD knows", '"learning_rate"', '"lr"'),
        symptom="torch.allclose(net[1].bias, start, atol=1e-3)",
    ),
    "copies are stepped and never copied back": case(
        "AG404",
        """
net = nn.Linear(4, 2)
copies = [p.detach().double().requires_grad_() for p in net.parameters()]
optimizer = torch.optim.SGD(copies, lr=0.1)
start = net.weight.detach().clone()
for _ in range(3):
    net.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    for q, p in zip(copies, net.parameters(), strict=True):
        q.grad = p.grad.double()
    optimizer.step()
""",
        by(
            "Copy the new values into the model after each step, under torch.no_grad()",
            "    optimizer.step()",
            "    optimizer.step()\n    with torch.no_grad():\n        for q, p in zip(copies, net.parameters(), strict=True):\n"
            "            p.copy_(q)",
        ),
        symptom="torch.equal(net.weight, start)",
    ),
}

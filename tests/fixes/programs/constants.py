"""What must be a constant in a loss and has a graph, and the other way round (AG108, AG109, AG303)."""

from __future__ import annotations

from tests.fixes.cases import by, case

SQUARE = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x.detach() * grad

net = nn.Linear(3, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(2, 3, requires_grad=True)
value = Square.apply(net(x)).sum()
slope = torch.autograd.grad(value, x, create_graph=True)[0]
"""

NET = """
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 4)
"""

CASES = {
    "a backward detaches a saved tensor and is differentiated": case(
        "AG108",
        SQUARE
        + """
(value + slope.pow(2).sum()).backward()
expected = (2 * (net(x) @ net.weight)).pow(2).sum() + net(x).pow(2).sum()
wanted = torch.autograd.grad(expected, net.bias)[0]
gap = (net.bias.grad - wanted).abs().max() if net.bias.grad is not None else 0
optimizer.step()
""",
        by("Use the saved tensor itself in Square.backward", "x.detach()", "x"),
        by(
            "mark it with @once_differentiable if it needs no second derivative",
            "    @staticmethod\n    def backward",
            "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward",
            ", create_graph=True",
            ", retain_graph=True",
            "(value + slope.pow(2).sum()).backward()",
            "value.backward()",
            "(2 * (net(x) @ net.weight)).pow(2).sum() + net(x).pow(2).sum()",
            "net(x).pow(2).sum()",
        ),
        symptom="gap > 1e-4",
    ),
    "a target is computed with the graph of the network": case(
        "AG109",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, following, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
for _ in range(2):
    optimizer.zero_grad()
    target = reward + 0.9 * net(following).squeeze(1)
    error = net(x).squeeze(1) - target
    expected = 2 * (error.detach()[:, None] * x).mean(0)
    error.pow(2).mean().backward()
    gap = (net.weight.grad[0] - expected).abs().max()
    optimizer.step()
""",
        by(
            "Compute the target under torch.no_grad()",
            "    target = reward",
            "    with torch.no_grad():\n        target = reward",
        ),
        by("detach() it before it is compared", "squeeze(1) - target", "squeeze(1) - target.detach()"),
        by(
            "a slowly updated copy of the network makes it more stable",
            "optimizer =",
            "slow = copy.deepcopy(net).requires_grad_(False)\noptimizer =",
            "net(following)",
            "slow(following)",
            "    optimizer.step()",
            "    optimizer.step()\n    for p, q in zip(slow.parameters(), net.parameters(), strict=True):\n"
            "        p.data.lerp_(q.data, 0.1)",
        ),
        symptom="gap > 1e-4",
    ),
    "an advantage carries the graph of the critic": case(
        "AG109",
        """
actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)
x, returns = torch.randn(8, 4), torch.randn(8)
for _ in range(2):
    optimizer.zero_grad()
    values = critic(x).squeeze(1)
    policy = torch.distributions.Categorical(logits=actor(x))
    actions = policy.sample()
    advantage = returns - values
    loss = -(policy.log_prob(actions) * advantage).mean() + (returns - values).pow(2).mean()
    expected = torch.autograd.grad((returns - values).pow(2).mean(), critic.weight, retain_graph=True)[0]
    loss.backward()
    gap = (critic.weight.grad - expected).abs().max()
    optimizer.step()
""",
        by("detach() the factor", "* advantage)", "* advantage.detach())"),
        symptom="gap > 1e-6",
    ),
    "the log-probability of a sample with its gradient": case(
        "AG303",
        """
mean = nn.Linear(4, 1)
optimizer = torch.optim.SGD(mean.parameters(), lr=0.1)
x, reward = torch.randn(8, 4), torch.randn(8, 1)
start = mean.weight.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    policy = torch.distributions.Normal(mean(x), 1.0)
    action = policy.rsample()
    (-policy.log_prob(action) * reward).mean().backward()
    optimizer.step()
""",
        by("`sample()` instead of `rsample()`", "rsample()", "sample()"),
        by("detach() it", "log_prob(action)", "log_prob(action.detach())"),
        symptom="torch.allclose(mean.weight, start, atol=1e-6)",
    ),
    "a soft value cancels in its own sum": case(
        "AG303",
        NET
        + """
start = net.weight.detach().clone()
for _ in range(2):
    optimizer.zero_grad()
    soft = net(x).softmax(-1)
    hard = F.one_hot(soft.argmax(-1), 3).float()
    (hard - soft + soft).pow(2).sum(-1).mul(torch.arange(8)).mean().backward()
    optimizer.step()
""",
        by("detach() the occurrence of soft that must act as a constant", "hard - soft +", "hard - soft.detach() +"),
        by(
            "compute it under torch.no_grad()",
            "    hard = ",
            "    with torch.no_grad():\n        constant = net(x).softmax(-1)\n    hard = ",
            "hard - soft +",
            "hard - constant +",
        ),
        symptom="torch.equal(net.weight, start)",
    ),
    "a spectrum is cast to real numbers": case(
        "AG303",
        """
phase = nn.Parameter(torch.ones(9))
optimizer = torch.optim.SGD([phase], lr=0.1)
signal = torch.fft.rfft(torch.randn(4, 16))
start = phase.detach().clone()
feature = torch.complex(signal.real, signal.imag * phase)
feature.to(torch.float32).pow(2).mean().backward()
optimizer.step()
""",
        by("Keep both parts, with `torch.view_as_real(x)`", "feature.to(torch.float32)", "torch.view_as_real(feature)"),
        by("choose one: `x.abs()` for the magnitude", "feature.to(torch.float32)", "feature.abs()"),
        symptom="torch.equal(phase, start)",
    ),
}

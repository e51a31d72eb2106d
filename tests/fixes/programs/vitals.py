"""Trainings whose statistics over the steps show what is wrong."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "sigmoids let the gradient vanish": case(
        "AG701",
        """
torch.manual_seed(0)
layers, head = nn.ModuleList(nn.Linear(8, 8) for _ in range(8)), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=0.1)
hidden = torch.randn(32, 8)
for layer in layers:
    hidden = layer(hidden).sigmoid()
head(hidden).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Use `relu`, `gelu` or `silu` instead of the hidden `sigmoid`",
            "layer(hidden).sigmoid()",
            "layer(hidden).relu()",
        ),
        by("normalize between the layers", "layer(hidden).sigmoid()", "F.layer_norm(layer(hidden), (8,)).relu()"),
        by("add residual connections", "= layer(hidden)", "= hidden + layer(hidden)"),
        symptom="layers[0].weight.grad.norm() < 1e-5 * head.weight.grad.norm()",
        values=True,
    ),
    "large weights let the gradient explode": case(
        "AG701",
        """
torch.manual_seed(0)
layers, head = nn.ModuleList(nn.Linear(64, 64) for _ in range(24)), nn.Linear(64, 1)
for layer in layers:
    nn.init.normal_(layer.weight)
optimizer = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=0.01)
hidden = torch.randn(32, 64)
for layer in layers:
    hidden = layer(hidden).tanh()
head(hidden).pow(2).mean().backward()
optimizer.step()
""",
        by("Initialize the weights for the depth", "nn.init.normal_(", "nn.init.xavier_normal_("),
        by("normalize between the layers", "layer(hidden).tanh()", "F.layer_norm(layer(hidden), (64,)).tanh()"),
        symptom="layers[0].weight.grad.norm() > 1e4 * head.weight.grad.norm()",
        values=True,
    ),
    "a learning rate lets the gradient grow": case(
        "AG702",
        """
torch.manual_seed(0)
net, x = nn.Linear(4, 2), torch.randn(16, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=4.0)
for _ in range(16):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
""",
        by("Use a smaller learning rate", "lr=4.0", "lr=0.1"),
        by(
            "clip the gradients",
            "    optimizer.step()",
            "    nn.utils.clip_grad_norm_(net.parameters(), 0.01)\n    optimizer.step()",
        ),
        symptom="net.weight.norm() > 100",
        values=True,
    ),
    "a learning rate lets the weights oscillate": case(
        "AG702",
        """
w = nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([w], lr=0.95)
for _ in range(16):
    optimizer.zero_grad()
    w.pow(2).sum().backward()
    optimizer.step()
""",
        by("Use a smaller learning rate", "lr=0.95", "lr=0.01"),
        symptom="w.norm() < 1",
        values=True,
    ),
    "a bias keeps units at zero": case(
        "AG703",
        """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.constant_(net[0].bias[:12], -20.0)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(16):
    optimizer.zero_grad()
    net(torch.randn(32, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by("Check the learning rate, the bias", "nn.init.constant_(net[0].bias[:12], -20.0)\n", ""),
        by("`leaky_relu` and `gelu` have a gradient", "nn.ReLU()", "nn.LeakyReLU()"),
        symptom="not net[0].weight.grad[:12].any()",
        values=True,
    ),
    "inputs keep a tanh at its ends": case(
        "AG703",
        """
torch.manual_seed(0)
net, head = nn.Linear(8, 16), nn.Linear(16, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.0001)
for _ in range(12):
    optimizer.zero_grad()
    hidden = torch.tanh(net(torch.randn(32, 8) * 3000))
    head(hidden).pow(2).mean().backward()
    optimizer.step()
""",
        by("Scale down or normalize the inputs", "torch.randn(32, 8) * 3000", "torch.randn(32, 8)"),
        symptom="hidden.abs().mean() > 0.99",
        values=True,
    ),
    "a loss that is infinite at any scale": case(
        "AG704",
        """
torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for _ in range(12):
    optimizer.zero_grad()
    scaler.scale((net(torch.randn(8, 4)) * 0).log().sum()).backward()
    scaler.step(optimizer)
    scaler.update()
""",
        by(
            "Find the source of the Inf or NaN",
            "(net(torch.randn(8, 4)) * 0).log().sum()",
            "net(torch.randn(8, 4)).pow(2).mean()",
        ),
        symptom="scaler.get_scale() < 100",
        values=True,
    ),
}

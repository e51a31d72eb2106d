"""Copies that an optimizer steps in the place of the weights (AG205)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "weights are loaded under master copies of the ones before": case(
        "AG205",
        """
state = {name: tensor.clone() for name, tensor in nn.Linear(4, 2).state_dict().items()}
net = nn.Linear(4, 2)
# Room for a load.
copies = [p.detach().double().clone().requires_grad_(True) for p in net.parameters()]
optimizer = torch.optim.SGD(copies, lr=0.001)
net.load_state_dict(state)
for i in range(2):
    net(torch.randn(8, 4)).pow(2).mean().backward()
    with torch.no_grad():
        for copy, p in zip(copies, net.parameters()):
            copy.grad = p.grad.double()
        optimizer.step()
        for copy, p in zip(copies, net.parameters()):
            p.copy_(copy)
            p.grad = None
""",
        by(
            "Load the weights before the optimizer copies them",
            "net.load_state_dict(state)\n",
            "",
            "# Room for a load.\n",
            "net.load_state_dict(state)  # Early.\n",
        ),
        by(
            "Or copy the loaded weights into the copies that the optimizer steps, under torch.no_grad()",
            "net.load_state_dict(state)\n",
            """net.load_state_dict(state)
with torch.no_grad():
    for copy, p in zip(copies, net.parameters()):
        copy.copy_(p)
""",
        ),
        symptom="(net.weight - state['weight']).abs().max() > 0.05",
    ),
}

"""Statements that name a call, make a context or a tensor, and do nothing with it (AG305, AG404, AG406, AG411)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "zero_grad is named and not called": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad
    net(torch.ones(3, 4)).mean().backward()
    optimizer.step()
""",
        by("Write the parentheses: `zero_grad()`", "optimizer.zero_grad", "optimizer.zero_grad()"),
        symptom="net.bias.grad.item() == 2.0",
    ),
    "eval is named and not called": case(
        "AG411",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    net.train()
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
    net.eval
    with torch.no_grad():
        print(net(torch.randn(3, 4)).pow(2).mean())
""",
        by("Write the parentheses: `eval()`", "net.eval\n", "net.eval()\n"),
        symptom="net.training",
    ),
    "no_grad is made and not entered": case(
        "AG404",
        """
teacher, student = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    torch.no_grad()
    target = teacher(x)
    F.mse_loss(student(x), target).backward()
    optimizer.step()
""",
        by(
            "Write `with torch.no_grad():` around what must not be trained",
            "    torch.no_grad()\n    target",
            "    with torch.no_grad():\n        target",
        ),
        symptom="teacher.weight.grad is not None",
    ),
    "parameters are detached to freeze them": case(
        "AG406",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for p in net[0].parameters():
    p.detach()
start = net[0].weight.detach().clone()
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by("Call `requires_grad_(False)` on the parameters", "    p.detach()", "    p.requires_grad_(False)"),
        by(
            "on their module",
            "for p in net[0].parameters():\n    p.detach()",
            "net[0].requires_grad_(False)",
        ),
        symptom="not torch.equal(net[0].weight, start)",
    ),
}

"""Compiled code that is differentiated as only uncompiled code can be (AG504)."""

from __future__ import annotations

from tests.fixes.cases import by, case

_NET = "torch._dynamo.reset()\nnet = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1), nn.Sigmoid()), "
_NET += 'backend="aot_eager")\n'

CASES = {
    "the gradient of compiled code is differentiated": case(
        "AG504",
        """
x = torch.randn(3, 4, requires_grad=True)
score = net(x).sum()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
(slope.norm() - 1).pow(2).backward()
""",
        by(
            "Run Sequential uncompiled where its gradient is differentiated",
            "score = net",
            'with torch.compiler.set_stance("force_eager"):\n    score = net',
        ),
        by('compile it with `backend="eager"`', 'backend="aot_eager"', 'backend="eager"'),
        before=_NET,
    ),
    "the graph of compiled code is kept late": case(
        "AG504",
        """
net(torch.ones(3, 4)).sum().backward()
out = net(torch.ones(3, 4))
out.sum().backward(retain_graph=True)
out.pow(2).sum().backward()
""",
        by(
            "Add the losses up and call backward() once",
            "out.sum().backward(retain_graph=True)\nout.pow(2).sum().backward()",
            "(out.sum() + out.pow(2).sum()).backward()",
        ),
        by(
            "run Sequential uncompiled there",
            "out = net",
            'with torch.compiler.set_stance("force_eager"):\n    out = net',
        ),
        before=_NET,
    ),
}

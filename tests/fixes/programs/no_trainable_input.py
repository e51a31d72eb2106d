"""Losses that nothing trainable leads to (AG106)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "everything is frozen": case(
        "AG106",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)).requires_grad_(False)
x = torch.randn(3, 4)
net(x).pow(2).mean().backward()
""",
        by(
            "Call requires_grad_(True) before the forward on the parameters to train",
            "net(x)",
            "net[1].requires_grad_(True)\nnet(x)",
        ),
        by("on the input whose gradient you need", "net(x)", "x.requires_grad_(True)\nnet(x)"),
    ),
    "no parameter takes part": case(
        "AG106",
        """
net = nn.Linear(4, 1)
x, y = torch.randn(3, 4), torch.randn(3, 1)
loss = (x.mean(1, keepdim=True) - y).pow(2).mean()
loss.backward()
""",
        by("Compute the loss from something trainable: a parameter", "x.mean(1, keepdim=True)", "net(x)"),
        by("a tensor with requires_grad=True", "x.mean", "x.requires_grad_(True).mean"),
    ),
    "an optimizer stays toggled": case(
        "AG106",
        """
import logging
import lightning
from torch.utils.data import DataLoader
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
class Pair(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.one, self.other = nn.Linear(4, 1), nn.Linear(4, 1)
    def training_step(self, x, index):
        first, second = self.optimizers()
        self.toggle_optimizer(first)
        self.manual_backward(self.one(x).mean())
        first.step()
        self.manual_backward(self.other(x).mean())
        second.step()
    def configure_optimizers(self):
        return [torch.optim.SGD(net.parameters(), lr=0.1) for net in (self.one, self.other)]
lightning.Trainer(max_steps=2, accelerator="cpu", barebones=True).fit(Pair(), DataLoader(torch.randn(8, 4)))
""",
        by(
            "Call `self.untoggle_optimizer(first)` after step()",
            "        first.step()",
            "        first.step()\n        self.untoggle_optimizer(first)",
        ),
        needs="lightning",
    ),
    "the optimizer's own parameters are frozen": case(
        "AG106",
        """
net = nn.Linear(4, 1)
for p in net.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Unfreeze the parameters to train: module.requires_grad_(True)",
            "optimizer =",
            "net.requires_grad_(True)\noptimizer =",
        ),
    ),
    "an image is optimized that does not require grad": case(
        "AG106",
        """
image = torch.randn(1, 4)
scale = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([image], lr=0.1)
before = image.clone()
(image * scale).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Call `image.requires_grad_()` before the optimizer is built and the forward runs",
            "optimizer =",
            "image.requires_grad_()\noptimizer =",
            "before = image.clone()",
            "before = image.detach().clone()",
        ),
        symptom="torch.equal(image, before)",
    ),
    "a reentrant checkpoint is given data alone": case(
        "AG106",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
out = checkpoint(net[0], x, use_reentrant=True)
net[1](out).pow(2).mean().backward()
optimizer.step()
""",
        by("Pass use_reentrant=False", "use_reentrant=True", "use_reentrant=False"),
        by("let an input require grad", "out = ", "x.requires_grad_()\nout = "),
        symptom="net[0].weight.grad is None",
    ),
    "the adapter is switched off": case(
        "AG106",
        """
class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 1).requires_grad_(False)
        self.adapter = nn.Linear(4, 1)
        self.enabled = False
    def forward(self, x):
        out = self.base(x)
        return out + self.adapter(x) if self.enabled else out
net = Adapted()
optimizer = torch.optim.SGD(net.adapter.parameters(), lr=0.1)
net(torch.randn(3, 4)).pow(2).mean().backward()
optimizer.step()
""",
        by("Call the model so that its trained part runs", "enabled = False", "enabled = True"),
    ),
    "the gradient of data is asked for": case(
        "AG106",
        """
net = nn.Linear(4, 1)
x = torch.randn(3, 4)
out = net(x)
(slope,) = torch.autograd.grad(out.sum(), x)
""",
        by(
            "Call x.requires_grad_() before the forward that uses it",
            "out = net(x)",
            "x.requires_grad_()\nout = net(x)",
        ),
    ),
}

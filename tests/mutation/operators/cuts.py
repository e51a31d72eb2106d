"""The value stays and the graph behind it is lost."""

from .flowing import replacing

KINDS = (
    replacing("detach", "({}).detach()"),
    replacing("data", "({}).data"),
    replacing("item", "torch.tensor(({}).item())", scalar=True),
    replacing("rewrapped", "torch.tensor({})"),
    replacing("numpy", "torch.from_numpy(({}).detach().numpy())"),
    replacing("list", "torch.tensor(({}).tolist())"),
    replacing("made a leaf", "({}).detach().requires_grad_()"),
)

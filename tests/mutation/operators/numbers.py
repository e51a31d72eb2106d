"""Values and gradients that are not finite. The inspector has to read numbers for these."""

from .flowing import replacing

KINDS = (
    replacing("log of zero", "torch.log(({}) * 0)", values_read=True),
    replacing("root of zero", "(({}) + torch.sqrt(({}) * 0))", values_read=True),
    replacing("zero by zero", "(({}) * 0 / (({}).detach() * 0))", values_read=True),
    replacing("overflow", "torch.exp(({}) * 0 + 100.0)", values_read=True),
)

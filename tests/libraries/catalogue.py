"""Which libraries, which of their tests, and what these need beside the libraries themselves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """A library's own tests, as its source distribution has them.

    ``tests`` are paths in it, ``options`` are pytest's. ``needs`` are packages that the library's code or tests
    import; those that this environment has are not installed again.
    """

    name: str
    tests: tuple[str, ...]
    options: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


LIBRARIES = (
    Library(
        "linear_operator",
        ("test/functions", "test/utils", "test/operators/test_diag_linear_operator.py"),
        needs=("jaxtyping", "wadler_lindig", "mpmath", "scipy"),
    ),
    Library(
        "gpytorch",
        ("test/kernels", "test/likelihoods", "test/functions", "test/optim", "test/variational", "test/means"),
        needs=(
            *("linear_operator", "jaxtyping", "wadler_lindig", "mpmath", "scipy"),
            *("scikit-learn", "joblib", "threadpoolctl"),
        ),
    ),
    Library(
        "torchmetrics",
        (
            "src/torchmetrics/functional/regression",
            "src/torchmetrics/functional/classification",
            "src/torchmetrics/aggregation.py",
            "src/torchmetrics/wrappers",
            "src/torchmetrics/regression",
        ),
        options=("--doctest-modules",),
        needs=("lightning-utilities",),
    ),
    Library(
        "accelerate",
        (
            *("tests/test_hooks.py", "tests/test_accelerator.py", "tests/test_optimizer.py", "tests/test_scheduler.py"),
            *("tests/test_memory_utils.py", "tests/test_grad_sync.py", "tests/test_utils.py"),
        ),
        needs=("parameterized",),
    ),
    Library(
        "peft",
        (
            *("tests/test_custom_models.py", "tests/test_low_level_api.py", "tests/test_vera.py"),
            *("tests/test_randlora.py", "tests/test_mixed.py", "tests/test_incremental_pca.py"),
        ),
        options=("-k", "(Vanilla or low_level or vera or randlora or mixed or pca) and not Multi"),
        needs=("parameterized", "diffusers", "importlib_metadata", "zipp", "pillow"),
    ),
)

"""Which of the Trainer's callbacks are told what was found."""

import pytest

pytest.importorskip("transformers")

from transformers import PrinterCallback, ProgressCallback

from .programs.with_transformers import train

pytestmark = pytest.mark.stories


@pytest.mark.parametrize("printing", [PrinterCallback, ProgressCallback])
def test_a_healthy_step_prints_nothing(tmp_path, capsys, printing):
    """Callbacks that print what is logged are not told: the logger says what there is to say."""
    train(tmp_path, callbacks=[printing()], formats=())
    captured = capsys.readouterr()
    assert "train_runtime" in captured.out + captured.err
    assert "autograd_inspector" not in captured.out + captured.err

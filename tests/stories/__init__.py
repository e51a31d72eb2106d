"""Five stories: real programs with a real fault, next to the same programs repaired.

Nothing here needs a network: every model is tiny and randomly initialised.
"""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

"""The backend that the programs compile with."""

import os

BACKEND = os.environ.get("AUTOGRAD_INSPECTOR_BACKEND", "aot_eager")

"""``python -m autograd_inspector``: ``autograd-inspect`` where no script folder is on the path, as in a notebook."""

import sys

from autograd_inspector.frontends.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

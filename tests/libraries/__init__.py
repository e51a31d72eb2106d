"""Other people's test suites, run plainly and under the inspector: each test must end the same way.

``python -m tests.libraries`` downloads the source distributions into a folder of the user's cache. Not part of
``make test``: it needs the network and many minutes.
"""

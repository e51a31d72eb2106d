"""The captures of this kernel, and their way to a front end: what the JupyterLab panel lists.

captures -> entries -> messages: ``captures.py`` keeps the reports, ``entries.py`` says of each what a list shows,
``channel.py`` tells every front end what changed, ``requests.py`` answers what one of them asks.
"""

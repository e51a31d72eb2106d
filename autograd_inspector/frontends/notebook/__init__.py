"""The IPython side: options, the cell's header, the watch over cells, and what becomes of a report."""

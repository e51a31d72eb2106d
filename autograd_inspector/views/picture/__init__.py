"""The collapsed graph: boxes and links, drawn by Graphviz."""

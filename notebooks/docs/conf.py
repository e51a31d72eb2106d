"""How Sphinx builds the site. `make docs` collects the sources first (scripts/docs), and then runs it on them."""

from autograd_inspector import __version__

project = "autograd-inspector"
author = "autograd-inspector contributors"
project_copyright = author
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["conf.py"]
nitpicky = True
"""A link that leads nowhere fails the build: it runs with -W."""

# What docstrings mention of other projects: their pages are not at hand, a build works offline.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(torch|IPython|lightning|transformers|accelerate|ipywidgets|pandas|msgspec|contextlib|collections)\b.*",
    ),
    ("py:class", r"(os|pathlib|types|typing)\..*|optional|Path|Tensor|nn\.Module|Optimizer"),
    # Types of annotations that are not classes of the public contract: the page says in words what they are.
    ("py:class", r"(autograd_inspector\..*|[A-Za-z_]+)"),
    ("py:.*", r"code\.co_positions|t\.Any"),
    ("py:obj", r"autograd_inspector\..*"),
]

# --- Markdown and notebooks: saved outputs are shown, nothing is run ---
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_merge_streams = True
nb_render_markdown_format = "myst"

# --- docstrings ---
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
smartquotes_action = "q"
"""Only quotation marks: of `--fix` a dash would be made."""
default_role = "code"
"""Docstrings write `name` where reStructuredText wants ``name``."""

# --- the page ---
html_theme = "furo"
html_title = f"autograd-inspector {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5f80", "color-brand-content": "#0b5f80"},
    "dark_css_variables": {"color-brand-primary": "#6cc5e6", "color-brand-content": "#6cc5e6"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_exclude = ".linenos, .gp, .go"

"""Sphinx: the site of Ergode. `cargo xtask docs` builds it."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "python" / "python"))

import generate  # noqa: E402

project = "Ergode"
author = copyright = "The Ergode developers"
release = version = generate.version()
html_title = f"Ergode {release}"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "source_repository": "https://github.com/ergode/ergode",
    "source_branch": "main",
    "source_directory": "docs/",
}

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "gallery/*.py", "requirements.txt", "data/README.md"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
copybutton_prompt_text = "$ "
nitpicky = True

# Notebooks are stored without outputs; with ERGODE_EXECUTE they are run.
nb_execution_mode = "force" if os.environ.get("ERGODE_EXECUTE") else "off"
nb_execution_timeout = 900
nb_execution_raise_on_error = True

# Without the compiled module, the reference of the Python package comes from its Python files alone.
autodoc_mock_imports = [] if generate.package_is_installed() else ["ergode._core"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
nitpick_ignore_regex = [("py:.*", r".*")]


def setup(app):
    """Writes the generated pages before Sphinx looks for pages."""
    generate.pages(HERE / "reference")

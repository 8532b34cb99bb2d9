"""Configuration of the documentation: `make docs` builds it."""

import re
import sys
from pathlib import Path
from typing import Any

import dics

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "dics"
author = "the dics developers"
copyright = "the dics developers"  # noqa: A001 (the name that Sphinx reads)
release = dics.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxext.opengraph",
    "mathml",  # in _ext
    "tables",  # in _ext
    "bench_tables",  # in _ext
]
root_doc = "index"
exclude_patterns = ["_build", "_ext", "reproduction", "gallery/**/*.ipynb"]
nitpicky = False

# --- text -----------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {"version": release}
default_role = "py:obj"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# --- API reference --------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
smartquotes = False  # values of parameters are copied
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
# Other inventories are downloaded. A build without a network has no links to them.
intersphinx_mapping = {}


def without_foreign_labels(*event: Any) -> None:
    """Replace links to sections of scikit-learn's site in inherited docstrings."""
    lines = event[-1]
    lines[:] = [re.sub(r":ref:`([^<`]+?)\s*(<[^>]+>)?`", r"\1", line) for line in lines]


def find_public_name(app: Any, env: Any, node: Any, text: Any) -> Any:
    """Return a link for a short name: docstrings do not repeat the public module."""
    domain, name = env.domains["py"], node.get("reftarget", "")
    for module in ("dics", "dics.dask", "dics.export", "dics.model", "dics.plot"):
        full = f"{module}.{name}"
        if node.get("refdomain") == "py" and full in domain.objects:
            page = node.get("refdoc", env.docname)
            return domain.resolve_xref(env, page, app.builder, "obj", full, node, text)
    return None


def setup(app: Any) -> None:
    """Register the functions; the first one runs before numpydoc."""
    app.connect("autodoc-process-docstring", without_foreign_labels, priority=400)
    app.connect("missing-reference", find_public_name)


# --- gallery --------------------------------------------------------------------------

GALLERY = ["models", "data", "understand", "scale"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("dics",),
    "reference_url": {"dics": None},
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "subsection_order": [f"../examples/gallery/{name}" for name in GALLERY],
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("gallery_style.scrape",),  # in _ext
    "reset_modules": ("gallery_style.reset",),
    "image_srcset": ["2x"],
    "capture_repr": (),
    "write_computation_times": False,
    "min_reported_time": 3600,  # times of a busy machine mislead
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "plot_gallery": True,
}

# --- pages ----------------------------------------------------------------------------

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "dics"
html_static_path = ["_static"]
html_css_files = ["dics.css"]
html_baseurl = "https://dics.readthedocs.io/en/stable/"
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": []}
ogp_site_url = html_baseurl
ogp_social_cards = {"enable": False}

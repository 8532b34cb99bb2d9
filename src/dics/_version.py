"""The version of dics, and the versions of other libraries for bug reports."""

VERSION = "0.1.0"

DEPENDENCIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "polars",
    "pyarrow",
    "dask",
    "distributed",
    "matplotlib",
    "onnx",
    "treelite",
    "shap",
)


def show_versions() -> None:
    """Print the versions of dics, Python and other libraries, for bug reports.

    The instruction set of the core and the number of usable cores are printed too.

    See Also
    --------
    load : Read a model; files and pickles store the version of dics.

    Examples
    --------
    >>> import dics
    >>> dics.show_versions()  # doctest: +ELLIPSIS
    dics...
    """
    import platform
    from importlib import metadata

    from dics import _core
    from dics._estimator.arguments import effective_n_threads

    found = {"dics": VERSION, "python": platform.python_version()}
    for name in DEPENDENCIES:
        # From the metadata: an import of all libraries would take seconds.
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    found["platform"] = platform.platform()
    found["instruction set"] = _core.instruction_set()
    found["usable cores"] = str(effective_n_threads(None))
    for name, version in found.items():
        print(f"{name:16} {version}")

"""The link from the HTML repr of an object to its page in the documentation."""

from typing import ClassVar

SITE = "https://dics.readthedocs.io/en/stable"


class DocLink:
    """Mixin for objects with a page; scikit-learn then also shows tooltips."""

    _doc_link_module: ClassVar[str] = "dics"
    _doc_link_template: ClassVar[str] = f"{SITE}/api/generated/{{page}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Return the value for the template."""
        # Pages have the public name: only `dics.dask` is not imported by `dics`.
        cls = type(self)
        module = "dics.dask" if cls.__module__.startswith("dics.dask.") else "dics"
        return {"page": f"{module}.{cls.__name__}"}

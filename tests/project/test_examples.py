"""The examples of the gallery run, and print the expected lines."""

import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[2] / "examples" / "gallery"
FILES = sorted(GALLERY.glob("*/plot_*.py"))
# More than a second each.
SLOW = {
    "plot_cluster",
    "plot_many_classes",
    "plot_quality",
    "plot_sensitivity",
    "plot_several_targets",
    "plot_sparse_text",
    "plot_wide_data",
}
NEEDED = {
    "plot_category_sets": "pandas",
    "plot_cluster": "distributed",
    "plot_many_categories": "pandas",
}
# Statements of the examples that must hold on every machine.
EXPECTED = {
    "plot_category_sets": "district in {Harbor, Mill, Station}",
    "plot_cluster": "Bit-identical to the local model: yes",
    "plot_monotonic": "constrained: 0 steps down",
    "plot_quantile_band": "Rows with crossing quantiles: 0",
    "plot_sparse_text": "Bit-identical to the model of the dense matrix: yes",
}


@pytest.fixture(autouse=True)
def plt(monkeypatch):
    """Return pyplot without a window and without open figures."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")  # of other tests
    monkeypatch.setattr(plt, "show", lambda: None)
    yield plt
    plt.close("all")


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(f, marks=[pytest.mark.slow] if f.stem in SLOW else [], id=f.stem)
        for f in FILES
    ],
)
def test_example_runs_and_draws(file, plt, capsys):
    if file.stem in NEEDED:
        pytest.importorskip(NEEDED[file.stem])
    runpy.run_path(str(file), run_name="__main__")
    assert EXPECTED.get(file.stem, "") in capsys.readouterr().out
    (number,) = plt.get_fignums()
    # The titles of the axes are the alt text of the picture.
    figure = plt.figure(number)
    titles = [figure.get_suptitle(), *(ax.get_title() for ax in figure.axes)]
    assert any(titles)


def test_every_folder_is_part_of_the_site():
    """Sphinx-Gallery needs a README in each folder."""
    folders = {file.parent for file in FILES}
    assert len(FILES) >= 16
    for folder in folders:
        assert (folder / "README.rst").is_file()
        assert len(list(folder.glob("plot_*.py"))) <= 12

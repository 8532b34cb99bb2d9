"""Formats of a report: HTML, Markdown, the terminal, and figures."""

import re
from html.parser import HTMLParser

import browser
import matplotlib as mpl
import numpy as np
import pytest
import sample_report

from dics_paper.illustration import EQUAL, UNEQUAL, make_plane
from dics_paper.report import plots, speedups
from dics_paper.report.document import Document, Figure
from dics_paper.report.illustration_plot import plot_illustration
from dics_paper.report.render import as_html, as_markdown, print_table

N_ROWS = [1 + 6 * 5 + 1, 4]  # heading, 6 blocks with a title, a note; heading, 3 rows


class Elements(HTMLParser):
    """All elements of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.found, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def document():
    return sample_report.make_document()


@pytest.fixture(scope="module")
def page(document):
    return as_html(document)


@pytest.fixture(scope="module")
def elements(page):
    return Elements(page)


# --- HTML -----------------------------------------------------------------------------


def test_page_has_all_parts(document, page, elements):
    assert len(elements.all("table")) == 2
    assert len(elements.all("tr")) == sum(N_ROWS)
    assert len(elements.all("img")) == len(elements.all("figure")) == 1
    text = "".join(elements.text)
    for part in document.parts:
        for words in (part.title, part.caption, *part.notes):
            assert words in text
    for words in (document.title, *document.introduction):
        assert words in text


def test_page_is_described(elements):
    assert elements.all("html") == [{"lang": "en"}]
    assert len(elements.all("title")) == len(elements.all("h1")) == 1
    assert "viewport" in [meta.get("name") for meta in elements.all("meta")]


def test_text_is_escaped(page, elements):
    assert not elements.all("script")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<of>" not in page
    assert {"title": "how many times faster than DT <exhaustive>"} in elements.all(
        "abbr"
    )


def test_cells_show_measured_and_printed_numbers(page):
    ours = r"<td><strong>0\.7300</strong></td>"
    paper = r'<td class="paper"><span class="spoken">paper: </span>0\.690</td>'
    assert re.search(ours + paper, page)
    assert '<td>1.538 s</td><td class="paper"></td>' in page  # the paper has none
    assert "Gray or in brackets: the paper&#39;s numbers" in page
    assert "Bold: the best" in page


def test_legend_has_used_marks_only():
    page = as_html(Document("t", [], [sample_report.make_small_table()]))
    assert "Gray" not in page
    assert "Bold" not in page
    assert 'id="machine"' not in page


def test_headings_of_cells(elements):
    scopes = [th["scope"] for th in elements.all("th")]
    assert [scopes.count(s) for s in ("col", "rowgroup", "row")] == [7 + 2, 6, 24 + 3]


def test_rows_of_a_table_have_the_same_width(page):
    table = page[page.index("<table>") : page.index("</table>")]
    widths = []
    for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL):
        cells = re.findall(r"<t[dh][^>]*>", row)
        spans = [re.search(r'colspan="(\d+)"', cell) for cell in cells]
        widths.append(sum(int(span[1]) if span else 1 for span in spans))
    assert set(widths) == {7 + 3}


def test_figures_have_descriptions(elements):
    (image,) = elements.all("img")
    assert image["alt"] == 'A line that "rises" from left to right'
    assert image["src"].startswith("data:image/svg+xml;base64,")


def test_links_and_parts_have_the_same_names(elements):
    targets = [a["href"] for a in elements.all("a")]
    assert targets == ["#real-tree", "#real-tree-2", "#split-scaling", "#machine"]
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in targets} <= set(ids)


def test_machine_is_described(page):
    assert "<dt>instruction set</dt><dd>avx2</dd>" in page


def test_no_external_resources(page, elements):
    for tag, attributes in elements.found:
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            value = attributes.get(name) or "data:"
            assert value.startswith(("data:", "#")), (tag, name)
    assert not re.search(r"@import|url\(", page)
    assert "default-src 'none'" in page


def test_style_for_dark_narrow_and_print(page):
    for query in ("prefers-color-scheme: dark", "max-width: 600px", "@media print"):
        assert query in page


def test_page_is_reproducible(document, page):
    assert as_html(document) == page


# --- Markdown -------------------------------------------------------------------------


def test_markdown_has_all_parts(document):
    text = as_markdown(document)
    assert text.count("\n## ") == len(document.parts) + 1
    assert "![A line that" in text
    assert "](<figures/real-tree.svg>)" in text
    assert "**0.7300** (paper 0.690)" in text
    assert "| **MNIST, 60000 x 784** " in text
    assert "CIFAR-10, 20000 x 196: BDTKS was stopped" in text
    assert "| instruction set |" in text
    assert "\n\n\n" not in text


def test_markdown_escapes():
    columns = sample_report.Column("a|b"), sample_report.Column("c")
    row = [sample_report.Cell("x | *y*"), sample_report.Cell("<b>", "1|2")]
    block = sample_report.Block("", [row])
    table = sample_report.Table("t", "T_1", "", columns, [block])
    text = as_markdown(Document("D", [], [table]))
    assert r"x \| \*y\* | \<b\> (paper 1\|2) |" in text
    assert r"## T\_1" in text
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines()]
    assert set(bars) == {0, 3}


def test_terminal_shows_a_table(capsys):
    print_table(sample_report.make_tree_table())
    shown = capsys.readouterr().out
    assert "Table 4: single trees on real data" in shown
    assert "0.7300 [0.690]" in shown
    assert "CIFAR-10, 20000 x 196: BDTKS was stopped after 600 s." in shown
    assert "the paper's numbers" in shown


# --- pictures -------------------------------------------------------------------------


def make_plots():
    """Return one figure of each kind, with all elements."""
    panel = plots.Panel("m", [1, 5, 25], [0.2, 0.3, 0.3], [0.01] * 3, paper_value=25)
    log = plots.Panel("k", [10, 100, 10000], [0.2, 0.3, 0.3], [0.01] * 3, log=True)
    curves = [
        plots.Curve("here", [1000, 2000, 4000], [0.004, 0.003, 0.002]),
        plots.Curve("paper", [1000, 2000], [0.004, 0.003], paper=True),
    ]
    ratios = [
        speedups.Speedup("letter", "DT", 12.3, 8.0),
        speedups.Speedup("letter", "BDTKS", 0.5, None, at_least=True),
        speedups.Speedup("covertype", "DT", None, 3.0),
        speedups.Speedup("covertype", "BDTKS", None, None),
    ]
    return {
        "speedups": speedups.plot_speedups(ratios),
        "sensitivity": plots.plot_sensitivity([panel, log, panel]),
        "illustration": plot_illustration(0),
        "depth_gain": plots.plot_depth_gain(curves),
        "split_scaling": plots.plot_split_scaling(curves),
    }


@pytest.fixture(scope="module")
def drawn():
    return make_plots()


def test_figures_are_reproducible(drawn):
    before = mpl.rcParams["lines.linewidth"]
    with mpl.rc_context({"lines.linewidth": 9.0, "font.size": 30.0}):
        assert make_plots() == drawn
        assert mpl.rcParams["font.size"] == 30.0
    assert mpl.rcParams["lines.linewidth"] == before


@pytest.mark.parametrize("gaps", [[0.0, 0.0], [0.01, 0.0]])
def test_gaps_of_zero_have_no_logarithm(gaps):
    assert plots.plot_split_scaling([plots.Curve("here", [1000, 2000], gaps)])


def test_ratios_in_words():
    assert speedups.Speedup("d", "p", 12.34, 8.0).describe() == "12.3x [8.00x]"
    assert speedups.Speedup("d", "p", 0.5, at_least=True).describe() == "≥ 0.500x"
    assert speedups.Speedup("d", "p", None, 3.0).describe() == " [3.00x]"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_clusters_follow_the_classes(seed):
    plane = make_plane(seed)
    assert plane.X.shape == (600, 2)
    agree = plane.bayes.predict(plane.X) == plane.clusters.predict(plane.X)
    assert agree.mean() > 0.97
    for line in (plane.bayes, plane.clusters):
        assert (line.predict(plane.X) == plane.y).mean() > 0.95
    points = np.array([0.0, 1.0])
    on_line = np.stack([plane.bayes.first_coordinate(points), points], axis=1)
    np.testing.assert_allclose(on_line @ plane.bayes.normal, plane.bayes.offset)


def test_boundary_depends_on_the_spread():
    assert EQUAL.cut("midpoint") == EQUAL.cut("variance") == 2.0
    middle, adjusted = UNEQUAL.cut("midpoint"), UNEQUAL.cut("variance")
    assert UNEQUAL.means[0] < adjusted < middle
    assert UNEQUAL.error(adjusted) < 0.6 * UNEQUAL.error(middle)


# --- in a browser ---------------------------------------------------------------------


def write(page, folder):
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def pictured(drawn):
    """Return a page with the parts of the sample and all figures."""
    document = sample_report.make_document()
    figures = [
        Figure(k, f"Figure: {k}", "", f"alt {k}", svg) for k, svg in drawn.items()
    ]
    parts = [*document.parts, *figures]
    return as_html(Document(document.title, [], parts, document.machine))


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_browser_shows_everything(pictured, tmp_path, width):
    seen = browser.inspect(write(pictured, tmp_path), tmp_path, width)
    assert seen["title"] == sample_report.make_document().title
    assert seen["width"] == width
    assert seen["scroll_width"] <= width
    assert [table["rows"] for table in seen["tables"]] == N_ROWS
    assert len(seen["images"]) == 6
    for image in seen["images"]:
        assert image["complete"]
        assert image["alt"]
        assert image["natural_width"] > 0
        assert 0 < image["width"] <= width
    assert seen["broken_links"] == seen["resources"] == []
    scrolls = [table["width"] > table["shown_width"] for table in seen["tables"]]
    assert scrolls == ([True, False] if width == 390 else [False, False])


@pytest.mark.slow
def test_browser_sends_no_requests(pictured, tmp_path):
    assert browser.find_requests(write(pictured, tmp_path), tmp_path) == []


@pytest.mark.slow
def test_browser_reports_requests(tmp_path):
    # The two tests above are useless if the helper finds nothing.
    page = '<p style="width: 900px"><img src="http://example.org/a.png" alt="a">'
    file = write(page, tmp_path)
    seen = browser.inspect(file, tmp_path, 390)
    assert seen["resources"] == ["http://example.org/a.png"]
    assert seen["images"][0]["natural_width"] == 0
    assert seen["scroll_width"] > 390
    assert "http://example.org/a.png" in browser.find_requests(file, tmp_path)

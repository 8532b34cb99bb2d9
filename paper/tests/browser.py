"""Open a page in a browser: headless Chromium, if it is installed."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
SECONDS = 90
FLAGS = (
    "--headless",
    "--no-sandbox",  # Chromium has none for root, for example in containers
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    # No host name is resolved, so tests reach no other machine; attempts are logged.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
# The page is in a frame, because a window cannot be as narrow as a phone. As `srcdoc`
# it belongs to the same site, so that the outer script can read it.
FRAME = """<!DOCTYPE html>
<meta charset="utf-8">
<iframe id="page" style="width: %(width)dpx; height: 900px; border: 0"></iframe>
<script>
function look(frame) {
  const view = frame.contentWindow, page = frame.contentDocument;
  const root = page.documentElement;
  return {
    title: page.title,
    width: view.innerWidth,
    scroll_width: root.scrollWidth,
    images: Array.from(page.images, (image) => ({
      complete: image.complete,
      natural_width: image.naturalWidth,
      width: image.clientWidth,
      height: image.clientHeight,
      alt: image.alt,
    })),
    tables: Array.from(page.querySelectorAll("table"), (table) => ({
      rows: table.rows.length,
      width: table.offsetWidth,
      shown_width: table.parentElement.clientWidth,
    })),
    broken_links: Array.from(page.querySelectorAll('a[href^="#"]'), (a) => a.hash)
      .filter((hash) => !page.getElementById(decodeURIComponent(hash.slice(1)))),
    resources: view.performance.getEntriesByType("resource").map((entry) => entry.name)
      .filter((name) => !name.startsWith("data:")),
  };
}
const frame = document.getElementById("page");
frame.addEventListener("load", () => {
  const seen = document.createElement("pre");
  seen.id = "seen";
  seen.textContent = JSON.stringify(look(frame));
  document.body.append(seen);
});
frame.srcdoc = %(page)s;
</script>
"""


def find_browser():
    """Return the path of a browser; skip the test without one."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    pytest.skip(f"needs a browser, one of {', '.join(NAMES)}")


def inspect(page: Path, folder: Path, width: int = 390) -> dict:
    """Open a page in a frame of some width and return its properties.

    They are `title`, `width` and `scroll_width` in pixels, `images`, `tables`,
    `broken_links` within the page, and `resources`: requested URLs, without data URIs.
    `folder` is for files of the browser.
    """
    source = json.dumps(page.read_text(encoding="utf-8")).replace("</", "<\\/")
    frame = folder / f"frame_{width}.html"
    text = FRAME % {"width": width, "page": source}
    frame.write_text(text, encoding="utf-8")
    shown = _run(frame, folder, "--dump-dom")
    seen = re.search(r'<pre id="seen">(.*?)</pre>', shown, re.DOTALL)
    assert seen, f"the browser shows nothing: {shown[-2000:]}"
    return json.loads(html.unescape(seen[1]))


def find_requests(page: Path, folder: Path) -> list[str]:
    """Open a page and return its network requests, from the log of the browser."""
    file = folder / "net_log.json"
    _run(page, folder, "--dump-dom", f"--log-net-log={file}")
    log = json.loads(file.read_text(encoding="utf-8"))
    start = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    events = [
        event["params"]
        for event in log["events"]
        if event["type"] == start and "url" in event.get("params", {})
    ]
    # Requests of a page have its origin; requests of the browser itself, for the time
    # or for updates, have none.
    return [
        event["url"]
        for event in events
        if event.get("initiator") != "not an origin"
        and urlsplit(event["url"]).scheme not in ("data", "file")
    ]


def _run(page: Path, folder: Path, *flags: str) -> str:
    command = [find_browser(), *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags]
    result = subprocess.run(
        [*command, page.resolve().as_uri()],
        capture_output=True,
        timeout=SECONDS,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout

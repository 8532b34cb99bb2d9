"""The size of a picture, as its own text tells it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

# CSS pixels of each unit of length.
_UNITS = {
    "": 1.0,
    "px": 1.0,
    "pt": 96 / 72,
    "pc": 16.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 96 / 25.4,
}


def size_in_pixels(svg: str) -> tuple[int, int]:
    """Read width and height of an SVG document, in CSS pixels.

    Parameters
    ----------
    svg : str
        The whole document. Its size is given by `width` and `height`; without them, or
        with percentages, by `viewBox`.

    Returns
    -------
    width, height : int

    Raises
    ------
    ValueError
        If it isn't an SVG document, or has no size.

    Examples
    --------
    >>> size_in_pixels('<svg width="72pt" height="1in" viewBox="0 0 9 9"/>')
    (96, 96)
    """
    try:
        root = ET.fromstring(svg)
    except ET.ParseError as error:
        raise ValueError(f"not an SVG document: {error}") from error
    box = root.get("viewBox", "").replace(",", " ").split()
    sides = [_pixels(root.get(name, "")) for name in ("width", "height")]
    if None in sides and len(box) == 4:
        sides = [_pixels(box[2]), _pixels(box[3])]
    width, height = sides
    if width is None or height is None:
        raise ValueError("the SVG document has neither width and height nor a viewBox")
    return round(width), round(height)


def _pixels(length: str) -> float | None:
    match = re.fullmatch(r"\s*(\d*\.?\d+)\s*([a-z]*)\s*", length)
    if match is None or match[2] not in _UNITS:
        return None
    return float(match[1]) * _UNITS[match[2]]

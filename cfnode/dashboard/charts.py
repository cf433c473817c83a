"""Charts as SVG without a script or a style: the page's style sheet has the colours.

pygal computes the drawing. What it adds for its own scripts and styles is taken out, since the page allows
neither inside of a document, and each bar gets a title, which browsers show and screen readers read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

import pygal
from pygal.style import Style

__all__ = ["MAX_SERIES", "Chart", "stacked"]

MAX_SERIES: Final = 7
"""Series with a colour of their own; smaller ones are summed up as one more."""
MAX_AXIS_LABELS: Final = 6
_WIDTH, _HEIGHT = 420, 210
_STYLE: Final = Style(label_font_size=12, major_label_font_size=12)
_LEFT_OUT: Final = ("comment", "defs", "title", "script", "style")
_LEFT_OUT_GROUPS: Final = ("overlay", "text-overlay", "tooltip-overlay")
_SVG: Final = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Chart:
    """Drawing (SVG) and its legend.

    `legend`: names in the order of the colours 0, 1, 2, …
    """

    svg: str
    legend: tuple[str, ...]


def stacked(
    title: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float]],
    format_value: Callable[[float], str],
) -> Chart:
    """Draw stacked bars: a bar for each label, a colour for each series.

    `format_value` returns a value as text.
    """
    largest = _largest(series)
    chart = pygal.StackedBar(
        style=_STYLE,
        width=_WIDTH,
        height=_HEIGHT,
        css=[],
        js=[],
        margin=4,
        spacing=8,
        show_legend=False,
        explicit_size=False,
        disable_xml_declaration=True,
        no_prefix=True,
        value_formatter=format_value,
        max_scale=5,
        show_minor_x_labels=False,
        rounded_bars=1,
        truncate_label=-1,
    )
    chart.x_labels = list(labels)
    step = -(-len(labels) // MAX_AXIS_LABELS)
    chart.x_labels_major = [label for index, label in enumerate(labels) if index % step == 0]
    for name, values in largest.items():
        chart.add(name, list(values))
    root = chart.render_tree()
    _clean(root, title, list(largest))
    ElementTree.register_namespace("", _SVG)
    return Chart(ElementTree.tostring(root, encoding="unicode"), tuple(largest))


def _largest(series: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Return the largest series, and the sum of the others."""
    names = sorted(series, key=lambda name: sum(series[name]), reverse=True)
    largest: dict[str, Sequence[float]] = {name: series[name] for name in names[:MAX_SERIES]}
    others = names[MAX_SERIES:]
    if others:
        largest["others"] = [sum(parts) for parts in zip(*(series[name] for name in others), strict=True)]
    return largest


def _clean(root: ElementTree.Element, title: str, names: Sequence[str]) -> None:
    root.attrib.pop("id", None)
    root.set("role", "img")
    root.set("aria-label", title)
    for parent in list(root.iter()):
        for child in list(parent):
            kinds = child.get("class", "").split()
            tag: object = child.tag  # a comment's tag is a function
            name = tag.rpartition("}")[2] if isinstance(tag, str) else "comment"
            if name in _LEFT_OUT or any(kind in _LEFT_OUT_GROUPS for kind in kinds):
                parent.remove(child)
        parent.attrib.pop("style", None)
    for index, name in enumerate(names):
        _title(root, index, name)


def _title(root: ElementTree.Element, index: int, name: str) -> None:
    """Turn each bar's description, as pygal left it for its script, into its title."""
    for group in root.iter():
        if f"serie-{index}" not in group.get("class", "").split():
            continue
        for bar in (element for element in group.iter() if element.get("class") == "bar"):
            texts = {
                description.get("class"): description.text or ""
                for description in bar
                if description.get("class") in _DESCRIBED
            }
            for description in list(bar)[1:]:
                bar.remove(description)
            label = ElementTree.SubElement(bar, "title")
            label.text = f"{texts.get('x_label', '')}, {name}: {texts.get('value', '')}"


_DESCRIBED: Final = ("value", "x_label")

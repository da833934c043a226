"""A model as a picture: an SVG with what comes in at the top, and each call below the tensors that it takes.

Layers go by the longest way from what comes in. An edge across several layers takes a place in each of them, so that
it goes around the boxes there; places in a layer are sorted by where their neighbors stand (Sugiyama's method).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from tzerlike.core.errors import UserError
from tzerlike.graph.model import Model, read_model

MOST_CALLS = 32
"""Of more calls nobody sees anything in a picture."""

_LINE, _LETTER, _PAD = 17, 7.3, 9
"""Pixels: the height of a line of text, the width of a letter, the space around a text."""

_ACROSS, _DOWN = 22, 34
"""Pixels between boxes, and between layers."""

_SWEEPS = 6

_LONGEST = 44
"""Letters of a line."""


@dataclass(slots=True)
class _Node:
    """A box, or without lines of text a place that an edge goes through."""

    lines: tuple[str, ...]
    style: str
    layer: int = 0
    above: list[_Node] = field(default_factory=list)
    below: list[_Node] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        return max(map(len, self.lines)) * _LETTER + 2 * _PAD if self.lines else 0.0

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + _PAD


def picture_of(text: str) -> str:
    """Return the SVG of the model in a text; "" where it is none, or too large."""
    try:
        model = read_model(text)
    except (UserError, ValueError):
        return ""
    return model_svg(model) if 0 < len(model.vertices) <= MOST_CALLS else ""


def model_svg(model: Model) -> str:
    """Return the SVG of a model."""
    layers = _layers(_nodes(model))
    _sort(layers)
    width = _place(layers)
    height = max(node.y + node.height for layer in layers for node in layer)
    nodes = [node for layer in layers for node in layer]
    edges = "".join(_edge(node, end) for node in nodes if node.lines for end in node.below)
    calls = ", ".join(vertex.operator for vertex in model.vertices)
    return (
        f'<svg class="model" width="{width:.0f}" height="{height + 2:.0f}" viewBox="0 0 {width:.0f} {height + 2:.0f}" '
        f'role="img" aria-label="{escape(f"The model as a graph: {calls}")}">'
        f"{edges}{''.join(map(_box, nodes))}</svg>"
    )


def _nodes(model: Model) -> list[_Node]:
    """The boxes, with edges between them; those of what comes in first, then the calls in their order."""
    maker: list[_Node] = []
    for number, one in enumerate(model.sources):
        maker.append(_Node((f"x{number}" if one.kind == "input" else "constant", str(one.type)), one.kind))
    nodes = list(maker)
    for _, vertex in model.first_outputs():
        attributes = ", ".join(f"{name}={value}" for name, value in vertex.attributes.items() if value is not None)
        within = f"in {'/'.join(vertex.within)}" if vertex.within else ""
        types = [str(kind) for kind in dict.fromkeys(vertex.outputs)]
        lines = (vertex.operator, *filter(None, (attributes, within)), ", ".join(types))
        node = _Node(tuple(map(_short, lines)), "call")
        for number in dict.fromkeys(vertex.inputs):
            _join(maker[number], node)
        maker += [node] * len(vertex.outputs)
        nodes.append(node)
    for place, number in enumerate(model.outputs):
        end = _Node((f"output {place}",), "output")
        _join(maker[number], end)
        nodes.append(end)
    return nodes


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _join(one: _Node, other: _Node) -> None:
    if other not in one.below:
        one.below.append(other)
        other.above.append(one)


def _layers(nodes: Sequence[_Node]) -> list[list[_Node]]:
    """Boxes by layer, with places for the edges that pass one; what comes in stands right above what takes it."""
    for node in nodes:
        node.layer = max((one.layer + 1 for one in node.above), default=0)
    for node in nodes:
        if not node.above and node.below:
            node.layer = min(one.layer for one in node.below) - 1
    layers: list[list[_Node]] = [[] for _ in range(1 + max(node.layer for node in nodes))]
    for node in nodes:
        layers[node.layer].append(node)
    for node in nodes:
        node.below = [_through(layers, node, end) for end in node.below]
    return layers


def _through(layers: list[list[_Node]], node: _Node, end: _Node) -> _Node:
    """The first place on the way to a box further below, or that box."""
    before, first = node, end
    for number in range(node.layer + 1, end.layer):
        place = _Node((), "", number, [before])
        layers[number].append(place)
        if before is node:
            first = place
        else:
            before.below.append(place)
        before = place
    if before is not node:
        before.below.append(end)
        end.above[end.above.index(node)] = before
    return first


def _sort(layers: list[list[_Node]]) -> None:
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for number in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            where = {id(one): place for place, one in enumerate(layers[number - 1 if down else number + 1])}
            layer, middle = layers[number], {}
            for place, node in enumerate(layer):
                near = [where[id(one)] for one in (node.above if down else node.below) if id(one) in where]
                middle[id(node)] = sum(near) / len(near) if near else place
            layer.sort(key=lambda node, middle=middle: middle[id(node)])  # type: ignore[misc]


def _place(layers: Sequence[Sequence[_Node]]) -> float:
    """Give each node its place, as near below and above its neighbors as there is room; returns the width."""
    y = 1.0
    for layer in layers:
        for node in layer:
            node.y = y
        y += max(node.height for node in layer) + _DOWN
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _spread(layer)
    left = min(node.x for layer in layers for node in layer) - 1
    for node in (node for layer in layers for node in layer):
        node.x -= left
    return max(node.x + node.width for layer in layers for node in layer) + 1


def _spread(layer: Sequence[_Node]) -> None:
    """Move the nodes of a layer towards their neighbors, in their order: halfway between where they come to lie from
    the left and from the right."""
    wanted = []
    for node in layer:
        near = [one.x + one.width / 2 for one in (*node.above, *node.below)]
        wanted.append((sum(near) / len(near) if near else node.x + node.width / 2) - node.width / 2)
    left, right = list(wanted), list(wanted)
    for at in range(1, len(layer)):
        left[at] = max(left[at], left[at - 1] + layer[at - 1].width + _ACROSS)
    for at in range(len(layer) - 2, -1, -1):
        right[at] = min(right[at], right[at + 1] - _ACROSS - layer[at].width)
    for node, one, other in zip(layer, left, right, strict=True):
        node.x = (one + other) / 2


def _box(node: _Node) -> str:
    if not node.lines:
        return ""
    middle = node.x + node.width / 2
    lines = "".join(
        f'<text x="{middle:.1f}" y="{node.y + _LINE * (number + 1) - 1:.1f}"{_FIRST if number == 0 else ""}>'
        f"{escape(line)}</text>"
        for number, line in enumerate(node.lines)
    )
    corner = 5 if node.style == "call" else node.height / 2
    return (
        f'<g class="{node.style}"><rect x="{node.x:.1f}" y="{node.y:.1f}" width="{node.width:.1f}" '
        f'height="{node.height:.1f}" rx="{corner:g}"/>{lines}</g>'
    )


_FIRST = ' class="name"'


def _edge(node: _Node, towards: _Node) -> str:
    """The path from a box to the next one, with an arrow at its end."""
    points = [(node.x + node.width / 2, node.y + node.height), *_ways(towards)]
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x, y), (to_x, to_y) in pairwise(points):
        half = (y + to_y) / 2
        path += f"C{x:.1f},{half:.1f} {to_x:.1f},{half:.1f} {to_x:.1f},{to_y:.1f}"
    x, y = points[-1]
    return f'<path class="edge" d="{path}"/><path class="tip" d="M{x - 4:.1f},{y - 7:.1f}h8l-4,7z"/>'


def _ways(node: _Node) -> Iterator[tuple[float, float]]:
    """The places that an edge goes through, and the top of the box where it ends."""
    while not node.lines:
        yield node.x, node.y
        yield node.x, node.y + node.height
        (node,) = node.below
    yield node.x + node.width / 2, node.y

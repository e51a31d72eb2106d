"""The picture in the DOT language."""

from __future__ import annotations

from collections import Counter

from graphviz import Digraph

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.markup import LINE_BREAK, Markup, element, escaped, together
from autograd_inspector.views.options import at_least, one_of
from autograd_inspector.views.picture import palette
from autograd_inspector.views.picture.boxes import Box, Link, picture
from autograd_inspector.views.picture.painting import TONES, ColorBy, devices_of, painted
from autograd_inspector.views.picture.palette import Paint
from autograd_inspector.views.summaries.alarms import worst

_FONT = "Helvetica,Arial,sans-serif"


def to_dot(report: ReportData, *, boxes: int = 40, color_by: ColorBy = "gradient") -> Digraph:
    """Values flow downwards, from inputs and parameters to what backward starts from.

    ``color_by``, the colour of the boxes: by what gradient does there, or by the device that their tensors live on.
    """
    at_least("boxes", boxes, 1)
    one_of("color_by", color_by, ColorBy)
    drawn = picture(report, limit=boxes)
    paints = painted(drawn.boxes, color_by)
    graph = Digraph("autograd")
    graph.attr(
        "graph",
        _attributes={"class": "autograd-graph"},
        rankdir="TB",
        bgcolor=palette.PAPER,
        fontname=_FONT,
        fontsize="10",
        fontcolor=palette.QUIET,
        nodesep="0.22",
        ranksep="0.34",
        pad="0.2",
        labelloc="b",
        tooltip="autograd graph",
    )
    graph.attr(
        "node",
        shape="box",
        style="rounded,filled",
        fontname=_FONT,
        fontsize="11",
        margin="0.1,0.05",
        height="0.3",
    )
    graph.attr("edge", fontname=_FONT, fontsize="9", arrowsize="0.6", penwidth="1.1")
    if _called_again(drawn.boxes, report):
        graph.attr(ordering="out")  # Else `dot` puts the calls wherever the fewest edges cross.
    graph.attr(label=_html(_legend(drawn.boxes, drawn.links, color_by)))
    _cluster(graph, drawn.boxes, 0, _frame_names(drawn.boxes, report), paints)
    for link in drawn.links:
        _edge(graph, link)
    return graph


def _called_again(boxes: tuple[Box, ...], report: ReportData) -> bool:
    """Whether a module has several boxes, which are read in the order of its calls."""
    calls = [report.capture.calls[box.call] for box in boxes if box.call >= 0]
    return len({(call.root, call.path) for call in calls}) < len(calls)


def _html(label: Markup) -> str:
    """DOT's own form of a label that is markup."""
    return f"<{label}>" if label else ""


def _frame_names(boxes: tuple[Box, ...], report: ReportData) -> dict[int, tuple[str, str]]:
    """Module call -> its name and class, as its frame says them; which call it is where there are several frames."""
    calls = report.capture.calls
    framed = [calls[number] for number in dict.fromkeys(call for box in boxes for call in box.chain)]
    times = Counter((call.root, call.path) for call in framed)
    names = {}
    for call in framed:
        name = report.capture.display_names.within(call, calls[call.parent] if call.parent >= 0 else None)
        again = f" (call {call.nth})" if times[call.root, call.path] > 1 else ""
        names[call.id] = shown(name, 60) + again, shown(call.type, 60)
    return names


def _cluster(
    graph: Digraph, boxes: tuple[Box, ...], depth: int, names: dict[int, tuple[str, str]], paints: dict[int, Paint]
) -> None:
    """Boxes of one level, those of one module call inside a frame; a frame around one box says nothing."""
    inside: dict[int, list[Box]] = {}
    for box in boxes:
        if len(box.chain) > depth:
            inside.setdefault(box.chain[depth], []).append(box)
        else:
            _node(graph, box, paints[box.id])
    for call, members in inside.items():
        if len(members) == 1:
            _node(graph, members[0], paints[members[0].id])
            continue
        name, kind = names[call]
        with graph.subgraph(name=f"cluster_{call}") as frame:
            frame.attr(
                label=_html(together(element("b", name), f"  {kind}")),
                labelloc="t",
                labeljust="l",
                style="rounded,filled",
                color=palette.FRAME,
                fillcolor=palette.CLUSTER,
                fontcolor=palette.QUIET,
                tooltip=escaped(name),
                margin="9",
            )
            _cluster(frame, tuple(members), depth + 1, names, paints)


def _node(graph: Digraph, box: Box, paint: Paint) -> None:
    lines = [element("b", box.title)]
    if box.subtitle:
        lines.append(_small(box.subtitle, palette.QUIET))
    lines += [_small(text, TONES["warning" if box.look == "warned" else "error"]) for text in box.alarms]
    lines += [_small(text, palette.INK) for text in box.notes]
    rows = [element("tr", element("td", line)) for line in lines]
    label = element("table", *rows, border="0", cellborder="0", cellspacing="0", cellpadding="1")
    graph.node(
        f"b{box.id}",
        label=_html(label),
        fillcolor=paint.fill,
        color=paint.line,
        fontcolor=paint.text,
        penwidth="1.8" if box.alarms else "1",
        tooltip=escaped(f"{box.title}: {box.subtitle}"),
        style="filled" if box.leaf else "rounded,filled",
    )


def _small(text: str, color: str) -> Markup:
    return element("font", text, **{"point-size": "9", "color": color})


def _edge(graph: Digraph, link: Link) -> None:
    ends = f"b{link.source}", f"b{link.target}"
    if link.kind == "gradient":
        graph.edge(*ends, color=palette.FLOW)
    elif link.kind == "data":
        graph.edge(*ends, color=palette.IDLE)
    else:
        color = TONES[link.tone]
        # The spaces keep the text off the line that it belongs to.
        lines = [piece for line in link.label.split("\n") for piece in (f"\u2002{line}\u2002", LINE_BREAK)][:-1]
        graph.edge(
            *ends,
            label=_html(element("font", *lines, color=color)),
            color=color,
            style="dashed" if link.kind == "severed" else "bold",
            penwidth="1.6",
            arrowhead="tee" if link.live and link.kind == "severed" else "normal",
        )


def _legend(boxes: tuple[Box, ...], links: tuple[Link, ...], color_by: ColorBy) -> Markup:
    """What the colours mean, as far as they occur."""
    if color_by == "device":
        labels = [_small(f"■ {device}", paint.line) for device, paint in palette.devices(devices_of(boxes)).items()]
        return together(*[piece for entry in labels for piece in (entry, "    ")][:-1])
    kinds = {link.kind for link in links}
    looks = {box.look for box in boxes}
    entries = [
        ("gradient" in kinds, "gradient flows back", palette.FLOW),
        ("data" in kinds or "still" in looks, "no gradient needed", palette.QUIET),
        ("severed" in kinds, "gradient is cut", _tone(links, "severed")),
        ("modified" in kinds, "saved, then modified", _tone(links, "modified")),
        ("learnt" in looks, "trainable leaf", palette.HOPE),
    ]
    labels = [_small(f"■ {text}", color) for there, text, color in entries if there]
    return together(*[piece for entry in labels for piece in (entry, "    ")][:-1])


def _tone(links: tuple[Link, ...], kind: str) -> str:
    return TONES[worst(*(link.tone for link in links if link.kind == kind))]

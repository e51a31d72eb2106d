from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET

import msgspec
import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.model.finding import Finding
from autograd_inspector.views.picture import palette
from autograd_inspector.views.picture.boxes import picture
from autograd_inspector.views.picture.image import image_of
from autograd_inspector.views.picture.render import GraphvizMissingError


def test_a_deep_model_is_drawn_in_few_boxes(deep):
    """By default between ten and sixty boxes, whatever the size."""
    drawn = picture(deep, limit=60)
    assert 10 <= len(drawn.boxes) <= 60
    assert len(picture(deep, limit=8).boxes) <= 8


def test_one_step_of_a_loop_is_drawn(deep):
    """Of several steps of one line the picture shows the last: each module once."""
    titles = [box.title for box in picture(deep, limit=60).boxes]
    assert len(titles) == len(set(titles)) or "(call" not in "".join(titles)
    assert sum("backward starts here" in box.notes for box in picture(deep, limit=60).boxes) == 1


def test_a_cut_is_a_dashed_edge_with_cause_and_line(detached):
    """The severed edge says why and where; no error names its line, so it is not red."""
    (link,) = [link for link in picture(detached, limit=60).links if link.kind == "severed"]
    assert link.live
    assert re.fullmatch(r"detached\nconftest\.py:\d+", link.label)
    (line,) = [line for line in detached.to_dot().split("\n") if "detached" in line and "->" in line]
    assert "dashed" in line
    assert palette.WARNING in line
    assert palette.ALARM not in line


@pytest.mark.parametrize(("severity", "look"), [("error", "broken"), ("warning", "warned"), ("info", "flowing")])
def test_a_box_and_a_cut_are_as_bad_as_their_finding(detached, severity, look):
    """Red where an error names the op and the line, the colour of a warning where that is all there is."""
    (cut,) = [edge for edge in detached.graph.severed if edge.live]
    source = detached.graph.nodes[cut.source]
    place = detached.capture.place(cut.site)
    found = Finding("AG101", "detached", severity, "It is cut.", locations=(place,), ops=(source.op,))
    drawn = picture(msgspec.structs.replace(detached, findings=(found,)), limit=60)
    (link,) = [link for link in drawn.links if link.kind == "severed"]
    assert link.tone == ("error" if severity == "error" else "warning")
    assert drawn.boxes[link.source].look == look


def test_a_modified_saved_tensor_is_told_in_its_box(broken):
    """Box of the module: which tensor, both versions, and that backward failed there."""
    (box,) = [box for box in picture(broken, limit=60).boxes if box.title == "norm"]
    assert box.look == "broken"
    assert "saved input v0, now v1" in box.alarms
    assert "backward failed here" in box.alarms


def test_what_needs_no_gradient_is_grey():
    """Computation that no gradient passes looks different from computation that it passes."""
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2)
    with autograd_inspector.inspect() as inspection:
        (x.exp() * w).sum().backward()
    looks = {box.title: box.look for box in picture(inspection.report, limit=60).boxes}
    assert (looks["exp"], looks["mul"]) == ("still", "flowing")


def test_a_tied_parameter_is_drawn_once_for_both_users():
    """A parameter of one module belongs to its box; one that two modules read stands between them."""
    first, second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3)
    second.weight = first.weight
    net = nn.Sequential(first, nn.ReLU(), second)
    with autograd_inspector.inspect() as inspection:
        net(torch.ones(2, 3)).sum().backward()
    drawn = picture(inspection.report, limit=60)
    (leaf,) = [box for box in drawn.boxes if box.look == "learnt"]
    assert leaf.title == "net.0.weight"
    assert len([link for link in drawn.links if link.source == leaf.id]) == 2
    assert "1 parameter" in next(box.subtitle for box in drawn.boxes if box.title == "2")


def test_a_long_loop_is_folded_by_line():
    """Thousands of ops of one line are one box."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        h = w
        for _ in range(1000):
            h = h * w
        h.sum().backward()
    titles = [box.title for box in picture(inspection.report, limit=60).boxes]
    assert "mul ×1,000" in titles
    assert len(titles) <= 4


def test_calls_of_a_module_stand_in_the_order_of_the_program():
    """From left to right: the first call first, where one tensor led to all of them."""
    net, x = nn.Linear(4, 4), torch.randn(2, 4)
    with autograd_inspector.inspect() as inspection:
        sum(net(x + shift).sum() for shift in range(8)).backward()
    svg = inspection.report.to_svg()
    titles = re.findall(r'x="([-.\d]+)"[^>]*>net \(call (\d)\)<', svg)
    assert [int(call) for _, call in sorted(titles, key=lambda title: float(title[0]))] == list(range(1, 9))


def test_the_picture_is_the_same_for_the_same_program():
    """Neither addresses nor random numbers are in DOT or SVG: another run of the program draws the same."""

    def drawn() -> tuple[str, str]:
        net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        with autograd_inspector.inspect() as inspection:
            net(torch.ones(2, 3)).sum().backward()
        return inspection.report.to_dot(), inspection.report.to_svg()

    assert drawn() == drawn()


def test_svg_is_one_element_with_colours_for_dark_pages(broken):
    """The SVG parses, starts with <svg>, and its rules stay inside the picture."""
    svg = broken.to_svg()
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    style = next(element.text for element in root.iter() if element.tag.endswith("style"))
    rules = re.findall(r"([^{}]+)\{[^{}]+\}", style.partition("{")[2])
    assert rules
    assert all(rule.startswith(".autograd-graph ") for rule in rules)


def test_every_colour_of_the_picture_has_a_dark_twin(broken, detached):
    """No colour that is drawn stays light on a dark page."""
    for report in (broken, detached):
        style, _, drawing = report.to_svg().partition("</style>")
        used = set(re.findall(r'(?:fill|stroke)="(#\w+)"', drawing))
        assert used
        assert not [color for color in used if f'"{color}"' not in style]


def test_without_dot_the_error_says_what_to_install(broken, monkeypatch):
    """A machine without Graphviz gets one typed line; text and the notebook display still work."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GraphvizMissingError, match=r"apt install graphviz") as caught:
        broken.to_svg()
    assert "\n" not in str(caught.value)
    assert broken._repr_mimebundle_()["text/plain"] == broken.to_text()
    assert "apt install graphviz" in broken.to_html()
    assert broken.to_dot().startswith("digraph")


def test_the_notebook_display_has_text_and_picture(broken):
    """text/plain is complete; text/html shows findings and graph; what was not asked for is left out."""
    bundle = broken._repr_mimebundle_()
    assert bundle["text/plain"] == broken.to_text()
    assert "<img" in bundle["text/html"]
    assert set(broken._repr_mimebundle_(include=["text/plain"])) == {"text/plain"}
    assert set(broken._repr_mimebundle_(exclude=["text/plain"])) == {*bundle} - {"text/plain"}


def test_render_writes_the_format_of_the_suffix(broken, tmp_path):
    """.svg and .png files are what they say."""
    assert broken.render(tmp_path / "graph.svg").read_text(encoding="utf-8").startswith("<svg")
    assert broken.render(tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_ops_of_a_finding_are_drawn_with_its_code(detached, finding):
    """A box that a finding is about carries the rule's code."""
    op = next(op.index for op in detached.capture.ops if op.name == "detach")
    report = msgspec.structs.replace(detached, findings=(msgspec.structs.replace(finding, ops=(op,)),))
    (box,) = [box for box in picture(report, limit=60).boxes if "AG201" in box.alarms]
    assert box.title == "detach"


def test_the_picture_as_an_image_keeps_its_words(broken):
    """The image holds the same labels, numbers included, and a twin of each of its colours for dark pages."""
    svg = broken.to_svg()
    address = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', image_of(svg, "7 nodes"))[1]
    drawn = base64.b64decode(address).decode()
    words = [element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("text")]
    assert words == [element.text for element in ET.fromstring(drawn).iter() if element.tag.endswith("text")]
    style, _, drawing = drawn.partition("</style>")
    assert not [color for color in re.findall(r'(?:fill|stroke)="(#\w+)"', drawing) if f'"{color}"' not in style]
    assert len(drawn) < len(svg)


def test_many_tensors_with_the_same_readers_are_one_box():
    """Forty parameters that one call reads do not make forty boxes."""
    weights = [nn.Parameter(torch.ones(2)) for _ in range(40)]
    with autograd_inspector.inspect() as inspection:
        torch.cat(weights).sum().backward()
    boxes = picture(inspection.report, limit=60).boxes
    assert [box.title for box in boxes if box.leaf] == ["40 tensors"]
    assert len(boxes) == 3


def test_an_op_is_drawn_in_the_frame_of_its_module():
    """An op that reads its module's own parameter stays in the module's frame, with the parameter."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x.exp() * self.scale

    net = nn.Sequential(Scaled(), nn.Linear(3, 1))
    with autograd_inspector.inspect() as inspection:
        net(torch.ones(2, 3)).sum().backward()
    boxes = {box.title: box for box in picture(inspection.report, limit=60).boxes}
    assert boxes["mul"].chain == boxes["exp"].chain != ()
    assert "1 parameter" in boxes["mul"].subtitle


def test_an_error_that_the_program_caught_raises_no_alarm():
    """A call that failed and was handled is no alarm; one that ended the program is."""
    w = torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as caught:
        with pytest.raises(RuntimeError):
            w @ torch.ones(3)
        (w * 2).sum().backward()
    assert not [box for box in picture(caught.report, limit=60).boxes if box.alarms]
    inspection = autograd_inspector.inspect()
    with pytest.raises(RuntimeError), inspection:
        w @ torch.ones(3)
    assert [box.title for box in picture(inspection.report, limit=60).boxes if box.alarms] == ["matmul"]


def test_names_of_frames_lie_above_the_lines(deep):
    """Each once, after the last line, with a rim that keeps lines off its letters, dark pages included."""
    svg = deep.to_svg()
    lines, above = svg.rsplit('class="edge"', 1)
    assert "paint-order" not in lines
    (rim,) = re.findall(r'<g stroke="([^"]*)" stroke-width="3" [^>]* paint-order="stroke">', above)
    assert rim == palette.CLUSTER
    assert f'[stroke="{rim}"]' in svg
    frames = re.findall(r'<g id="clust.*?</g>\s*</g>', lines, re.DOTALL)
    assert frames
    for frame in frames:
        assert "<text" not in frame
        (title,) = re.findall('xlink:title="([^"]*)"', frame)
        assert f">{title}</text>" in above
    ET.fromstring(svg)


def test_frames_of_one_module_tell_their_calls_apart():
    """Each says which call it is, as boxes do; what no frame is around has its full name."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.second(torch.relu(self.first(x)))

    block, layers = Block(), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    with autograd_inspector.inspect() as inspection:
        (block(torch.ones(2, 4)) + block(layers[0](torch.ones(2, 4)))).sum().backward()
    source = inspection.report.to_dot(boxes=40)
    assert source.count("<b>block (call 1)</b>") == source.count("<b>block (call 2)</b>") == 1
    assert "<b>layers.0</b>" in source

"""Pages in headless Chromium: no network, no errors, atoms on the canvas that move when they are played."""

import numpy as np
import pytest
from browsers import opened, pixels_of, view_of
from run_folders import checkpoint_of, frames, record, write_run

from taichimd.report.compose import report_page, view_page
from taichimd.report.folders import parts_of
from taichimd.report.frames import shown_frames
from taichimd.report.page import write_page

pytestmark = pytest.mark.browser
SILICON = np.array([0xF0, 0xC8, 0xA0]) / 255
"""Colour of an atom of silicon (Jmol's)."""


def shown(pixels):
    """Share of the canvas that has the hue of silicon, and where its centre is along x."""
    lit = pixels / np.maximum(pixels.max(axis=2, keepdims=True), 1e-6)
    atoms = (np.abs(lit - SILICON / SILICON.max()).max(axis=2) < 0.08) & (pixels.min(axis=2) < 0.8)
    return atoms.mean(), np.nonzero(atoms)[1].mean() if atoms.any() else None


def test_a_report_draws_plays_and_zooms(tmp_path):
    evil = "<script>alert(1)"
    report = record(structure=f"{evil}.extxyz")
    report["notes"] = [evil]
    folder = write_run(tmp_path / evil, images=60, report=report)
    write_page(tmp_path / "page.html", report_page(parts_of(folder)))
    with opened(tmp_path / "page.html") as (page, problems):
        view = view_of(page)
        assert view.get_attribute("data-ready") == "true", view.inner_text()
        before = pixels_of(view)
        share, first = shown(before)
        assert 0.0005 < share < 0.5
        view.locator(".frame").fill("59")
        assert view.locator("output").inner_text() == "0.59 ps"
        later, last = shown(pixels_of(view))
        assert later == pytest.approx(share, rel=0.3)
        assert last > first + 1, "atom 1 moves to the right"
        view.locator(".frame").fill("0")
        view.locator(".play").click()
        page.wait_for_function("Number(document.querySelector('.view').dataset.frame) >= 3", timeout=60_000)
        view.locator(".play").click()
        assert np.abs(pixels_of(view) - before).max() > 0.1
        chart = page.locator(".chart svg").first
        chart.scroll_into_view_if_needed()
        box, whole = chart.bounding_box(), chart.inner_html()
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
        page.mouse.up()
        ends = page.evaluate(
            "[...document.querySelectorAll('.chart svg text')].map((one) => one.textContent)"
        )
        assert "0.20" in ends
        assert "0.40" not in ends, "all charts of the run are zoomed"
        page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
        assert chart.inner_html().count("<text") == whole.count("<text")
        assert problems == []


def test_names_of_lines_stand_above_the_lines_and_a_narrow_page_holds_its_charts(tmp_path):
    write_page(tmp_path / "page.html", report_page(parts_of(write_run(tmp_path / "run"))))
    with opened(tmp_path / "page.html") as (page, problems):
        page.set_viewport_size({"width": 400, "height": 800})
        page.reload()
        chart = page.locator(".chart:has(.entry)").first
        names = [one.bounding_box() for one in chart.locator(".entry text").all()]
        lines = [one.bounding_box() for one in chart.locator(".line").all()]
        assert max(one["y"] + one["height"] for one in names) <= min(one["y"] for one in lines)
        assert min(one["height"] for one in names) > 11, "pixels"
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        assert max(one["x"] + one["width"] for one in lines) < 400
        assert not problems


def test_groups_can_be_coloured(tmp_path):
    (tmp_path / "two.extxyz").write_text(frames(1))
    checkpoint_of(tmp_path, 2, fixed=np.array([True, True]))
    write_page(tmp_path / "two.html", view_page("two.extxyz", shown_frames(tmp_path / "two.extxyz")))
    with opened(tmp_path / "two.html") as (page, problems):
        view = view_of(page)
        assert shown(pixels_of(view))[0] > 0.0005
        assert "fixed (2)" not in view.inner_text()
        view.locator(".coloured").select_option("groups")
        assert shown(pixels_of(view))[0] < 1e-4, "no atom has the colour of silicon"
        assert "fixed (2)" in view.inner_text()
        view.locator(".coloured").select_option("elements")
        assert shown(pixels_of(view))[0] > 0.0005
        assert problems == []


def test_a_view_of_a_file_alone(tmp_path):
    (tmp_path / "two.extxyz").write_text(frames(2))
    write_page(tmp_path / "two.html", view_page("two.extxyz", shown_frames(tmp_path / "two.extxyz")))
    with opened(tmp_path / "two.html") as (page, problems):
        assert shown(pixels_of(view_of(page)))[0] > 0.0005
        assert problems == []

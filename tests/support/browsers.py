"""A headless Chromium for tests of pages, and what becomes of these tests where there is none."""

import importlib.util
import os
import shutil
from contextlib import contextmanager
from io import BytesIO

import numpy as np
from matplotlib.image import imread
from peers import missing

REQUIRE_BROWSER, CHROMIUM = "TAICHIMD_REQUIRE_BROWSER", "TAICHIMD_CHROMIUM"
"""Environment variables: a test that needs a browser must not be skipped; the browser's program."""
WITHOUT_BROWSER = "no headless Chromium to open pages"
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_SOFTWARE_GL = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)


def chromium():
    """Path of the browser, or None."""
    return os.environ.get(CHROMIUM) or next(filter(None, map(shutil.which, _NAMES)), None)


def require_browser():
    """Skip the running test without browser, playwright or viewer; fail it if `REQUIRE_BROWSER` is set."""
    if chromium() is None or importlib.util.find_spec("playwright") is None:
        missing(
            f"{WITHOUT_BROWSER}: apt-get install chromium-headless-shell, pip install playwright",
            REQUIRE_BROWSER,
        )
    require_viewer()


def require_viewer():
    """Skip the running test if the viewer's JavaScript is not built; fail it if `REQUIRE_BROWSER` is set."""
    from taichimd.report.view import has_library

    if not has_library():
        missing("the viewer is not built: pip install chemiscope, python hatch_build.py", REQUIRE_BROWSER)


@contextmanager
def opened(path):
    """A page in the browser without network, and a list of what went wrong: errors, warnings, requests."""
    from playwright.sync_api import sync_playwright

    problems = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(_SOFTWARE_GL))
        context = browser.new_context(viewport={"width": 1100, "height": 900}, offline=True)
        page = context.new_page()
        page.on("console", lambda said: problems.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda one: None if one.url.startswith(("file:", "data:", "blob:")) else problems.append(one.url),
        )
        page.goto(path.resolve().as_uri())
        yield page, problems
        browser.close()


def view_of(page, number=0):
    """The 3D view of a page once it is drawn."""
    view = page.locator(".view").nth(number)
    view.scroll_into_view_if_needed()
    page.wait_for_function(f"document.querySelectorAll('.view')[{number}].dataset.ready", timeout=120_000)
    return view


def pixels_of(view):
    """(height, width, 3) colours of a view's canvas, 0 to 1."""
    return np.asarray(imread(BytesIO(view.locator(".canvas").screenshot()), "png"))[..., :3]

"""A browser without a window, and the project's documentation in it."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
import pytest_asyncio
from tests.site.reading import Reading, Scheme, Visit
from tests.site.serving import serve

if TYPE_CHECKING:
    from playwright.async_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",  # it runs as root in CI, and sees the project's own pages alone
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REMEDY = (
    "install Chromium (Debian: `apt install chromium`) or name one with DSH_BROWSER, "
    "and the extra `site` of pyproject.toml"
)


def missing(what: str) -> NoReturn:
    """Skip what needs a browser; where DSH_REQUIRE_BROWSER is set, as in CI, fail instead."""
    if os.environ.get("DSH_REQUIRE_BROWSER"):
        pytest.fail(f"{what}, and DSH_REQUIRE_BROWSER is set: {REMEDY}")
    pytest.skip(f"{what}: {REMEDY}")


@pytest.fixture(scope="session")
def program() -> str:
    """The browser's program."""
    named = os.environ.get("DSH_BROWSER")
    if named:
        found = shutil.which(named)
        assert found is not None, f"DSH_BROWSER={named}: there is no such program"
        return found
    found = next((path for path in map(shutil.which, BROWSERS) if path is not None), None)
    if found is None:
        missing(f"no browser was found (looked for {', '.join(BROWSERS)})")
    return found


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(program: str) -> AsyncIterator["Browser"]:
    """The browser, with a profile of its own that is gone afterwards."""
    try:
        from playwright.async_api import async_playwright
    except ModuleNotFoundError:
        missing("Playwright is not installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
def address(project_site: Path) -> Iterator[str]:
    """Where the pages are served."""
    with serve(project_site) as address:
        yield address


@pytest.fixture
def reading(browser: "Browser", address: str) -> Reading:
    """Opens the site as a reader with some screen and preference."""

    @asynccontextmanager
    async def read(width: int = 1280, scheme: Scheme = "light") -> AsyncIterator[Visit]:
        context = await browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        try:
            yield await Visit.begin(context, address)
        finally:
            await context.close()

    return read

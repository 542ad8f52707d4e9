"""A reader's visit to the site, and what must not happen during it."""

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

Scheme: TypeAlias = Literal["light", "dark"]
"""What the reader's system prefers."""

OPEN_SHADOWS = """
const attach = Element.prototype.attachShadow;
Element.prototype.attachShadow = function (options) { return attach.call(this, { ...options, mode: "open" }); };
"""
"""The theme draws diagrams where no script looks; this lets the tests look."""

MOST_MILLISECONDS = 120_000
"""When waiting is given up."""

CUT_OFF = "net::ERR_ABORTED"
"""What happens to an icon that is still on its way when the next page is opened: nobody's fault."""

STICKING_OUT = """() => {
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const inScroller = (element) => {
    for (let at = element.parentElement; at && at.tagName !== "ARTICLE"; at = at.parentElement) {
      if (scrolls(at)) return true;
    }
    return false;
  };
  const wide = [...document.querySelectorAll("article *")].filter((element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.right > document.documentElement.clientWidth + 1 && !inScroller(element);
  });
  const told = wide.slice(0, 3).map((element) => element.outerHTML.slice(0, 200));
  if (document.documentElement.scrollWidth > window.innerWidth) told.unshift("the page can be scrolled sideways");
  return told;
}"""
"""What is wider than the screen and neither wrapped nor scrolled by itself."""


class Visit:
    """A tab of the browser that notes what it asks for and complains about.

    Args:
        page: The tab.
        address: Where the pages are served.
    """

    def __init__(self, page: "Page", address: str) -> None:
        self.page = page
        self.address = address
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", lambda request: self._failed(request.url, request.failure or "failed"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type in {"error", "warning"} else None,
        )

    @classmethod
    async def begin(cls, context: "BrowserContext", address: str) -> Self:
        """Open a tab, for a machine that may have much else to do."""
        context.set_default_timeout(MOST_MILLISECONDS)
        await context.add_init_script(OPEN_SHADOWS)
        return cls(await context.new_page(), address)

    @property
    def abroad(self) -> list[str]:
        """What was asked of anything but the local server."""
        return [url for url in self.requests if not url.startswith((self.address, "data:", "blob:"))]

    def _failed(self, url: str, failure: str) -> None:
        if failure != CUT_OFF:
            self.complaints.append(f"{url}: {failure}")

    async def open(self, path: str) -> None:
        """Open a page and wait until it and all it loads are there."""
        answer = await self.page.goto(self.address + path, wait_until="load")
        assert answer is not None
        assert answer.ok, f"{path}: {answer.status}"

    async def sticking_out(self) -> list[str]:
        """What makes the page wider than the screen."""
        found: list[str] = await self.page.evaluate(STICKING_OUT)
        return found

    async def look_up(self, words: str) -> list[str]:
        """Look for words in the search box.

        Args:
            words: What is looked for.

        Returns:
            Where the results lead: a document, then the places in it.
        """
        box = self.page.locator(".md-search__input")
        opener = self.page.locator("label.md-header__button[for=__search]")
        if await opener.is_visible():
            await opener.click()
        await box.fill(words)
        await box.press("End")  # the theme looks when a key is let go, so it looks for all the words at once
        links = self.page.locator(".md-search-result__link")
        await links.first.wait_for()
        hrefs = [await link.get_attribute("href") or "" for link in await links.all()]
        return [href.removeprefix(self.address) for href in hrefs]


class Reading(Protocol):
    """Opens the site as a reader with some screen and preference."""

    def __call__(self, width: int = 1280, scheme: Scheme = "light") -> AbstractAsyncContextManager[Visit]: ...

"""The documentation site in a browser: what a reader sees, and what must not happen while they read."""

import re
from pathlib import Path

import pytest
from tests.site.reading import Reading, Scheme

pytestmark = [pytest.mark.docs, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

KINDS = {
    "home": "index.html",
    "sheet": "spec/70-agent-and-loop.html",
    "sheet with long examples": "spec/45-persistence.html",
    "rulings": "spec/05-rulings.html",
    "index of sheets": "spec/index.html",
    "module": "api/dshcore/agent_loop/agent.html",
    "module with long signatures": "api/dshconform/contracts/rollback_commands.html",
    "package": "api/dshcore/index.html",
    "events": "api/events.html",
    "services": "api/services.html",
    "source": "source/dshcore/agent_loop/driver.html",
    "protocol": "protocol/lockstep.html",
    "commands": "protocol/commands.html",
    "guide": "guide/writing-scenarios.html",
    "tour": "guide/read-the-reference.html",
    "glossary": "guide/glossary.html",
    "sequences": "guide/sequences.html",
    "coverage": "design/coverage.html",
    "published runs": "design/status.html",
    "differences": "design/release-differences.html",
    "diagram": "design/phase-machine.html",
    "not found": "404.html",
}
"""One page of every kind."""

WIDTHS = (1280, 390)

CONTRASTS = """drawing => {
  const light = (colour) => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).map(Number);
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
  };
  const found = (selector) => [...drawing.querySelectorAll(selector)];
  const fill = (element) => light(getComputedStyle(element).fill);
  const page = light(getComputedStyle(document.body).backgroundColor);
  const words = found("text:not(.sequenceNumber, :has(tspan)), tspan").map(fill);
  words.push(...found("foreignObject span").map((word) => light(getComputedStyle(word).color)));
  const heads = found("marker[id$='-arrowhead'] path, marker[id$='-sequencenumber']").map(fill);
  const disc = found("marker[id$='-sequencenumber']").map(fill)[0];
  const numbers = found(".sequenceNumber").map(fill);
  return [...words, ...heads].map((seen) => Math.abs(seen - page)).concat(numbers.map((seen) => Math.abs(seen - disc)));
}"""
"""How far the words and heads of arrows in a drawing are from the page's background, and numbers from their disc."""

IN_VIEW = """element => {
  const box = element.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight;
}"""


@pytest.mark.parametrize("path", KINDS.values(), ids=KINDS)
async def test_page_renders_quietly_and_fits(reading: Reading, path: str) -> None:
    """A page has its title, asks nothing of another host, says nothing on the console, and never scrolls sideways."""
    async with reading() as visit:
        await visit.open(path)
        assert (await visit.page.locator("article h1").inner_text()).strip()
        for width in WIDTHS:
            await visit.page.set_viewport_size({"width": width, "height": 900})
            assert await visit.sticking_out() == [], f"{path} at {width} px"
        assert visit.complaints == []
        assert visit.abroad == []
        assert any(url.endswith(".css") for url in visit.requests)


@pytest.mark.parametrize(
    ("clicks", "arrival"),
    [
        (("step/start", "Driver._run_step"), "agent_loop/driver.html#Driver._run_step"),
        (
            ("What an event in a trace means", "tool/call", "_Batch._log_call"),
            "agent_loop/scheduling.html#_Batch._log_call",
        ),
        (("Events", "agent/error", "agent_loop.driver.Driver._run_turn"), "agent_loop/driver.html#Driver._run_turn"),
    ],
    ids=["named on the home page", "of the log", "live"],
)
async def test_an_event_is_explained_within_three_clicks(
    reading: Reading, clicks: tuple[str, ...], arrival: str
) -> None:
    """From the home page to what an event in a trace means, and on to the lines of the function that emits it."""
    assert len(clicks) <= 3
    async with reading() as visit:
        await visit.open("index.html")
        for name in clicks:
            await visit.page.get_by_role("article").get_by_role("link", name=name, exact=True).first.click()
            await visit.page.wait_for_load_state()
        assert visit.page.url == f"{visit.address}source/dshcore/{arrival}"
        function = visit.page.locator(":target")
        await visit.page.wait_for_function(IN_VIEW, arg=await function.element_handle())
        assert visit.complaints == []


@pytest.mark.parametrize("width", WIDTHS)
async def test_the_overview_of_events_fits_the_screen(reading: Reading, width: int) -> None:
    """All that it says of an event is seen without scrolling sideways, on a telephone one below the other."""
    async with reading(width=width) as visit:
        await visit.open("api/events.html")
        cells = await visit.page.locator(".api-events tbody td").all()
        assert len(cells) > 100
        for cell in cells[:40]:
            box = await cell.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        assert [await cell.inner_text() for cell in cells[4:6]] == ["agent/created", "emit"]


@pytest.fixture(scope="session")
def diagrams(project_site: Path) -> dict[str, int]:
    """The pages with diagrams, and how many there are."""
    pages = {
        page: page.read_text(encoding="utf-8").count('<pre class="mermaid">') for page in project_site.rglob("*.html")
    }
    return {page.relative_to(project_site).as_posix(): count for page, count in sorted(pages.items()) if count}


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_diagrams_draw_in_light_and_dark(reading: Reading, diagrams: dict[str, int], scheme: Scheme) -> None:
    """Every diagram of every page becomes a drawing, with words and arrows that stand out from what is behind them."""
    assert diagrams
    async with reading(scheme=scheme) as visit:
        for path, count in diagrams.items():
            await visit.open(path)
            drawings = visit.page.locator(".diagram svg[aria-roledescription]")
            await drawings.nth(count - 1).wait_for()
            assert await drawings.count() == count, path
            for drawing in await drawings.all():
                assert await drawing.get_attribute("aria-roledescription") != "error", path
                contrasts: list[float] = await drawing.evaluate(CONTRASTS)
                assert contrasts, path
                assert min(contrasts) > 0.3, path
        assert visit.complaints == []
        assert visit.abroad == []


async def test_a_page_without_a_diagram_does_not_load_mermaid(reading: Reading) -> None:
    """It is two megabytes."""
    async with reading() as visit:
        await visit.open("index.html")
        assert [url for url in visit.requests if "mermaid" in url] == []


@pytest.mark.parametrize(("scheme", "then"), [("light", "slate"), ("dark", "default")])
async def test_light_and_dark_can_be_changed(reading: Reading, scheme: Scheme, then: str) -> None:
    """The page begins as the reader's system has it, and the button changes it for all pages."""
    async with reading(scheme=scheme) as visit:
        await visit.open("index.html")
        body = visit.page.locator("body")
        assert await body.get_attribute("data-md-color-scheme") == {"light": "default", "dark": "slate"}[scheme]
        await visit.page.locator("label[for^=__palette]:visible").click()
        await visit.page.locator(f"body[data-md-color-scheme={then}]").wait_for()
        await visit.open("spec/index.html")
        assert await body.get_attribute("data-md-color-scheme") == then


@pytest.mark.parametrize("width", WIDTHS)
async def test_search_finds_a_clause_by_its_id(reading: Reading, width: int) -> None:
    """The clause is the first place that is found, and the result leads to it."""
    async with reading(width=width) as visit:
        await visit.open("index.html")
        _, place, *_ = await visit.look_up("INBOX-CLAIM-03")
        assert re.fullmatch(r"spec/70-agent-and-loop\.html\?h=\S*#INBOX-CLAIM-03", place)
        await visit.page.locator(f".md-search-result__link[href$='{place}']").click()
        await visit.page.wait_for_url(visit.address + place)
        clause = visit.page.locator("[id='INBOX-CLAIM-03']")
        await visit.page.wait_for_function(IN_VIEW, arg=await clause.element_handle())
        assert visit.complaints == []
        assert visit.abroad == []


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("agent/created", "api/events.html"),  # an event, before everything that mentions it
        ("latch", "spec/70-agent-and-loop.html"),  # a word of the specification, before the modules that use it
        ("drivenagent", "api/dshcore/agent_loop/agent.html"),  # a name of the reference
    ],
)
async def test_search_answers_with_what_a_word_means(reading: Reading, words: str, first: str) -> None:
    """The page that explains it comes before those that merely use it."""
    async with reading() as visit:
        await visit.open("index.html")
        assert (await visit.look_up(words))[0].partition("?")[0] == first


@pytest.mark.parametrize("word", ["latch", "keepInbox"])
async def test_search_finds_the_glossary_and_the_faq_early(reading: Reading, word: str) -> None:
    """Whoever meets a word of the specification for the first time finds what it means, and what surprises in it."""
    async with reading() as visit:
        await visit.open("index.html")
        pages = list(dict.fromkeys(place.partition("?")[0] for place in await visit.look_up(word)))
        assert {"guide/glossary.html", "guide/faq.html"} <= set(pages[:4])

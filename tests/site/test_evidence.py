"""What stands behind the clauses, in a browser."""

from pathlib import Path

import pytest
from tests.site.reading import Reading

pytestmark = [pytest.mark.docs, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_evidence_is_closed_until_it_is_asked_for(reading: Reading) -> None:
    """How a clause stands is seen at once; a click shows the code, and a permalink leads to the clause."""
    async with reading() as visit:
        await visit.open("spec/70-agent-and-loop.html#INBOX-CLAIM-01")
        evidence = visit.page.locator("#INBOX-CLAIM-01 ~ details").first
        code = evidence.get_by_text("agent/inbox.py Inbox.claim")
        assert await evidence.get_by_text("reference holds").is_visible()
        assert not await code.is_visible()
        await evidence.locator("summary").click()
        assert await code.is_visible()
        await code.click()
        await visit.page.wait_for_url("**/api/dshcore/agent/inbox.html#Inbox.claim")


async def test_private_code_is_shown_by_its_source(reading: Reading) -> None:
    """The catalog has no place for it."""
    async with reading() as visit:
        await visit.open("spec/70-agent-and-loop.html#CANCEL-KEEP-03")
        evidence = visit.page.locator("#CANCEL-KEEP-03 ~ details").first
        await evidence.locator("summary").click()
        await evidence.get_by_text("agent_loop/driver.py Driver._run_steps").click()
        await visit.page.wait_for_url("**/source/dshcore/agent_loop/driver.html#Driver._run_steps")


async def test_open_evidence_fits_a_telephone(reading: Reading, project_site: Path) -> None:
    """Long names and reasons are wrapped, on every sheet."""
    sheets = sorted((project_site / "spec").glob("[1-9]0-*.html"))
    assert sheets
    async with reading(width=390) as visit:
        for sheet in sheets:
            await visit.open(f"spec/{sheet.name}")
            await visit.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            assert await visit.sticking_out() == [], sheet.name
        assert visit.complaints == []

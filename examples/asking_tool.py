"""A tool that asks: its body puts a question to a person, and waits for the answer as long as the call may go on.

Whoever talks to the person is a service of the application, found by a key; here it is a list of answers. Prints what
the calls came to.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Annotated, Final, Protocol

from dshcore.cancel_signal import Aborted, CancelSignal
from dshcore.context import Context, ServiceKey
from dshcore.errors import DshError
from dshcore.host import host_is_cancelling
from dshcore.json import Json
from dshcore.spine import compose
from dshcore.tools import TOOLS, ToolCallRequest, ToolDefinition, ToolResult, ToolRun, define_tool


class Person(Protocol):
    """Somebody who can be asked."""

    async def answer(self, question: str, choices: Sequence[str]) -> str:
        """Answer a question."""
        ...


PERSON: Final = ServiceKey[Person]("person")


class NotAChoice(DshError):
    """The person chose what was not offered; the model is told the name and the code of this error."""

    default_code = "NOT_A_CHOICE"


class ScriptedPerson:
    """Gives prepared answers, and cancels the call when there are no more. Yours shows a dialogue here."""

    def __init__(self, gone: CancelSignal, *answers: str) -> None:
        self._gone = gone
        self._answers = list(answers)

    async def answer(self, question: str, choices: Sequence[str]) -> str:
        """Answer."""
        print(f"asked: {question} {' / '.join(choices)}".rstrip())
        if not self._answers:
            self._gone.abort("the user went away")
            await asyncio.Event().wait()
        return self._answers.pop(0)


def asking_tool(ctx: Context) -> ToolDefinition:
    """Make the tool; the person is looked up for each call, so that another one may take over."""

    @define_tool
    async def ask(
        question: Annotated[str, "What to ask."],
        run: ToolRun,
        choices: Annotated[Sequence[str], "The answers to choose from; without any, every answer is one."] = (),
    ) -> str:
        """Asks the user a question."""
        said = await unless_aborted(run.signal, ctx[PERSON].answer(question, choices))
        if choices and said not in choices:
            raise NotAChoice(f"the user answered {said!r}")
        return said

    return ask


async def unless_aborted(signal: CancelSignal, answer: Awaitable[str]) -> str:
    """Wait for an answer until the call is to stop."""
    waiting = asyncio.ensure_future(answer)
    leave = signal.on_abort(waiting.cancel)
    try:
        return await waiting
    except asyncio.CancelledError:
        if signal.aborted and not host_is_cancelling():  # not the program, but the call alone was cancelled
            raise Aborted(signal) from None
        raise
    finally:
        leave()


async def main() -> None:
    """Ask freely, with choices, with a wrong answer, with wrong arguments, and until the call is cancelled."""
    root, gone = compose(), CancelSignal()
    root.provide(PERSON, ScriptedPerson(gone, "Ann", "tea", "water"))
    root[TOOLS].register(root, asking_tool(root))
    drinks: Json = {"question": "Which?", "choices": ["tea", "coffee"]}
    show(await call(root, {"question": "Who are you?"}, CancelSignal()))
    show(await call(root, drinks, CancelSignal()))
    show(await call(root, drinks, CancelSignal()))
    show(await call(root, {"question": 5}, CancelSignal()))
    show(await call(root, drinks, gone))
    await root.dispose()


async def call(root: Context, arguments: Json, signal: CancelSignal) -> ToolResult:
    """Call the tool as the agent loop does for the model."""
    return await root[TOOLS].execute(ToolCallRequest(call_id="c", name="ask", arguments=arguments, signal=signal))


def show(result: ToolResult) -> None:
    """Print a result."""
    if result.is_error:
        print(f"failed: {result.error.message} ({result.error.info.code if result.error.info else 'no code'})")
    else:
        print(f"answered: {result.value}")


if __name__ == "__main__":
    asyncio.run(main())

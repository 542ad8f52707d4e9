"""Groups of expected rows, in short: what is the same in many scenarios.

| shorthand | stands for |
|---|---|
| `{$sent: A}` | the splice and the notification of an insertion; `target` (`next-turn` unless given) and `start` (0) say where |
| `{$chunks: x, turn: 1, step: 1}` | the chunks of `{$text: x}` |
| `{$step: 2, turn: 1, steering: [S], answer: x}` | a plain step: the claim, its start, the entered messages, the answer, its end |
| `{$turn: 2, prompt: B, answer: x}` | a plain turn of one step: its start, the step, its completed ending |

`steering` is what the claim takes from `next-step`, `prompt` what it takes from `next-turn`; both may be absent.
`first: true` adds the header and the context of an agent's first request, `max: true` says that the answer hit the
ceiling, and `calls` is for `$step` what it is for `$calls`, in place of `answer` (the rows of the tools stand behind
it: then `end: false` leaves out the end of the step).

`by` is blamed for every row of a group. Without it, each row is the affair of the clause that speaks of such rows in
general. Rows of a kind that a step does not compare (`only`) are left out: so one shorthand serves full and narrow
comparisons alike.
"""  # noqa: E501 - a row of a table is one line

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from dshconform.protocol.json_value import Json, JsonMap
from dshconform.scenarios import macros
from dshconform.scenarios.model_scripts import MacroError, call_blocks, call_chunks, text_chunks, text_of

_STEP_MEMBERS: Final = frozenset({"turn", "steering", "prompt", "answer", "calls", "max", "first", "end"})


def is_group(row: JsonMap) -> bool:
    """Whether an expected row is a shorthand of this module."""
    return any(name in row for name in GROUPS)


def rows_of(row: JsonMap) -> list[JsonMap]:
    """Write a group out, as rows in short notation.

    Args:
        row: The shorthand.

    Raises:
        MacroError: A member is wrong or unknown.
    """
    name = next(name for name in GROUPS if name in row)
    build, known = GROUPS[name]
    unknown = row.keys() - {name, "by"} - known
    if unknown:
        raise MacroError(f"{name} has no {min(unknown)!r}: it has {', '.join(sorted({'by', *known}))}")
    rows = list(build(row))
    return [{**one, "by": row["by"]} for one in rows] if "by" in row else rows


def _sent(row: JsonMap) -> Iterator[JsonMap]:
    written = _message("$sent", row["$sent"])
    data: JsonMap = {"target": row.get("target", "next-turn"), "start": row.get("start", 0), "inserted": [written]}
    yield {"log": "agent/inbox/spliced", "data": {"$exact": data}, "by": ["AGENT-SEND-01", "INBOX-SHAPE-01"]}
    yield {"live": "agent/inbox/inserted", "message": written, "by": "INBOX-NOTE-01"}


def _text(row: JsonMap) -> Iterator[JsonMap]:
    place = {key: row[key] for key in ("turn", "step") if key in row}
    yield from _chunk_rows(place, text_chunks(text_of("$chunks", row["$chunks"])))


def _turn(row: JsonMap) -> Iterator[JsonMap]:
    turn = _number("$turn", row["$turn"])
    yield {"log": "turn/start", "data": {"turn": turn}, "by": "LOOP-OPEN-01"}
    yield from _step({**row, "turn": turn, "$step": 1})
    kind = "max-tokens" if row.get("max") else "completed"
    yield {
        "log": "turn/end",
        "data": {"$exact": {"turn": turn, "reason": {"$exact": {"kind": kind}}}},
        "by": "LOG-EVT-02",
    }


def _step(row: JsonMap) -> Iterator[JsonMap]:
    place = {"turn": _number("turn", row.get("turn")), "step": _number("$step", row["$step"])}
    batch = {"next-step": _batch("steering", row.get("steering", [])), "next-turn": []}
    if "prompt" in row:
        batch["next-turn"] = _batch("prompt", [row["prompt"]])
    yield from _claim(place["turn"], batch)
    yield {"log": "step/start", "data": place, "by": "LOOP-STEP-01"}
    for entered in (one for messages in batch.values() for one in messages):
        yield {"log": "user/message", "data": entered, "surface": "append", "by": "LOOP-PRE-04"}
    if row.get("first"):
        yield {"log": "request/header", "data": {"reason": "initial"}, "by": "REQ-HEAD-01"}
        yield {"log": "request/context", "data": {"provider": "mock", "model": "m1"}, "by": "REQ-CTX-01"}
    content, chunks = _answer(row)
    yield from _chunk_rows(place, chunks)
    message: JsonMap = {"role": "assistant", "content": content}
    answer: JsonMap = {**place, "message": message, "interrupted": {"$absent": True}}
    yield {"log": "assistant/message", "data": answer, "surface": "append", "by": "LOOP-MSG-01"}
    if row.get("end") is not False:
        yield {"log": "step/end", "data": place, "by": "INV-STEP-02"}


def _claim(turn: int, batch: Mapping[str, list[JsonMap]]) -> Iterator[JsonMap]:
    for target, messages in batch.items():
        if messages:
            data: JsonMap = {"target": target, "start": 0, "removedCount": len(messages), "inserted": []}
            yield {"log": "agent/inbox/spliced", "data": {"$exact": data}, "by": "INBOX-CLAIM-02"}
    for claimed in (one for messages in batch.values() for one in messages):
        yield {"live": "agent/inbox/claimed", "message": claimed, "turn": turn, "by": "INBOX-CLAIM-03"}


def _answer(row: JsonMap) -> tuple[list[JsonMap], list[JsonMap]]:
    """The content of the message, and the chunks that carry it."""
    if ("answer" in row) is ("calls" in row):
        raise MacroError("a step has one of `answer` (a text) and `calls`")
    if "calls" in row:
        blocks = call_blocks(row["calls"])
        return blocks, call_chunks(blocks)
    text = text_of("answer", row["answer"])
    return [{"type": "text", "text": text}], text_chunks(text, "max-tokens" if row.get("max") else "stop")


def _chunk_rows(place: JsonMap, chunks: list[JsonMap]) -> Iterator[JsonMap]:
    for chunk in chunks:
        yield {"log": "assistant/chunk", "data": {**place, "chunk": chunk}, "by": "LOOP-CHUNK-01"}


def _batch(where: str, value: Json) -> list[JsonMap]:
    if not isinstance(value, list):
        raise MacroError(f"`{where}` needs a list of messages, not {value!r}")
    return [_message(where, item) for item in value]


def _message(where: str, value: Json) -> JsonMap:
    """A message by its id, or written out."""
    return dict(value) if isinstance(value, Mapping) else macros.message(text_of(where, value))


def _number(where: str, value: Json) -> int:
    if not isinstance(value, int):
        raise MacroError(f"{where} needs a number, not {value!r}")
    return value


GROUPS: Final[Mapping[str, tuple[Callable[[JsonMap], Iterator[JsonMap]], frozenset[str]]]] = {
    "$sent": (_sent, frozenset({"target", "start"})),
    "$chunks": (_text, frozenset({"turn", "step"})),
    "$step": (_step, _STEP_MEMBERS),
    "$turn": (_turn, _STEP_MEMBERS - {"turn", "calls", "end"}),
}
"""Every group: what writes it out, and the members that it may have."""

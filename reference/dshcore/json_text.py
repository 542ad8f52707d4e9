"""JSON text without recursion: the slow path of `dshcore.json`.

Reads and writes what msgspec cannot: values nested deeper than the call stack, texts with lone surrogates, and
digits beyond what a double holds. A value that is being walked stands on a stack of its own.

Spec:
    LOG-JSON-06
"""

# Values of any class are walked here, so that much is of unknown type on purpose.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

import json as stdlib_json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(r"true|false|null|(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LITERALS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_EXACT_DIGITS = 15  # an integer of more digits may be beyond 2**53: it is read as the double it stands for


class MalformedText(ValueError):
    """A text that is not JSON.

    Args:
        expected: What should stand there.
        position: Index of the first character that does not fit.
    """

    def __init__(self, expected: str, position: int) -> None:
        super().__init__(f"malformed JSON: expected {expected} at character {position}")


def write(value: object) -> str:
    """Return the compact text of a JSON value, which has to be frozen; lone surrogates are escaped."""
    out: list[str] = []
    todo: list[tuple[bool, Any]] = [(False, value)]  # (is text already, text or value), next one last
    while todo:
        is_text, item = todo.pop()
        if is_text:
            out.append(item)
        elif isinstance(item, dict):
            parts: list[tuple[bool, Any]] = [(True, "{")]
            for key, member in item.items():
                parts += [(True, f"{',' if len(parts) > 1 else ''}{_quoted(key)}:"), (False, member)]
            todo.extend(reversed([*parts, (True, "}")]))
        elif isinstance(item, tuple):
            parts = [(True, "[")]
            for member in item:
                parts += [(True, "," if len(parts) > 1 else ""), (False, member)]
            todo.extend(reversed([*parts, (True, "]")]))
        else:
            out.append(_quoted(item) if isinstance(item, str) else stdlib_json.dumps(item))
    return "".join(out)


def _quoted(text: str) -> str:
    quoted = stdlib_json.dumps(text, ensure_ascii=False)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def read(text: str) -> object:
    """Return the value that a JSON text stands for, in plain dicts and lists.

    Returns:
        The value.

    Raises:
        MalformedText: The text is not one JSON value.
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> object:
        open_: list[Any] = []  # containers that are not closed yet
        keys: list[str] = []  # for each open object, the key of the member being read
        while True:
            value, opened = self._value_or_opening()
            if opened:
                open_.append(value)
                if isinstance(value, dict):
                    keys.append(self._key())
                continue
            while open_:  # a complete value: put it into its container, which it may complete in turn
                container = open_[-1]
                if isinstance(container, dict):
                    container[keys[-1]] = value
                else:
                    container.append(value)
                self._skip_space()
                if self._take(","):
                    if isinstance(container, dict):
                        keys[-1] = self._key()
                    break
                if not self._take("}" if isinstance(container, dict) else "]"):
                    self._refuse("',' or the end of the object" if isinstance(container, dict) else "',' or ']'")
                if isinstance(container, dict):
                    keys.pop()
                value = open_.pop()
            else:
                self._skip_space()
                if self.at != len(self.text):
                    self._refuse("the end of the text")
                return value

    def _value_or_opening(self) -> tuple[Any, bool]:
        """Return a scalar or an empty container, or a container (and true) whose first member comes next."""
        self._skip_space()
        for opening, closing, make in (("{", "}", dict), ("[", "]", list)):
            if self._take(opening):
                self._skip_space()
                return make(), not self._take(closing)
        return self._scalar(), False

    def _key(self) -> str:
        self._skip_space()
        key = self._string()
        if key is None:
            self._refuse("a key in double quotes")
        self._skip_space()
        if not self._take(":"):
            self._refuse("':'")
        return key

    def _scalar(self) -> object:
        text = self._string()
        if text is not None:
            return text
        found = _SCALAR.match(self.text, self.at)
        if found is None:
            self._refuse("a value")
        self.at = found.end()
        token = found[0]
        if token in _LITERALS:
            return _LITERALS[token]
        whole = found[2] is None and found[3] is None
        return int(token) if whole and len(token) <= _EXACT_DIGITS else float(token)

    def _string(self) -> str | None:
        found = _STRING.match(self.text, self.at)
        if found is None:
            if self.text.startswith('"', self.at):
                self._refuse("the end of the text that starts here, a double quote,")
            return None
        try:
            value: str = stdlib_json.loads(found[0])
        except ValueError as error:
            position = self.at + getattr(error, "pos", 0)
            raise MalformedText("a valid escape or character", position) from None
        self.at = found.end()
        return value

    def _skip_space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None, "the pattern matches the empty text"
        self.at = found.end()

    def _take(self, character: str) -> bool:
        if not self.text.startswith(character, self.at):
            return False
        self.at += 1
        return True

    def _refuse(self, expected: str) -> NoReturn:
        raise MalformedText(expected, self.at)

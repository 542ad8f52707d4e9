"""YAML as the suite reads and writes it: the JSON subset, keys are texts.

Plain YAML 1.1 reads the key `on` as true, `no` as false and `2026-11-30` as a date. Here only what JSON has is
resolved: null, booleans, integers and floating-point numbers, in JSON's spelling. Everything else is a text.
"""

import re
from collections.abc import Collection, Hashable, Sequence
from pathlib import Path
from typing import Final

import yaml

from dshconform.protocol.json_value import Json

try:
    from yaml import CSafeDumper as _Dumper
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml: slower, the same result
    from yaml import SafeDumper as _Dumper  # type: ignore[assignment]
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]


class YamlError(ValueError):
    """Text that is no YAML of the JSON subset, with the file, the line and what is wrong."""


class _JsonLoader(_Loader):
    """The loader with JSON's resolvers alone."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own form

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """Refuse keys that are no texts and keys that stand twice; YAML keeps the last one silently."""
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is no text: put it in quotes", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        result: dict[Hashable, object] = super().construct_mapping(node, deep=deep)
        return result


class _JsonDumper(_Dumper):
    """The dumper that quotes what the loader would read as something else."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own form

    def ignore_aliases(self, data: object) -> bool:
        """Write shared parts out; the loader's files have no anchors."""
        del data
        return True


_RESOLVERS: Final = (
    ("tag:yaml.org,2002:null", r"null", "n"),
    ("tag:yaml.org,2002:bool", r"true|false", "tf"),
    ("tag:yaml.org,2002:int", r"-?(0|[1-9][0-9]*)", "-0123456789"),
    ("tag:yaml.org,2002:float", r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", "-0123456789"),
)
for _class in (_JsonLoader, _JsonDumper):
    for _tag, _expression, _first in _RESOLVERS:
        _class.add_implicit_resolver(_tag, re.compile(f"^(?:{_expression})$"), list(_first))


def read_text(path: Path) -> str:
    """Read a file as the text that `read_yaml` takes.

    Args:
        path: A file in UTF-8.

    Raises:
        OSError: It cannot be read.
        YamlError: It is no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise YamlError(f"{path}: no UTF-8 text ({error.reason} at byte {error.start})") from error


def read_yaml(text: str, source: Path | str) -> Json:
    """Read one YAML document of the JSON subset.

    Args:
        text: The document.
        source: Named in errors.

    Raises:
        YamlError: It is none.
    """
    try:
        value: Json = yaml.load(text, _JsonLoader)  # noqa: S506 - a subclass of the safe loader
    except yaml.YAMLError as error:
        raise YamlError(f"{source}: {error}") from error
    return value


def write_yaml(value: Json) -> str:
    """Write JSON as YAML that `read_yaml` reads back as the same value."""
    text: str = yaml.dump(value, Dumper=_JsonDumper, sort_keys=False, allow_unicode=True, width=110)
    return text


def replace_items(text: str, source: Path | str, *, remove: Collection[int], add: Sequence[Json]) -> str:
    """Take items out of a list in a file and put others behind it; all else stays as it is written, comments included.

    Args:
        text: The document: a list, each item on lines of its own.
        source: Named in errors.
        remove: The places of the items that go, from 0 on.
        add: What comes behind the others.

    Returns:
        The changed document.

    Raises:
        YamlError: It is no such list.
    """
    try:
        node = yaml.compose(text, _JsonLoader)
    except yaml.YAMLError as error:
        raise YamlError(f"{source}: {error}") from error
    lines = text.splitlines(keepends=True)
    starts: list[int] = []
    if isinstance(node, yaml.SequenceNode):
        starts = [item.start_mark.line for item in node.value]
        if starts and node.flow_style:
            raise YamlError(f"{source}: a list in brackets cannot be changed in place: write each item behind a `- `")
        if not starts:
            del lines[node.start_mark.line]  # the `[]`
    elif node is not None:
        raise YamlError(f"{source}: is no list")
    for place in sorted(remove, reverse=True):
        end = starts[place + 1] if place + 1 < len(starts) else len(lines)
        while end > starts[place] and lines[end - 1].startswith(("#", "\n", "\r")):
            end -= 1
        if end < len(lines) and not lines[end].strip():
            end += 1
        del lines[starts[place] : end]
    written = "".join(lines)
    for item in add:
        written = f"{written.rstrip()}\n\n" if written.strip() else ""
        written += write_yaml([item])
    return written if add or len(starts) > len(remove) else f"{written}[]\n"

"""Lists in YAML files are changed in place: what a person wrote stays as it is."""

import pytest

from dshconform.protocol.json_value import JsonMap
from dshconform.yaml_text import YamlError, read_yaml, replace_items

TEXT = """\
# About all of it.

- name: one
  # inside of one
  text: >-
    folded, with
    # no comment
  last: 1

# About two.
- name: two

- {name: three}
# At the end.
"""
NEW: JsonMap = {"name": "new", "found": {"$absent": True}, "number": 7, "reason": "TODO"}


def test_items_go_and_comments_stay() -> None:
    """An item goes with the comments inside it; those around it are somebody's words about more than it."""
    assert (
        replace_items(TEXT, "x", remove=[0], add=[])
        == """\
# About all of it.

# About two.
- name: two

- {name: three}
# At the end.
"""
    )
    assert (
        replace_items(TEXT, "x", remove=[1, 2], add=[])
        == """\
# About all of it.

- name: one
  # inside of one
  text: >-
    folded, with
    # no comment
  last: 1

# About two.
# At the end.
"""
    )


@pytest.mark.parametrize("remove", [[], [0], [1], [2], [0, 2], [0, 1, 2]])
def test_what_is_left_and_what_comes_is_read_back(remove: list[int]) -> None:
    """The items that stay, as they were, and then the new ones."""
    before = read_yaml(TEXT, "x")
    assert isinstance(before, list)
    additions: list[list[JsonMap]] = [[], [NEW], [NEW, {"name": "other"}]]
    for add in additions:
        after = read_yaml(replace_items(TEXT, "x", remove=remove, add=add), "x")
        assert after == [*(item for at, item in enumerate(before) if at not in remove), *add]


def test_nothing_changed_is_nothing_changed() -> None:
    """Not a space."""
    assert replace_items(TEXT, "x", remove=[], add=[]) == TEXT


@pytest.mark.parametrize("text", ["", "[]\n", "# None so far.\n", "# None so far.\n[]\n"])
def test_an_empty_list_is_begun(text: str) -> None:
    """With or without its brackets; without anything it stays a list."""
    begun = replace_items(text, "x", remove=[], add=[NEW])
    assert read_yaml(begun, "x") == [NEW]
    assert ("# None so far." in begun) is ("# None" in text)
    assert read_yaml(replace_items(text, "x", remove=[], add=[]), "x") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: 1\n", "x: is no list"), ("[{a: 1}]\n", "x: a list in brackets cannot be changed"), ("- {", "x: ")],
)
def test_what_cannot_be_changed_is_refused(text: str, message: str) -> None:
    """With the file, and what to write instead."""
    with pytest.raises(YamlError, match=message):
        replace_items(text, "x", remove=[0], add=[])

from pathlib import Path

import pytest

from dshconform.spec import SpecificationMissing, spec_root

CHECKOUT = Path(__file__).parents[2]


def directory(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "00-conventions.md").write_text("# Conventions\n", encoding="utf-8")
    return path


def test_the_pages_of_the_package_come_first(tmp_path: Path) -> None:
    """An installed wheel does not look around in the file system."""
    packaged, checkout = directory(tmp_path / "packaged"), directory(tmp_path / "checkout")
    assert spec_root(packaged, checkout) == packaged


def test_without_pages_in_the_package_those_of_the_checkout_are_taken(tmp_path: Path) -> None:
    """A directory that only happens to have the name holds no pages."""
    (tmp_path / "packaged").mkdir()
    checkout = directory(tmp_path / "checkout")
    assert spec_root(tmp_path / "packaged", checkout) == checkout


def test_missing_pages_are_named_with_the_remedy(tmp_path: Path) -> None:
    """Both places stand in the message."""
    with pytest.raises(SpecificationMissing, match=r"neither in .*packaged nor in .*checkout; install"):
        spec_root(tmp_path / "packaged", tmp_path / "checkout")


def test_in_a_checkout_the_edited_pages_are_read() -> None:
    """An editable install does not find the copy that its build left behind."""
    assert spec_root() == CHECKOUT / "docs" / "spec"

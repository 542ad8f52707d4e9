"""Lists the pages of the API catalog in the navigation: an MkDocs hook, named in mkdocs.yml.

They are generated from the sources (`scripts/gen_api_catalog.py`), and a list of them by hand would be out of date.
"""

from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig

API: Final = "API"
PACKAGES: Final = ("dshcore", "dshconform")
"""The packages, in the order of the navigation: what programs embed comes first."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of docs/api behind the entry `API`, which mkdocs.yml has with those that come first."""
    root = Path(config.docs_dir)
    entry = next(one for one in config.nav or [] if isinstance(one, dict) and API in one)
    entry[API] = [*entry[API], *({package: _below(root / "api" / package, root)} for package in PACKAGES)]
    return config


def _below(folder: Path, root: Path) -> list[object]:
    """The pages of a package: its own, its modules, then the packages in it."""
    own = [path for path in sorted(folder.glob("*.md")) if path.stem != "index"]
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    listed: list[object] = [(folder / "index.md").relative_to(root).as_posix()]
    listed += [{path.stem: path.relative_to(root).as_posix()} for path in own]
    return [*listed, *({path.name: _below(path, root)} for path in inner)]

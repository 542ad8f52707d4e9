"""Where the tests of the site get their browser, with stand-ins for all that would change the machine."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "browser"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX script")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The programs of a machine without a browser, on which everybody is an ordinary user."""
    for name in ("dirname", "mktemp", "rm", "tail", "chmod", "sh"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    add(tmp_path, "id", "echo 1000")
    return tmp_path


def add(machine: Path, name: str, body: str) -> None:
    program = machine / name
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o755)


def ask(machine: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    shell = machine / "sh"
    return subprocess.run(
        [shell, SCRIPT], capture_output=True, text=True, check=False, env={"PATH": str(machine), **environment}
    )


def test_names_a_browser_that_is_there(machine: Path) -> None:
    """Nothing is installed then."""
    add(machine, "chromium", "")
    assert ask(machine).stdout == f"{machine / 'chromium'}\n"


def test_a_browser_by_name(machine: Path) -> None:
    """One that was named is taken before any other, and missed if it is not there."""
    add(machine, "chromium", "")
    add(machine, "mine", "")
    assert ask(machine, DSH_BROWSER="mine").stdout == f"{machine / 'mine'}\n"
    missed = ask(machine, DSH_BROWSER="yours")
    assert (missed.returncode, missed.stdout) == (2, "")
    assert "DSH_BROWSER=yours: there is no such program" in missed.stderr


def test_says_what_to_do_where_it_cannot_install(machine: Path) -> None:
    """It installs as root alone, and with Debian's tools."""
    missed = ask(machine)
    assert missed.returncode == 2
    assert "no browser was found" in missed.stderr
    assert "apt install chromium" in missed.stderr


def test_installs_one_as_root(machine: Path) -> None:
    """What the tools say stays away from the answer."""
    add(machine, "id", "echo 0")
    browser = machine / "chromium"
    add(
        machine,
        "apt-get",
        f'echo unpacking\n[ "$1" = update ] || {{ echo "#!/bin/sh" >{browser}; chmod +x {browser}; }}',
    )
    assert ask(machine).stdout == f"{browser}\n"


def test_tells_why_it_could_not_be_installed(machine: Path) -> None:
    """In the words of Debian's tools, with what else can be done."""
    add(machine, "id", "echo 0")
    add(machine, "apt-get", "echo 'E: Unable to locate package chromium'; exit 100")
    missed = ask(machine)
    assert missed.returncode == 2
    assert "E: Unable to locate package chromium" in missed.stderr
    assert "DSH_BROWSER=" in missed.stderr

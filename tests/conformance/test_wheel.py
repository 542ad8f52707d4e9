"""The installed suite needs nothing of the repository."""

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

CHECKOUT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


def run(command: list[str], place: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Install the wheel into an empty environment and run its programs.

    Its dependencies are those of the environment of the tests, so that nothing is fetched.
    """
    place = tmp_path_factory.mktemp("wheel")
    built = run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(CHECKOUT)], place
    )
    assert built.returncode == 0, built.stderr
    environment = place / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    [wheel] = place.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps", str(wheel)]
    unpacked = run(pip, place)
    assert unpacked.returncode == 0, unpacked.stderr
    # A path file adds the directory behind the environment's own, and does not follow the path files in it: the
    # checkout, which is installed there in editable form, stays out of reach.
    own = run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], place).stdout.strip()
    (Path(own) / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return lambda program, *arguments: run([str(environment / "bin" / program), *arguments], place)


def test_the_wheel_carries_the_specification(installed: Run) -> None:
    """`list clauses` names all of them without a checkout."""
    pages = sorted((CHECKOUT / "docs" / "spec").glob("[1-9]*.md"))
    count = sum(page.read_text(encoding="utf-8").count("\n- violation: ") for page in pages)
    result = installed("dshconform", "list", "clauses")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].startswith(f"{count} clauses: ")


def test_the_wheel_explains_a_clause(installed: Run) -> None:
    """The text and the checks that cite it come out of the package."""
    result = installed("dshconform", "explain", "INBOX-CLAIM-01")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("INBOX-CLAIM-01 · must · core\n")
    assert "checks     none yet" not in result.stdout


def test_the_wheel_reads_its_own_pages(installed: Run) -> None:
    """Neither the checkout is found, nor the copy that an editable install leaves behind."""
    result = installed("python", "-c", "import dshconform.spec as s; print(s.__file__); print(s.spec_root())")
    assert result.returncode == 0, result.stderr
    module, pages = (Path(line) for line in result.stdout.splitlines())
    assert "environment" in module.parts
    assert pages == module.parent / "pages"

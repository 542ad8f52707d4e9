# Sourced by the other scripts: makes a virtual environment of the checkout and names its Python.
#
#   . "$(dirname "$0")/environment.sh"
#   environment run          # sets PYTHON, ready for `dshconform`; `dev` adds what tests, lint, types and docs need
#
# The environment is made again when pyproject.toml changes. What is missing is named with the remedy, exit status 2.

ROOT=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)

complain() {
    printf 'error: %s\n  remedy: %s\n' "$1" "$2" >&2
    exit 2
}

is_recent() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null
}

find_python() {
    if [ -n "${DSH_PYTHON:-}" ]; then
        set -- "$DSH_PYTHON"
    else
        set -- python3 python3.11 python3.12 python3.13 python
    fi
    for candidate in "$@"; do
        if is_recent "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    complain "no Python 3.11, 3.12 or 3.13 was found (looked for ${DSH_PYTHON:-python3, python3.11, python3.12, python3.13})" \
        "install Python 3.11 to 3.13, or name one with DSH_PYTHON=/path/to/python"
}

environment() {
    base=$(find_python) || exit 2
    "$base" -c 'import venv, ensurepip' 2>/dev/null || complain \
        "$base cannot make virtual environments: its modules venv and ensurepip are missing" \
        "install them (Debian, Ubuntu: apt install python3-venv)"
    version=$("$base" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    folder="$ROOT/.venv-$version"
    PYTHON="$folder/bin/python"
    stamp=$("$base" -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read() + sys.argv[1].encode())
.hexdigest()[:16])' "$ROOT/pyproject.toml") # of the project's needs, and of its place: an environment cannot be moved
    case "$1" in
        run) wanted="$ROOT" done="$folder/.run-$stamp $folder/.dev-$stamp" ;;
        dev) wanted="$ROOT[dev,docs,site]" done="$folder/.dev-$stamp" ;;
    esac
    for file in $done; do
        if [ -e "$file" ] && [ -x "$PYTHON" ]; then
            return
        fi
    done
    printf 'making the environment in %s (Python %s) ...\n' "${folder#"$ROOT/"}" "$version" >&2
    if [ "$1" = dev ] && [ -e "$folder/.run-$stamp" ]; then
        : # what is there stays, somebody may be using it
    else
        "$base" -m venv --clear "$folder" || complain "the environment could not be made" "see the message above"
    fi
    "$PYTHON" -m pip install -qq --disable-pip-version-check --editable "$wanted" >&2 ||
        complain "the dependencies could not be installed" "see pip's message above; it needs a package index"
    : >"$folder/.$1-$stamp"
}

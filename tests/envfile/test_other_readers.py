"""systemd's and docker's own readers, where they are installed, read the files back to the same values."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from doctor.envfile.content import CannotWrite
from doctor.envfile.formats import FORMATS
from tests.envfile.contents import AWKWARD, content_with

#: The names of an os-release file that a line of tmpfiles.d can ask for, one by one.
_ASKED = {"BUILD_ID": "%B", "VARIANT_ID": "%W", "ID": "%o", "VERSION_ID": "%w"}


def test_systemd(tmp_path: Path) -> None:
    """os-release and EnvironmentFile= are read by one parser of systemd; systemd-tmpfiles writes out what it found."""
    program = shutil.which("systemd-tmpfiles")
    if program is None:
        pytest.skip("systemd-tmpfiles is not installed")
    writable = [value for value in AWKWARD if value]
    for start in range(0, len(writable), len(_ASKED)):
        few = dict(zip(_ASKED, writable[start : start + len(_ASKED)], strict=False))
        root = tmp_path / str(start)
        (root / "etc").mkdir(parents=True)
        (root / "etc" / "os-release").write_bytes(FORMATS["systemd"].write(content_with(dict(few))))
        config = root / "asked.conf"
        config.write_text("".join(f"f+ /{name} - - - - {_ASKED[name]}\n" for name in few))
        subprocess.run([program, "--create", f"--root={root}", str(config)], check=True, capture_output=True)
        assert {name: (root / name).read_bytes().decode() for name in few} == few


@pytest.fixture
def docker_daemon() -> Iterator[tuple[str, list[list[str]]]]:
    """The address of a server that takes the docker client's wish for a container and refuses it, and what it heard."""
    heard: list[list[str]] = []

    class Daemon(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, "OK")

        do_HEAD = do_GET

        def do_POST(self) -> None:
            wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            heard.append(wish["Env"])
            self._answer(500, '{"message": "no container here"}')

        def _answer(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Api-Version", "1.45")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Daemon)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"tcp://127.0.0.1:{server.server_address[1]}", heard
    server.shutdown()
    server.server_close()


def test_docker(docker_daemon: tuple[str, list[list[str]]], tmp_path: Path) -> None:
    program = shutil.which("docker")
    if program is None:
        pytest.skip("no docker client on this machine")
    address, heard = docker_daemon
    file, expected = tmp_path / "file", {}
    for number, value in enumerate(AWKWARD):
        try:
            FORMATS["docker"].write(content_with({f"T_{number}": value}))
        except CannotWrite:
            continue
        expected[f"T_{number}"] = value
    file.write_bytes(FORMATS["docker"].write(content_with(dict(expected))))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "DOCKER_HOST": address}
    argv = [program, "create", "--pull=never", "--env-file", str(file), "image"]
    ended = subprocess.run(argv, env=environment, capture_output=True, timeout=60)
    assert b"no container here" in ended.stderr, ended.stderr
    assert dict(row.split("=", 1) for row in heard[0]) == expected

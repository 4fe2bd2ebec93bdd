"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]


# No test asserts how long something takes, least of all on a busy machine.
settings.register_profile("whatever the time", deadline=None)
settings.load_profile("whatever the time")

# What the caller's terminal asks for is not what the tests ask for.
os.environ.pop("NO_COLOR", None)

# A shell starts background jobs deaf to Ctrl-C, and children inherit that: tests that send one need ears.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded machines and field cases that lies beside the checkout, where there is one."""
    folder = ROOT.parent / "shared"
    if not (folder / "corpus").is_dir():
        pytest.skip("no ../shared/corpus beside this checkout")
    return folder


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are no name of a test: gzip writes the time into them, and parallel runs must agree on the names."""
    return argname if isinstance(val, bytes) else None


#: Minutes in one test: begun first, the others are done beside them.
_LONG = ("test_tune_devices.py",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not (item.path.name in _LONG and item.path.parent.name == "cli"))


#: What CI may skip: what no CI machine of this project can run. Everything else must run there.
_SKIPS_ALLOWED_IN_CI = (
    "no ../shared/corpus beside this checkout",
    "needs Windows",
    "root may write everywhere",
    "no docker client on this machine",
    "AMD_DOCTOR_WINE_PYTHON names no Windows Python",
)
_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(_SKIPS_ALLOWED_IN_CI):
            _skipped.append(f"{report.nodeid}: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if os.environ.get("CI") and _skipped and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if os.environ.get("CI") and _skipped:
        terminalreporter.section("skipped, but this machine could run it")
        for line in _skipped:
            terminalreporter.line(line)

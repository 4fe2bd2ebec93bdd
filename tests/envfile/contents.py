"""Contents of env files for the tests, and values that are awkward somewhere."""

from __future__ import annotations

from hypothesis import strategies as st

from doctor.envfile.content import EnvContent, EnvLine, Evidence, Gain

AWKWARD = (
    "8",
    "",
    " ",
    "a b",
    " leading and trailing ",
    "it's",
    '"quoted"',
    "'quoted'",
    'say "hi"',
    "$HOME",
    "${HOME}",
    "`id`",
    "$(id)",
    "50%",
    "%PATH%",
    "%%",
    "!important!",
    "back\\slash",
    "ends with backslash\\",
    "\\\\server\\share",
    "\\n",
    "#no comment",
    "a #b",
    "; rm -rf",
    "a;b",
    "a&b|c<d>e^f",
    "~/lib:~",
    "=a=b",
    "*?[x]{a,b}",
    "granularity=fine,compact,1,0",
    "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4",
    "grün\u2019s \u2018quotes\u2019 \u201cdouble\u201d",
    "\U0001f600 smile",
    "\u2028line separator",
    "0-7,16-23",
    "-n",
    "--export",
)

#: What a variable may hold, as far as every format is asked: no control characters, no halves of surrogate pairs.
values = st.text(
    st.one_of(
        st.sampled_from("'\"\\$`%!#;&|<>^~ =*?[]{}()@,:/.-+0aZé€\u2019\U0001f600"),
        st.characters(exclude_categories=("Cc", "Cs")),
    ),
    max_size=30,
)
names = st.from_regex(r"\A[A-Z][A-Z0-9_]{0,20}\Z").map(lambda name: f"T_{name}")


def evidence(**changes: object) -> Evidence:
    known: dict[str, object] = {
        "date": "2026-11-30",
        "system": "linux",
        "workloads": ("gemm-1024", "mlp-train"),
        "subject": {"cpu": "AMD Ryzen 9 5950X 16-Core Processor", "hardware": "3fa4b1c29e10", "torch": "2.13.0+cpu"},
        "file": Gain(0.241, 0.19, 0.293, 12),
        "version": "0.1.0",
    }
    return Evidence(**{**known, **changes})  # type: ignore[arg-type]


def content_with(sets: dict[str, str | None], **changes: object) -> EnvContent:
    """A content that sets these variables, with changes to its evidence."""
    lines = tuple(EnvLine(name, value) for name, value in sets.items())
    return EnvContent(("Measured: +24.1 % throughput.",), lines, ("Tried and not kept:",), evidence(**changes))

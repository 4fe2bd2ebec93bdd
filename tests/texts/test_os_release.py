"""os-release(5)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.os_release import read_os_release


def test_quotes_comments_and_escapes() -> None:
    text = (
        '# made by hand\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\nVERSION_ID=\'24.04\'\nID=ubuntu\n\nNAME="A \\"B\\" C"\n'
        'BROKEN="no end\nlower=case\n'
    )
    assert read_os_release(text) == {
        "PRETTY_NAME": "Ubuntu 24.04.1 LTS",
        "VERSION_ID": "24.04",
        "ID": "ubuntu",
        "NAME": 'A "B" C',
    }


@given(st.text(max_size=120))
def test_no_text_breaks_it(text: str) -> None:
    read_os_release(text)
    read_os_release("NAME=" + text)

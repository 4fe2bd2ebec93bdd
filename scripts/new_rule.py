"""Starts a rule: `python scripts/new_rule.py gpu gfx-is-odd "The card has an odd gfx"`.

Writes `rules/<area>/<id>.yaml` with everything that a rule needs. Its cases fail until they are filled in:
    python -m pytest tests/diagnosis/test_rule_files.py -k gfx-is-odd
Then `python scripts/translations.py` makes the entries for its translation: without them a test lists the rule.
Run it with the Python of `.venv`.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.diagnosis.model import AREAS  # noqa: E402

_RULE = """\
id: {id}
area: {area}
title: "{title}"
applies: torch.installed              # where it is false, the rule says nothing and is only counted
severity:                             # the first whose condition holds: error warning info hint
  - warning: torch.num_threads > limits.cpu_budget
evidence: "what this machine shows: {{torch.num_threads}} threads; a clause without its fact is left out"
why: What follows from it, in one or two sentences, for someone who does not know the field.
fix:
  text: What to do, in a sentence that stands without the commands.
  linux: "export OMP_NUM_THREADS={{limits.cpu_budget}}"
  windows: "setx OMP_NUM_THREADS {{limits.cpu_budget}}"
needs: []                             # facts that only evidence or fix name
explains: []                          # rules whose findings stand beneath this one
silences: []                          # rules whose findings are pointless beside this one
references: []                        # https, where this was seen or is documented
verified: "{today}"
cases:                                # parts of a machine document (doctor/machine/model.py)
  fires: [{{}}]                         # at least one for each severity
  silent: []                          # every trap in which it must not speak
  undecided: []                       # without the fact that decides
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("id", help="words in lower case, joined by dashes")
    parser.add_argument("title", help="what is wrong, in at most 72 characters, without a full stop")
    parser.add_argument("--folder", type=Path, default=ROOT / "rules", help="where the areas lie (default: rules/)")
    given = parser.parse_args(arguments)
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", given.id):
        parser.error(f"{given.id!r} is no id: words in lower case, joined by dashes")
    taken = sorted(given.folder.glob(f"*/{given.id}.yaml"))
    if taken:
        parser.error(f"{taken[0]} is there already")
    path: Path = given.folder / given.area / f"{given.id}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    title = given.title.replace("\\", "\\\\").replace('"', '\\"')
    path.write_text(
        _RULE.format(id=given.id, area=given.area, title=title, today=date.today().isoformat()), encoding="utf-8"
    )
    print(f"{path}\nNow fill it in until this passes:")
    print(f"  python -m pytest tests/diagnosis/test_rule_files.py -k {given.id}")
    print("Then give it its words in the other languages (docs/translating.md):")
    print("  python scripts/translations.py")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

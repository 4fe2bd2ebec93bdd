"""Many hosts, tried with local ones: the commands of docs/fleet.md, and the steps of the playbook.

`ssh` and `srun` are stood in for by small scripts that run the command here, once for each host. The playbook is run
step by step in a loop: which of its steps starts what, and which statuses it takes for results, is read from it.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import ROOT, environment

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX shell")

PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
PLAYBOOK = ROOT / "scripts" / "fleet" / "check.yml"
HOSTS = ("node1", "node2", "node3")

#: Hosts of these scripts differ in a variable; node3 does not answer.
SSH = """\
#!/bin/sh
host=$1; shift
[ "$host" = node3 ] && { echo "ssh: connect to host node3 port 22: No route to host" >&2; exit 255; }
[ "$host" = node2 ] && export OMP_NUM_THREADS=7
exec "$@"
"""
SRUN = """\
#!/bin/sh
worst=0
while :; do
    case $1 in
        --nodes=*) nodes=${1#--nodes=} ;;
        --output=*) output=${1#--output=} ;;
        --ntasks-per-node=1) ;;
        *) break ;;
    esac
    shift
done
for number in $(seq "$nodes"); do
    "$@" > "$(echo "$output" | sed "s/%N/node$number/")" || worst=$?
done
exit $worst
"""
#: The doctor of these hosts: PyTorch is not tried, which takes long and is the same on each of them.
DOCTOR = """\
#!/bin/sh
case "$*" in "check --json"*) set -- "$@" --no-exercise ;; esac
exec "{python}" -m doctor "$@"
"""


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, str]:
    """An environment in which `ssh`, `srun` and `amd-doctor` are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "ssh", SSH)
    script(folder / "srun", SRUN)
    script(folder / "amd-doctor", DOCTOR.format(python=sys.executable))
    return environment(PATH=f"{folder}{os.pathsep}{os.environ['PATH']}", VIRTUAL_ENV=str(Path(sys.prefix)))


def commands_under(title: str) -> str:
    """The shell lines of one section of the page."""
    section = PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    blocks: list[str] = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert blocks, title
    return "".join(blocks)


def shell(commands: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-u", "-c", commands], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120
    )


def table(stdout: str) -> dict[str, str]:
    """The sign of each host in a table."""
    rows = [line for line in stdout.splitlines() if re.match(r"[✓✗!?☠] node", line)]
    return {line.split()[1]: line[0] for line in rows}


def test_every_section_with_commands_is_tried_here() -> None:
    titles = [part.splitlines()[0] for part in PAGE.split("\n## ")[1:] if "```sh\n" in part]
    assert titles == ["With Slurm", "With nothing but ssh", "The table", "What changed on a machine"]


def test_with_nothing_but_ssh(programs: dict[str, str], tmp_path: Path) -> None:
    ended = shell(commands_under("With nothing but ssh"), tmp_path, programs)
    assert ended.stderr.strip() == "ssh: connect to host node3 port 22: No route to host"
    assert set(table(ended.stdout)) == {f"{host}.json" for host in HOSTS}
    assert table(ended.stdout)["node3.json"] == "?"
    assert "it is empty" in ended.stdout
    documents = [json.loads((tmp_path / "fleet-results" / f"{host}.json").read_text()) for host in HOSTS[:2]]
    assert [document["machine"]["env"].get("OMP_NUM_THREADS") for document in documents] == [None, "7"]

    ended = shell(commands_under("The table"), tmp_path, programs)
    assert ended.stderr == ""
    assert json.loads((tmp_path / "fleet.json").read_text())["summary"]["unread"] == 1
    assert (tmp_path / "fleet.csv").read_text().splitlines()[3].startswith("node3.json,unread,")

    ended = shell(commands_under("What changed on a machine"), tmp_path, programs)
    assert "Nothing that both machines tell has changed." in ended.stdout


def test_with_slurm(programs: dict[str, str], tmp_path: Path) -> None:
    ended = shell(commands_under("With Slurm"), tmp_path, programs)
    assert ended.stderr == ""
    assert set(table(ended.stdout)) == {f"{host}.json" for host in HOSTS}


def plays() -> list[dict[str, Any]]:
    loaded = yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))
    assert isinstance(loaded, list)
    return loaded


def filled(template: str, names: dict[str, Any]) -> Any:
    """A `{{ … }}` of the playbook: names, lists, `+` and `default(…)`, as Jinja reads them; else a text with names."""
    whole = re.fullmatch(r"\{\{(.*)\}\}", template)
    if whole and "}}" not in whole[1]:
        expression = re.sub(r"(\w+) \| default\(([^()]*)\)", r"names.get('\1', \2)", whole[1].strip())
        return eval(expression, {"names": names, "__builtins__": {}}, names)
    return re.sub(r"\{\{ (\w+(?:\.\w+)?) \}\}", lambda found: str(eval(found[1], {}, names)), template)


MODULES = {"ansible.builtin.file", "ansible.builtin.copy", "ansible.builtin.command", "ansible.builtin.debug"}
KEYWORDS = {"name", "register", "changed_when", "failed_when", "delegate_to", "become", "run_once"}


def test_the_playbook_is_two_plays_of_plain_steps() -> None:
    judge, show = plays()
    assert (judge["hosts"], judge["gather_facts"]) == ("all", False)
    assert (show["hosts"], show["connection"]) == ("localhost", "local")
    for play in (judge, show):
        assert set(play) <= {"name", "hosts", "gather_facts", "connection", "vars", "tasks"}
        for task in play["tasks"]:
            (module,) = set(task) - KEYWORDS
            assert module in MODULES and task["name"]
            # What is written is written on this machine, as the user who called.
            if module in ("ansible.builtin.file", "ansible.builtin.copy"):
                assert (task["delegate_to"], task["become"]) == ("localhost", False)
            if module == "ansible.builtin.command":
                assert task["changed_when"] is False and list(task[module]) == ["argv"]


def test_variables_of_the_inventory_are_not_overruled() -> None:
    """What stands under `vars` of a play beats what an inventory says of its hosts."""
    for play in plays():
        assert set(play["vars"]) == {"fleet_results"}


def run_task(task: dict[str, Any], names: dict[str, Any], env: dict[str, str]) -> bool:
    """One step on one host, with its registered result in `names`. False where it failed."""
    copy, command = task.get("ansible.builtin.copy"), task.get("ansible.builtin.command")
    if folder := task.get("ansible.builtin.file"):
        Path(filled(folder["path"], names)).mkdir(exist_ok=True)
    if copy:
        Path(filled(copy["dest"], names)).write_text(filled(copy["content"], names))
    if command:
        ended = subprocess.run(
            filled(command["argv"], names), env=env, capture_output=True, text=True, check=False, timeout=120
        )
        result = type("Result", (), {"rc": ended.returncode, "stdout": ended.stdout, "stderr": ended.stderr})
        names[task["register"]] = result
        return not eval(task["failed_when"], {}, names)
    return True


def test_the_steps_of_the_playbook_on_local_hosts(programs: dict[str, str], tmp_path: Path) -> None:
    results = tmp_path / "fleet-results"
    broken = tmp_path / "broken"
    script(broken, "#!/bin/sh\necho half a doc\nexit 70\n")
    judge, show = plays()
    hosts: dict[str, dict[str, Any]] = {
        "node1": {"amd_doctor_arguments": ["--python", sys.executable]},
        "node2": {},
        "node3": {"amd_doctor": str(broken)},
    }
    ended = {}
    for host, variables in hosts.items():
        names = {"fleet_results": str(results), "inventory_hostname": host, **variables}
        ended[host] = all(run_task(task, names, programs) for task in judge["tasks"])
    assert ended == {"node1": True, "node2": True, "node3": False}
    assert (results / "node3.json").read_bytes() == b""
    assert json.loads((results / "node2.json").read_text())["schema"] == "amd-doctor/check/1"

    names = {"fleet_results": str(results)}
    assert run_task(show["tasks"][0], names, programs)
    assert set(table(names["table"].stdout)) == {f"{host}.json" for host in HOSTS}
    assert table(names["table"].stdout)["node3.json"] == "?"


@pytest.mark.parametrize(("status", "is_result"), [(0, True), (1, True), (2, False), (70, False), (127, False)])
def test_an_error_on_a_host_is_a_result_and_a_failure_of_the_doctor_is_not(status: int, is_result: bool) -> None:
    (task,) = (task for play in plays()[:1] for task in play["tasks"] if "register" in task)
    checked = type("Result", (), {"rc": status})
    assert eval(task["failed_when"], {}, {"checked": checked}) is not is_result

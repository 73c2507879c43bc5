"""``envbuild plan`` as people and programs meet it."""

import json
import re
import shlex
from pathlib import Path

import pytest

from envbuild.cli.app import run
from envbuild.host.load import load_host
from envbuild.matrix.load import load as load_matrices
from envbuild.planner.ranges import numbers
from envbuild.values.codec import dump, load, replace
from envbuild.values.plan import Fleet, Plan

HOSTS = Path(__file__).parent.parent / "hosts"
Cap = pytest.CaptureFixture[str]


def test_the_table(capfd: Cap) -> None:
    assert run(["plan", "--cc", "6.1"]) == 0
    out = capfd.readouterr().out
    lines = out.splitlines()
    assert lines[0] == (
        "ok  CUDA 12.9.1 for cc 6.1 (Pascal): the newest toolkit that assembles sm_61, and the last"
    )
    assert "docker.io/nvidia/cuda:12.9.1-devel-ubuntu24.04" in lines[1]
    assert "other ways: distro 12.4" in lines[1]
    for start in ("compiler", "flags", "driver", "access", "torch", "lasts"):
        assert any(line.startswith(f"  {start}") for line in lines)
    why = next(line for line in lines if line.startswith("why"))
    assert "13.0-13.5" in why
    assert "toolkits/13.0 measured" in why
    assert "declared, nothing on this machine was looked at · matrices of 2026-12-01" in lines
    assert lines[-1].startswith("next  envbuild up --cc 6.1 · ")


def test_the_next_command_is_whole(capfd: Cap) -> None:
    args = ["--gpu", "GTX 1080 Ti", "--cuda", ">=12.4,<13", "--torch", "2.8.0"]
    run(["plan", *args])
    assert (
        "next  envbuild up --gpu 'GTX 1080 Ti' --cuda '>=12.4,<13' --with torch==2.8.0 ·"
        in capfd.readouterr().out
    )


def test_explain_shows_every_toolkit_with_one_reason(capfd: Cap) -> None:
    assert run(["plan", "--cc", "6.1", "--explain"]) == 0
    out = capfd.readouterr().out.splitlines()
    for toolkit in load_matrices().toolkits:
        assert len(judged(out, toolkit.cuda)) == 1, toolkit.cuda
    # Neighbours with one reason share a line.
    assert judged(out, "13.0") == judged(out, "13.5")
    assert "sm_61 ends with CUDA 12.9" in judged(out, "13.5")[0]
    assert judged(out, "11.4") != judged(out, "10.2")


def test_reasons_that_differ_in_the_toolkit_alone_share_a_line(capfd: Cap) -> None:
    """A data-centre card on an older driver: each newer tag brings a libcuda of its own."""
    host = str(HOSTS / "h200-docker.json")
    for more in ((), ("--explain",)):
        assert run(["plan", "--host", host, "--driver", "535.288.01", *more]) == 0
        told = capfd.readouterr().out.splitlines()
        (line,) = (x for x in told if "libcuda that the tag brings" in x)
        assert " 12.3-13.4 " in line


@pytest.mark.parametrize(
    ("args", "access"),
    [
        (("--cc", "6.1"), "--device nvidia.com/gpu=all (cdi): assumed, no engine was looked at"),
        (("--host", "rtx5090-docker-cdi.json"), "(cdi): the best that the engine here offers"),
        (("--host", "docker-rootless.json", "--cc", "8.9"), "--gpus all (gpus): the best"),
        (("--host", "h200.json"), "(cdi): on other machines, no engine answers here"),
    ],
)
def test_how_a_container_gets_its_gpu(args: tuple[str, ...], access: str, capfd: Cap) -> None:
    args = tuple(str(HOSTS / word) if word.endswith(".json") else word for word in args)
    run(["plan", *args])
    (line,) = (x for x in capfd.readouterr().out.splitlines() if x.startswith("  access"))
    assert access in line
    run(["plan", "--where", "host", *args])
    assert "  access" not in capfd.readouterr().out


def judged(out: list[str], cuda: str) -> list[str]:
    """The lines of the table that judge a toolkit, by itself or in a range."""

    def holds(line: str) -> bool:
        match = re.match(
            r"(?:why)? +(\d+\.\d+)(?:\.\d+)?(?:-(\d+\.\d+))? +(?:ok|warn|refuse) ", line
        )
        return match is not None and numbers(match[1]) <= numbers(cuda) <= numbers(
            match[2] or match[1]
        )

    return [line for line in out if holds(line)]


def test_a_refusal_is_exit_3_with_every_cure(capfd: Cap) -> None:
    assert run(["plan", "--cc", "6.1", "--cuda", "13"]) == 3
    out = capfd.readouterr().out
    assert out.startswith("refuse  no plan for cc 6.1: cc 6.1 (a fact) and --cuda 13 (a wish)")
    assert "envbuild plan --cc 6.1" in out


def test_json_holds_every_key_and_reads_back(capfd: Cap) -> None:
    assert run(["plan", "--cc", "6.1", "--json"]) == 0
    out = capfd.readouterr().out
    keys = set(json.loads(out))
    assert {
        "schema", "outcome", "cc", "where", "cuda", "toolkit_source", "image", "host_compiler",
        "gencode", "flags", "env", "torch", "packages", "driver", "access", "platform", "run",
        "size", "lasts_until", "findings", "alternatives", "matrix",
    } <= keys  # fmt: skip
    assert load(Plan, out.encode(), "plan").cuda == "12.9.1"


def test_a_file_and_a_fleet(tmp_path: Path, capfd: Cap) -> None:
    path = tmp_path / "fleet.json"
    assert run(["plan", "--cc", "3.5", "--cc", "12.0", "--split", "-o", str(path)]) == 0
    assert len(load(Fleet, path.read_bytes(), "fleet").entries) == 2
    assert "2 images" in capfd.readouterr().out


FLEET = """
# a comment
- name: rack1
  count: 40
  gpus: [Tesla P100]
  driver: 535.309.01
- {name: a100, cc: "80", os: Ubuntu 22.04}
- name: h200
  host: h200.json
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "h200.json").write_bytes((HOSTS / "h200.json").read_bytes())
    path = tmp_path / "hosts.yaml"
    path.write_text(FLEET)
    return path


def test_a_fleet_from_a_file(fleet: Path, capfd: Cap) -> None:
    assert run(["plan", "--fleet", str(fleet), "--json"]) == 0
    made = load(Fleet, capfd.readouterr().out.encode(), "fleet")
    (entry,) = made.entries
    assert entry.nodes == ("rack1", "a100", "h200")
    assert entry.plan.cc == ("6.0", "8.0", "9.0")
    by_name = {node.name: node for node in made.nodes}
    assert (by_name["rack1"].count, by_name["rack1"].given) == (40, "535.309.01")
    assert by_name["rack1"].driver.last_branch == 580
    assert by_name["h200"].gpus == ("H200",)
    assert run(["plan", "--fleet", str(fleet)]) == 0
    out = capfd.readouterr().out
    assert out.splitlines()[0].endswith("1 image for 42 nodes")
    assert "rack1 (40) · Tesla P100 · driver 535.309.01 in hand; needs 525.60.13 or newer" in out


def test_a_fleet_in_json_and_with_tabs(tmp_path: Path, capfd: Cap) -> None:
    path = tmp_path / "hosts.json"
    path.write_text(json.dumps([{"name": "n", "cc": "8.6", "count": "3"}], indent=1))
    assert run(["plan", "--fleet", str(path), "--json"]) == 0
    (node,) = json.loads(capfd.readouterr().out)["nodes"]
    assert (node["count"], node["entry"]) == (3, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: one", ":1 is not a list of nodes"),
        ("- {cc: 8.6}", ":1 is a node without a name"),
        ("- {name: a, cc: 8.6}\n- {name: a, cc: 9.0}", ":2 names 'a' twice"),
        ("- {name: a}", ":1 says no GPU"),
        ("- name: a\n  gpu: [T4]", ":2 has the unknown key 'gpu'"),
        ("- {name: a, cc: 8.6, count: -1}", "needs a number of machines, not '-1'"),
        ("- name: a\n  cc: 9.9", ":2: cc '9.9' is not a compute capability"),
        (
            "- name: a\n  gpus: [GTX 9999 Ti]",
            ":1: no GPU product is known by the name 'GTX",
        ),
        ("- {name: a, cc: 8.6, driver: newest}", ":1: driver 'newest'"),
        ("- {name: a, cc: 8.6, os: windows 95}", ":1: os 'windows 95' is not known"),
        ("- {name: a, host: h.json, cc: 8.6}", "has 'cc' beside 'host'"),
        ("- {name: a, host: missing.json}", "missing.json"),
        ("- {name: b, cc: 8.6}\n- {name: a, cc: all}", ":2 has `cc: all`"),
        ("- name: a\n  cc: &x 8.6", ":2 has an anchor"),
        ('- cc: 8.6\n  name: "a\\nok  CUDA"', ":2 has a name that cannot be shown"),
        ('- cc: 8.6\n  name: " "', ":2 has a name that cannot be shown"),
        ("- [a", "is not YAML"),
    ],
)
def test_a_wrong_fleet_names_the_line(text: str, says: str, tmp_path: Path, capfd: Cap) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    assert run(["plan", "--fleet", str(path)]) == 2
    err = capfd.readouterr().err
    assert says in err
    assert "hosts.yaml" in err


def test_one_image_asked_for_and_several_needed(tmp_path: Path, capfd: Cap) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text("- {name: k40, gpus: Tesla K40}\n- {name: new, gpus: RTX 5090}")
    assert run(["plan", "--fleet", str(path)]) == 3
    out = capfd.readouterr().out
    assert "k40 (Tesla K40" in out.splitlines()[0]
    assert "the same command with --split" in out
    assert run(["plan", "--fleet", str(path), "--split"]) == 0
    assert "2 images for 2 nodes" in capfd.readouterr().out


def test_a_host_that_cannot_be_fails_on_demand(tmp_path: Path, capfd: Cap) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text("- {name: ws, gpus: [GTX 1080 Ti, RTX 5090]}\n- {name: ok, cc: 8.6}")
    assert run(["plan", "--fleet", str(path)]) == 0
    out = capfd.readouterr().out
    assert out.splitlines()[0] == "warn  1 image for 1 of 2 nodes"
    assert "ws: no single machine can drive all its cards" in out
    assert run(["plan", "--fleet", str(path), "--strict"]) == 3
    assert "error host-impossible" in capfd.readouterr().out
    path.write_text("- {name: ws, gpus: [GTX 1080 Ti, RTX 5090], count: 3}")
    assert run(["plan", "--fleet", str(path)]) == 3
    assert capfd.readouterr().out.splitlines()[0] == "refuse  0 images for 0 of 3 nodes"


@pytest.mark.parametrize("text", ["", "# nodes\n", "[]", "name: one", "- [a"])
def test_a_file_without_nodes_says_how_nodes_are_written(
    text: str, tmp_path: Path, capfd: Cap
) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    assert run(["plan", "--fleet", str(path)]) == 2
    assert "`- name: ...` entries, each with gpus, cc or host" in capfd.readouterr().err


@pytest.mark.parametrize(
    "args", [["--cc", "8.6"], ["--gpu", "T4"], ["--host", "x.json"], ["plan.json"]]
)
def test_what_a_fleet_says_itself(args: list[str], fleet: Path, capfd: Cap) -> None:
    assert run(["plan", "--fleet", str(fleet), *args]) == 2
    assert "node by node" in capfd.readouterr().err
    assert run(["plan", "--cc", "8.6", "--strict"]) == 2
    assert "--fleet hosts.yaml" in capfd.readouterr().err


def test_a_machine_without_a_gpu_says_how_to_ask(capfd: Cap) -> None:
    host = str(HOSTS / "docker-container.json")
    assert run(["plan", "--host", host]) == 4
    assert "envbuild plan --cc 9.0" in capfd.readouterr().err
    assert run(["plan", "--host", host, "--cuda", "12.6"]) == 0


@pytest.mark.parametrize(
    ("host", "cuda", "access", "docker"),
    [
        ("rtx5090-docker-cdi", "13.0", "cdi", ["--device", "nvidia.com/gpu=all"]),
        ("wsl2-docker-desktop", "13.0", "gpus", ["--gpus", "all"]),
        (
            "thor-r38.2",
            "13.0",
            "nvidia-runtime",
            ["--runtime=nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=all"],
        ),
    ],
)
def test_a_recorded_machine_decides(
    host: str, cuda: str, access: str, docker: list[str], capfd: Cap
) -> None:
    assert run(["plan", "--json", "--host", str(HOSTS / f"{host}.json")]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["cuda"].startswith(cuda)
    assert plan["access"] == access
    assert plan["run"]["docker"] == docker
    assert plan["declared"] is False
    assert {p["origin"] for p in plan["provenance"]} & {"recorded"}


def test_the_kernel_module_of_a_machine_is_a_fact(capfd: Cap) -> None:
    assert run(["plan", "--host", str(HOSTS / "p4-open-module.json")]) == 3
    assert "with its proprietary kernel modules" in capfd.readouterr().out


def test_no_way_out_leads_past_a_fact_that_no_flag_gives(capfd: Cap) -> None:
    run(["plan", "--host", str(HOSTS / "p4-open-module.json"), "--json"])
    steps = json.loads(capfd.readouterr().out)["findings"][0]["steps"]
    # What is left is done on the machine: no flag of a plan gives other kernel modules.
    assert not steps[0]["argv"]
    assert all(step["argv"][0] != "envbuild" for step in steps[1:])


def test_the_next_command_names_the_recorded_host(capfd: Cap) -> None:
    host = str(HOSTS / "rtx5090-docker-cdi.json")
    assert run(["plan", "--host", host]) == 0
    assert f"next  envbuild up --host {host} · " in capfd.readouterr().out


def test_no_line_is_longer_than_a_wide_screen(capfd: Cap) -> None:
    for args in (["--cc", "all"], ["--cc", "3.5,6.1,8.6", "--explain"], ["--cc", "6.1,12.0"]):
        run(["plan", *args])
        assert max(map(len, capfd.readouterr().out.splitlines())) <= 200


def test_a_card_without_any_way_out_says_where_to_look(capfd: Cap) -> None:
    assert run(["plan", "--cc", "3.0"]) == 3
    out = capfd.readouterr().out
    assert "next  envbuild matrix show --cc 3.0 tells what is known of it" in out
    assert "install CUDA 10.2" in out


def test_a_driver_that_is_newer_than_recommended_is_left_alone(capfd: Cap) -> None:
    run(["plan", "--cc", "9.0", "--driver", "610.57.04"])
    assert "  driver    610.57.04 given; either kernel module; least" in capfd.readouterr().out
    run(["plan", "--cc", "8.9", "--driver", "560.94", "--platform", "wsl2"])
    assert "  driver    560.94 given; that of Windows, least 528.33" in capfd.readouterr().out


def test_what_comes_after_the_chosen_one_says_what_it_lacks(capfd: Cap) -> None:
    assert run(["plan", "--cc", "9.0", "--driver", "580.95.05", "--explain"]) == 0
    out = capfd.readouterr().out.splitlines()
    (newer,) = judged(out, "13.5")
    assert "the driver cannot compile its PTX" in newer
    (older,) = judged(out, "12.9")
    assert "works too; 13.0 is newer" in older


def test_a_flag_wins_over_the_record(capfd: Cap) -> None:
    host = str(HOSTS / "rtx5090-docker-cdi.json")
    assert run(["plan", "--json", "--host", host, "--cc", "9.0", "--driver", "570.195.03"]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["cc"] == ["9.0"]
    assert plan["cuda"].startswith("12.8")


def test_no_colour_and_no_control_characters_in_a_pipe(capfd: Cap) -> None:
    assert run(["plan", "--cc", "6.1", "--with", "evil\x1b[2J"]) == 2
    captured = capfd.readouterr()
    assert "\x1b" not in captured.out + captured.err


def test_another_command_gets_the_plan_or_the_refusal() -> None:
    from envbuild.cli.options import RequestFlags
    from envbuild.cli.source import plan_from
    from envbuild.errors import NoPlanError

    assert isinstance(plan_from(None, RequestFlags(cc=["6.1"])), Plan)
    with pytest.raises(NoPlanError) as e:
        plan_from(None, RequestFlags(cc=["6.1"], cuda="13"))
    assert "exclude each other" in e.value.what
    assert "envbuild plan --cc 6.1" in e.value.fix


def test_an_empty_cc_is_no_question_about_this_machine(capfd: Cap) -> None:
    assert run(["plan", "--cc", ""]) == 2
    assert "--cc is given and empty" in capfd.readouterr().err


def test_the_table_says_which_driver_is_in_hand_and_what_has_ended(capfd: Cap) -> None:
    run(["plan", "--cc", "3.5", "--driver", "470.82.01"])
    out = capfd.readouterr().out
    assert "  driver    470.82.01 given; recommended R470 (470.256.02), the last branch" in out
    assert "  lasts     ended 2024-09, with R470, the last driver for Kepler" in out
    assert "  torch     no build of torch in these matrices has code for 3.5" in out


def test_the_steps_of_a_finding_are_in_the_table_each_command_on_one_line(capfd: Cap) -> None:
    argv = ["plan", "--cc", "8.6", "--cuda", "12.9", "--where", "host", "--base-os", "ubuntu24.04"]
    assert run(argv) == 0
    table = capfd.readouterr().out.splitlines()
    assert run([*argv, "--json"]) == 0
    plan = load(Plan, capfd.readouterr().out.encode(), "plan")
    (found,) = [f for f in plan.findings if f.id == "host-install"]
    assert len(found.steps) > 2
    for step in found.steps:
        assert any(shlex.join(step.argv) == line.strip() for line in table)


def test_each_node_of_an_image_has_its_own_way_to_the_gpu(tmp_path: Path, capfd: Cap) -> None:
    """Recorded hosts; the last is made: the same machine whose docker was not told of the GPU."""
    cdi = load_host(str(HOSTS / "rtx5090-docker-cdi.json"))
    bare = tuple(replace(e, access=()) for e in cdi.engines)
    (tmp_path / "cdi.json").write_bytes(dump(cdi))
    (tmp_path / "bare.json").write_bytes(dump(replace(cdi, engines=bare)))
    file = tmp_path / "hosts.yaml"
    file.write_text(
        "- {name: a, host: cdi.json}\n- {name: b, host: bare.json}\n- {name: c, gpus: [RTX 5090]}\n"
    )
    assert run(["plan", "--fleet", str(file), "--json"]) == 0
    nodes = json.loads(capfd.readouterr().out)["nodes"]
    assert [node.get("access") for node in nodes] == ["cdi", "none", None]
    assert run(["plan", "--fleet", str(file)]) == 0
    told = capfd.readouterr().out
    assert "GPU access cdi" in told
    assert "no GPU in its containers yet" in told

"""WSL 2 and the Windows around it: what a plan says where no card is seen, and `doctor` with it.

All machines are *made*: each fact that matters is that of the row or report named beside it.
"""

from pathlib import Path

import pytest

from envbuild.advice.doctor import diagnose
from envbuild.advice.scene import Scene
from envbuild.cli.options import RequestFlags
from envbuild.cli.plan import make
from envbuild.errors import MachineError
from envbuild.values.codec import Pairs, dump, replace
from envbuild.values.host import Driver, EngineFacts, Gpu, Host, Os, Windows, Wsl
from tests.planner.ask import ask, ids

ADA = Gpu(name="NVIDIA GeForce RTX 4090", cc="8.9", source="nvml")
WSL = Host(
    kind="made",
    platform="wsl2",
    wsl=Wsl(generation=2),
    os=Os(id="ubuntu24.04", kernel="6.6.87.2-microsoft-standard-WSL2", arch="x86_64"),
)
PC = Host(kind="made", platform="windows", os=Os(id="windows", arch="x86_64"))


@pytest.mark.parametrize(
    ("here", "told"),
    [
        (WSL, "no NVIDIA card and no driver of Windows is seen in WSL"),
        (PC, "no NVIDIA card and no driver of Windows is seen here"),
        (replace(WSL, driver=Driver(version="591.44")), "R590 does not drive Maxwell, Pascal"),
        (replace(WSL, driver=Driver(version="582.16")), "582.16 answers here, and shows no card"),
        (
            replace(WSL, os=replace(WSL.os, kernel="4.19.104-microsoft-standard")),
            "Below 4.19.121 there is no GPU at all",
        ),
        (replace(WSL, gpus=(ADA,), driver=Driver(version="581.57")), None),
    ],
)
def test_wsl_without_a_visible_card_says_why(here: Host, told: str | None, tmp_path: Path) -> None:
    """Rows of `wsl.yaml` and `capabilities.yaml`; `plan` says what `doctor` finds."""
    found = [f"{f.says}. {f.why}" for f in diagnose(Scene(host=here)) if f.severity != "info"]
    assert [(told or "none") in text for text in found] == ([True] if told else [])
    file = tmp_path / "host.json"
    file.write_bytes(dump(here))
    flags = RequestFlags(host=str(file))
    if told is None:
        assert make(flags).outcome == "ok"
        return
    with pytest.raises(MachineError) as raised:
        make(flags)
    assert found[0].rstrip(". ") == raised.value.why
    assert f"envbuild doctor --host {file}" in str(raised.value.fix)
    # With a card from a flag there is a plan, and no plain ok.
    plan = ask("8.9", host=here)
    assert plan.outcome == "warn"
    assert "gpu-unseen" in ids(plan, "warn")


def test_a_windows_that_shows_wsl_2_is_not_told_to_install_it() -> None:
    """Docker Desktop gives a GPU through WSL 2 alone (row engines/docker-desktop-gpu)."""
    card = replace(PC, gpus=(ADA,), driver=Driver(version="581.57", cuda="13.0"))
    docker = EngineFacts(name="docker", answers=True, version="29.1.2", access=("gpus",))
    listed = Windows(distros=Pairs({"Ubuntu": "2"}))
    old = Windows(distros=Pairs({"Ubuntu": "1"}))
    for here, known in (
        (card, False),
        (replace(card, engines=(docker,)), True),
        (replace(card, engines=(replace(docker, access=()),)), False),
        (replace(card, windows=listed), True),
        (replace(card, windows=old), False),
    ):
        (found,) = (f for f in ask(host=here).findings if f.id == "windows-host")
        assert (found.severity, bool(found.steps)) == (
            ("info", False) if known else ("watch", True)
        )

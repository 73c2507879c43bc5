"""What single cards need to hear: last drivers, WSL, Jetsons, superchips, missing builds."""

from typing import Any

import pytest

from envbuild.errors import InputError
from envbuild.values.host import Gpu, Host
from tests.planner.ask import ask, ids, target, why


def test_a_card_that_left_wsl_is_refused_there_and_one_that_is_unsupported_warns() -> None:
    assert ask("3.7", platform="wsl2").outcome == "refuse"
    assert "wsl-unsupported" in ids(ask("5.2", platform="wsl2"), "warn")
    assert ask("6.1", platform="wsl2").outcome == "ok"


@pytest.mark.parametrize(
    ("name", "arch", "module"),
    [("GH200", "aarch64", "open"), ("GB200", "aarch64", "open"), ("H200", "x86_64", "either")],
)
def test_a_superchip_brings_its_cpu_and_needs_its_module(name: str, arch: str, module: str) -> None:
    plan = ask(gpus=(name,))
    assert (plan.outcome, plan.arch, plan.driver[0].module) == ("ok", arch, module)
    assert ask(gpus=(name,), arch="x86_64").outcome == ("refuse" if arch != "x86_64" else "ok")


@pytest.mark.parametrize(("name", "purged"), [("Tesla K80", True), ("Tesla P100", False)])
def test_an_images_libcuda_that_is_newer_than_the_cards_last_driver_goes(
    name: str, purged: bool
) -> None:
    assert ask(gpus=(name,)).layout.purge_compat is purged


def test_a_package_gets_a_base_whose_python_has_its_wheel() -> None:
    plan = ask("8.6", packages="tensorflow")
    assert plan.python == "3.12"
    assert ask("8.6", packages="tensorflow", base_os="ubuntu26.04").outcome == "refuse"
    assert ask("8.6", packages="numba", base_os="ubuntu26.04").outcome == "ok"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"driver": "535.183.01"}, "R535, the driver in hand, gets no updates since 2026-06"),
        ({"driver": "580.95.05"}, ""),
        # The vendor's page lists what it maintains, and calls every other branch ended.
        ({"driver": "570.133.07"}, "R570, the driver in hand, gets no updates since 2026-02"),
        ({"driver": "570.133.07", "as_of": "2026-02-20"}, ""),
        ({"driver": "560.35.05"},
         "R560, the driver in hand, gets no updates any more: the vendor calls it end of life"),
        ({"driver": "530.30.02"},
         "R530, the driver in hand, gets no updates any more: the vendor calls it end of life"),
        ({"driver": "590.48.01"}, ("R590, the driver in hand, is a new-feature branch: the vendor "
         "names no end, and the next branch replaces it")),
        ({"driver": "615.36.01"}, ("R615, the driver in hand, may get no updates: no end of this "
         "branch is sourced")),
        ({"driver": "551.23", "platform": "wsl2"}, ""),
    ],
)  # fmt: skip
def test_a_driver_in_hand_that_ended_is_named(fields: dict[str, Any], says: str) -> None:
    found = [f.says for f in ask("9.0", **fields).findings if f.id == "driver-ended"]
    assert found == ([says] if says else [])


def test_two_cards_that_no_machine_holds_have_no_plan_for_one() -> None:
    refused = ask("6.1,12.0", where="host", glibc="2.39")
    assert refused.outcome == "refuse"
    assert "host-window" in ids(refused, "error")
    assert any("--where" not in s.argv for s in refused.findings[0].steps)
    assert ask("6.1,12.0", where="host", glibc="2.39", platform="wsl2").outcome != "refuse"
    assert "host-window" in ids(ask("6.1,12.0"), "watch")


def test_a_card_without_a_torch_build_hears_so() -> None:
    assert "torch-none" in ids(ask("3.5"))
    assert "torch-newest" in ids(ask("6.1"))
    assert "torch-none" in ids(ask("6.1", arch="aarch64"))


def test_the_row_of_the_build_that_is_taken_is_cited() -> None:
    chosen = next(f for f in ask("7.0", packages="torch==2.8.0").findings)
    assert "torch/2.8.0-pypi" in chosen.source


def test_a_tag_that_only_follows_from_others_is_not_called_missing() -> None:
    says = next(f.says for f in ask("8.6", driver="595.71.05").findings if f.id == "image-missing")
    assert says.startswith("no vendor tag of CUDA 13.2 was seen itself")


@pytest.mark.parametrize(
    ("l4t", "image"), [("36.4", "l4t-jetpack:r36.4.0"), ("35.4.1", "l4t-jetpack:r35.4.1")]
)
def test_an_orin_gets_the_image_of_its_l4t(l4t: str, image: str) -> None:
    plan = ask("8.7", l4t=l4t)
    assert (plan.image.ref or "").endswith(image)
    assert plan.access == "nvidia-runtime"
    assert plan.driver[0].module is None


def test_what_an_l4t_holds_is_judged_too() -> None:
    assert ask("7.2").cuda == "11.4"
    assert ask("7.2", features="fp8").outcome == "refuse"
    assert ask("8.7", l4t="36.4", base_os="ubuntu22.04").outcome == "refuse"


def test_a_torch_version_that_no_row_knows_names_the_newest() -> None:
    says = [f.says for f in ask("6.1", packages="torch==99").findings]
    assert any(
        "no torch 99 in these matrices, which hold 1.13.1 to 2.15.0" in text for text in says
    )


def test_a_card_older_than_these_matrices_hears_of_its_last_toolkit() -> None:
    assert "sm_30 ends with CUDA 10.2" in why(ask("3.0"), "11.8")


@pytest.mark.parametrize(
    ("id", "cc", "name"),
    [
        ("10de:1b06", "6.1", "GeForce GTX 1080 Ti"),
        ("10DE:1D01", "6.1", None),  # GT 1030, a name of two chips
        ("10de:0f02", "2.1", None),  # GT 730, a name of three
    ],
)
def test_a_card_by_its_pci_id(id: str, cc: str, name: str | None) -> None:
    (card,) = target(gpus=(id,)).cards
    assert (card.cc, card.name) == (cc, name)


def test_a_driver_of_the_first_branch_that_is_older_than_the_card() -> None:
    old = ask(gpus=("RTX 5050 Laptop",), driver="570.133.07")
    assert "driver-first" in ids(old, "warn")
    assert "driver-first" not in ids(ask(gpus=("RTX 5050 Laptop",), driver="570.172.08"))
    assert ask(gpus=("RTX 5050 Laptop",), driver="565.57.01").outcome == "refuse"


@pytest.mark.parametrize(("cuda", "l4t"), [("12.6", "36.4"), ("11.4", "35"), (None, "39")])
def test_without_an_l4t_the_one_with_the_toolkit_asked_for_is_assumed(
    cuda: str | None, l4t: str
) -> None:
    plan = ask(gpus=("AGX Orin",), cuda=cuda)
    assert any(f"planned for {l4t} " in f.says for f in plan.findings if f.id == "l4t-assumed")


@pytest.mark.parametrize(
    ("as_of", "driver"), [("2026-12-01", "595"), ("2027-06-01", "580"), ("2029-01-01", None)]
)
def test_no_driver_is_recommended_whose_end_is_past_or_unknown(
    as_of: str, driver: str | None
) -> None:
    newest = ask("8.9", as_of=as_of).driver[0].recommended
    assert (newest or "").partition(".")[0] == (driver or "")


def test_a_branch_of_windows_drivers_is_no_linux_release() -> None:
    assert target("8.9", driver="535", platform="wsl2").driver == "535"
    assert target("8.9", driver="535").driver == "535.309.01"


def test_a_jetsons_part_among_all_targets_has_no_driver_to_install() -> None:
    needs = {need.cc: need for need in ask("all", cuda="12.8").driver}
    assert needs["8.7"].min is None
    assert needs["8.6"].min is not None


@pytest.mark.parametrize(("as_of", "said"), [("2025-01-01", True), ("2026-12-01", False)])
def test_a_date_before_the_matrices_says_what_it_counts_for(as_of: str, *, said: bool) -> None:
    assert ("as-of-past" in ids(ask("8.9", as_of=as_of), "watch")) is said


def test_what_came_later_is_not_planned_and_the_date_is_a_wish_to_drop() -> None:
    plan = ask("12.0", as_of="2024-10-01")
    assert plan.outcome == "refuse"
    assert "--as-of 2024-10-01 (a wish)" in plan.findings[0].says
    assert [s.argv for s in plan.findings[0].steps] == [("envbuild", "plan", "--cc", "12.0")]
    assert ask("12.0", as_of="2025-01-23").cuda == "12.8.1"
    late = ask("8.6", packages="torch", as_of="2024-10-01")
    assert late.torch is not None
    assert late.torch.version == "2.4.1"
    assert late.image.os == "ubuntu24.04"


def test_ampere_cards_need_the_driver_that_first_had_them() -> None:
    assert ask("8.6", cuda="11.8").driver[0].min == "455"
    assert ask("8.6", cuda="11.8", driver="450.80.02").outcome == "refuse"


def test_archives_are_named_by_the_file_that_lists_them() -> None:
    plan = ask("6.1", where="host", glibc="2.39", toolkit_source="redist")
    says = next(f.says for f in plan.findings if f.id == "host-install")
    assert "redist/redistrib_12.9.2.json" in says


def test_turing_cards_without_tensor_cores_say_so() -> None:
    assert "tensor-cores-none" in ids(ask(gpus=("GTX 1650",)))
    assert "tensor-cores-none" not in ids(ask(gpus=("RTX 2080",)))


@pytest.mark.parametrize(
    ("card", "cc", "warned"),
    [
        (Gpu(name="NVIDIA GeForce GT 1030"), "6.1", True),
        (Gpu(name="NVIDIA GeForce GTX 750 Ti"), "5.0", True),
        (Gpu(name="NVIDIA GeForce GT 1030", cc="6.1"), "6.1", False),
        (Gpu(name="NVIDIA GeForce GT 1030", pci_id="10de:1d01"), "6.1", False),
        (Gpu(name="NVIDIA GeForce GTX 750 Ti", pci_id="10de:11c7"), "3.0", False),
    ],
)
def test_a_name_that_few_cards_share_with_another_chip(card: Gpu, cc: str, warned: bool) -> None:
    """Made: a machine of which one field of the card is known, or two."""
    host = Host(kind="made", platform="linux", gpus=(card,))
    plan = ask(host=host)
    assert plan.cc == (cc,)
    assert ("name-likely" in ids(plan, "warn")) is warned
    named = ask(gpus=(card.name,))
    assert (named.cc != ("3.0",), "name-likely" in ids(named, "warn")) == (True, True)


@pytest.mark.parametrize("name", ["GT 730", "GTX 860M", "RTX 6000", "Titan X"])
def test_a_name_that_many_cards_share_is_asked_about(name: str) -> None:
    with pytest.raises(InputError, match="is not one chip"):
        ask(gpus=(name,))

"""Rules about software, each with and without its fault: targets, builds, packages, profilers."""

import io
import re
from typing import Any

import pytest

from envbuild.advice.doctor import diagnose
from envbuild.advice.fixes.fabric import steps as fabric_steps
from envbuild.advice.scene import Scene
from envbuild.advice.signatures import Signatures
from envbuild.host.fabric import Fabric
from envbuild.matrix.load import load, load_errors
from envbuild.values.codec import Pairs, replace
from envbuild.values.finding import Finding
from envbuild.values.host import AptSource, Driver, Host, Limits
from tests.cases.machines import host_of, image_of

EVERY = Signatures(load_errors().errors)
PASCAL: dict[str, Any] = {"gpus": [{"name": "GeForce GTX 1080 Ti", "cc": 6.1}]}
NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"


def found(log: str = "", image: dict[str, Any] | None = None, **host: Any) -> dict[str, Finding]:  # noqa: ANN401
    seen = EVERY.scan(io.BytesIO(log.encode()), "log") if log else ()
    inside = image_of(image) if image is not None else None
    return {f.id: f for f in diagnose(Scene(host=host_of(host), image=inside, seen=seen))}


def fixes(finding: Finding) -> str:
    return "\n".join(" ".join([*step.argv, step.text, step.check]) for step in finding.steps)


class TestArch:
    def test_the_same_torch_from_another_index_where_one_has_code_for_the_card(self) -> None:
        finding = found(NO_KERNEL, {"torch": "2.8.0+cu128", "torch_cuda": "12.8"}, **PASCAL)
        assert "torch==2.8.0" in fixes(finding["no-code-for-card"])
        assert "cu126" in fixes(finding["no-code-for-card"])

    def test_a_release_that_no_index_has_for_the_card_gives_way(self) -> None:
        finding = found(NO_KERNEL, {"torch": "2.15.0", "torch_cuda": "13.2"}, **PASCAL)
        assert "torch==2.14" in fixes(finding["no-code-for-card"])

    def test_an_image_that_covers_the_card_is_not_spoken_of(self) -> None:
        archs = ["sm_50", "sm_60", "sm_70", "sm_80", "sm_90"]
        assert "no-code-for-card" not in found(
            image={"torch": "2.8.0", "torch_arch_list": archs}, **PASCAL
        )
        ptx = ["sm_50", "compute_50"]
        assert "no-code-for-card" not in found(
            image={"torch": "2.8.0", "torch_arch_list": ptx}, **PASCAL
        )
        newer = ["sm_75", "sm_80", "compute_90"]
        assert "no-code-for-card" in found(
            image={"torch": "2.8.0", "torch_arch_list": newer}, **PASCAL
        )

    def test_code_of_ones_own_gets_the_targets_of_the_card(self) -> None:
        text = fixes(
            found("kernel failed: no kernel image is available on device", **PASCAL)[
                "no-code-for-card"
            ]
        )
        assert "compute_61" in text
        assert "pip install" not in text

    def test_a_log_of_another_card_is_answered_for_that_card(self) -> None:
        log = "RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch"
        log += " installation."
        text = fixes(found(log, **PASCAL)["no-code-for-card"])
        assert "--cc 12.0" in text

    def test_a_driver_below_a_major_and_one_below_a_minor(self) -> None:
        old = {"driver": "570.124.06", "driver_cuda": "12.8"}
        finding = found(image={"torch": "2.12.0+cu130", "torch_cuda": "13.0"}, **old)[
            "driver-too-old"
        ]
        assert "cu126" in fixes(finding)
        assert "580" in fixes(finding)
        assert "driver-too-old" not in found(
            image={"torch": "2.9.1+cu129", "torch_cuda": "12.9"}, **old
        )

    def test_no_driver_beyond_the_cards_last_branch_is_named(self) -> None:
        finding = found(
            "CUDA driver version is insufficient for CUDA runtime version",
            driver="470.256.02",
            **PASCAL,
        )
        assert not re.search(r"\b(59\d|6[0-2]\d)\b", fixes(finding["driver-too-old"]))

    def test_the_windows_driver_on_wsl(self) -> None:
        log = "RuntimeError: The NVIDIA driver on your system is too old (found version 12080)"
        finding = found(log, wsl=True, driver="572.83", driver_cuda="12.8")["driver-too-old"]
        assert "on Windows" in fixes(finding)
        assert "setup auto" not in fixes(finding)

    def test_ptx_of_a_known_toolkit_and_a_driver_that_is_new_enough_to_be_asked(self) -> None:
        log = "fatal   : Unsupported .version 8.7; current version is '8.4'"
        finding = found(log, driver="550.163.01", driver_cuda="12.4")["ptx-too-new"]
        assert "CUDA 12.8" in finding.says
        assert "12.4" in fixes(finding)

    @pytest.mark.parametrize(
        ("target", "cuda"),
        [
            ("compute_37", "11.8"),
            ("sm_61", "12.9"),
            ("sm_120", "12.8"),
            ("sm_121", "12.9"),
            ("sm_110", "13.0"),
        ],
    )
    def test_a_target_names_the_toolkits_that_have_it(self, target: str, cuda: str) -> None:
        finding = found(f"nvcc fatal   : Unsupported gpu architecture '{target}'")["unknown-target"]
        assert cuda in finding.says

    @pytest.mark.parametrize("target", ["compute_89", "compute_90", "sm_120"])
    def test_an_nvcc_of_the_distribution_is_named_as_that(self, target: str) -> None:
        text = f"nvcc fatal   : Unsupported gpu architecture '{target}'"
        plain = found(text)["unknown-target"]
        assert "distribution" not in plain.says
        told = found(f"/usr/bin/nvcc -c a.cu\n{text}")["unknown-target"]
        assert "the distribution's own nvcc" in told.says
        assert "/usr/bin/nvcc" in fixes(told)
        vendors = found(f"/usr/local/cuda-12.6/bin/nvcc -c a.cu\n{text}")["unknown-target"]
        assert "distribution" not in vendors.says

    def test_a_target_that_nobody_knows(self) -> None:
        finding = found("nvcc fatal   : Unsupported gpu architecture 'sm_999'")["unknown-target"]
        assert "no toolkit" in finding.says

    def test_three_versions_and_nothing_bad_about_them(self) -> None:
        finding = found(image={"torch_cuda": "12.8"}, driver_cuda="13.0", nvcc="12.6")[
            "cuda-versions"
        ]
        assert finding.severity == "info"
        assert all(text in finding.says for text in ("13.0", "12.6", "12.8"))


class TestBuild:
    def test_a_compiler_of_the_archive_that_fits(self) -> None:
        log = "unsupported GNU version! gcc versions later than 12 are not supported"
        assert "g++-12" in fixes(
            found(log, os="ubuntu24.04", gcc="13.3.0")["host-compiler-too-new"]
        )

    def test_no_other_compiler_where_the_c_library_clashes(self) -> None:
        log = "unsupported GNU version! gcc versions later than 14 are not supported"
        finding = found(log, os="ubuntu26.04", gcc="15.2.0", toolkits=["12.9"], **PASCAL)
        assert "g++-14" not in "".join(map(fixes, finding.values()))

    def test_the_clash_is_seen_before_anything_is_compiled(self) -> None:
        assert (
            found(os="ubuntu26.04", toolkits=["13.1"])["glibc-cuda-header-clash"].severity == "warn"
        )
        assert "glibc-cuda-header-clash" not in found(os="ubuntu24.04", toolkits=["13.1"])
        assert "glibc-cuda-header-clash" not in found(os="ubuntu26.04", toolkits=["13.4"])

    @pytest.mark.parametrize(
        ("value", "bad"),
        [("/usr/local/cuda-12.6", False), ("/usr/local/cuda", False), ("", True), ("cuda", True),
         (":/usr/local/cuda-12.6", True), ("/usr/local/cuda-12.6/bin", True),
         ("/opt/nothing", True), ("/usr/local/cuda-12.6/", False)],
    )  # fmt: skip
    def test_cuda_home(self, value: str, *, bad: bool) -> None:
        findings = found(toolkits=["12.6"], env={"CUDA_HOME": value})
        assert ("cuda-home-invalid" in findings) == bad
        if bad:
            assert "/usr/local/cuda-12.6" in fixes(findings["cuda-home-invalid"])

    def test_a_toolkit_that_is_not_on_path_and_none_at_all(self) -> None:
        log = "/bin/sh: 1: nvcc: not found"
        assert "/usr/local/cuda-12.6/bin" in fixes(found(log, toolkits=["12.6"])["nvcc-not-found"])
        assert "setup auto" in fixes(found(log)["nvcc-not-found"])
        wsl = fixes(found(log, wsl=True)["nvcc-not-found"])
        assert "setup wsl2" in wsl
        assert "apt" not in wsl
        assert "nvcc-not-found" not in found(
            f"{log}\ndid not complete successfully: exit code: 127"
        )

    def test_an_extension_gets_torchs_own_toolkit(self) -> None:
        log = "The detected CUDA version (11.8) mismatches the version that was used to compile"
        finding = found(log, {"torch": "2.8.0+cu126", "torch_cuda": "12.6"})[
            "toolkit-is-not-torchs"
        ]
        assert "12.6" in fixes(finding)

    def test_as_many_compilers_as_the_memory_holds(self) -> None:
        log = "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"
        assert "MAX_JOBS=6" in fixes(found(log, memory_mib=32_000)["build-out-of-memory"])
        assert "MAX_JOBS=1" in fixes(found(log, memory_mib=2_000)["build-out-of-memory"])
        assert "MAX_JOBS=2" in fixes(found(log)["build-out-of-memory"])


class TestApt:
    def test_a_list_that_is_a_page(self) -> None:
        path = "/etc/apt/sources.list.d/nvidia-container-toolkit.list"
        finding = found(apt_list_files={path: "<!doctype html>"}, container_toolkit=None)
        assert "stable/deb" in fixes(finding["toolkit-list-url"])
        assert "toolkit-list-url" not in found()

    @pytest.mark.parametrize(
        ("name", "os", "wsl", "bad"),
        [("ubuntu2204", "ubuntu24.04", False, True), ("ubuntu2404", "ubuntu24.04", False, False),
         ("ubuntu2404", "ubuntu24.04", True, True), ("wsl-ubuntu", "ubuntu24.04", True, False),
         ("wsl-ubuntu", "ubuntu24.04", False, True), ("debian12", "debian13", False, True)],
    )  # fmt: skip
    def test_a_repository_of_another_system(
        self, name: str, os: str, *, wsl: bool, bad: bool
    ) -> None:
        url = f"https://developer.download.nvidia.com/compute/cuda/repos/{name}/x86_64/"
        host = replace(
            host_of({"os": os, "wsl": wsl}), apt_sources=(AptSource(path="/a.list", url=url),)
        )
        findings = {f.id: f for f in diagnose(Scene(host=host))}
        assert ("repository-of-another-release" in findings) == bad

    def test_two_lists_with_two_keys(self) -> None:
        url = "https://nvidia.github.io/libnvidia-container/stable/deb/amd64"
        new = AptSource(path="/new.list", url=url, signed_by="/usr/share/keyrings/k.gpg")
        old = AptSource(path="/old.list", url=f"{url}/")
        both = replace(host_of({}), apt_sources=(old, new))
        findings = {f.id: f for f in diagnose(Scene(host=both))}
        assert "rm -f /old.list" in fixes(findings["apt-signed-by"])
        one = replace(host_of({}), apt_sources=(new,))
        assert "apt-signed-by" not in {f.id for f in diagnose(Scene(host=one))}

    def test_held_packages_matter_where_apt_finds_no_way(self) -> None:
        log = "E: Unable to correct problems, you have held broken packages."
        assert "nvidia-driver-580" in fixes(found(log, held=["nvidia-driver-580"])["held-packages"])
        assert "held-packages" not in found(held=["nvidia-driver-580"])


class TestProfilers:
    def test_a_card_that_the_current_profiler_does_not_serve(self) -> None:
        log = "==WARNING== No kernels were profiled."
        assert "nvprof" in fixes(found(log, **PASCAL)["profiler-too-new"])
        assert "profiler-too-new" not in found(log)

    def test_counters_where_they_are_open(self) -> None:
        finding = found("ERR_NVGPUCTRPERM", params={"RmProfilingAdminOnly": 0})["perf-counters"]
        assert "modprobe" not in fixes(finding)
        closed = found("ERR_NVGPUCTRPERM", params={"RmProfilingAdminOnly": 1})["perf-counters"]
        assert "NVreg_RestrictProfilingToAdminUsers=0" in fixes(closed)
        assert "--user 0" in fixes(closed)


def test_a_launch_is_held_against_the_card() -> None:
    row = next(row for row in load().capabilities if row.cc == "8.9")
    finding = found("CUDA error: invalid configuration argument")["cuda-9"]
    assert "99 KiB" in finding.why
    assert row.cc in finding.why
    assert "64 K" in found("too many resources requested for launch")["cuda-701"].steps[1].why


def test_shared_memory_of_a_container_with_several_gpus() -> None:
    two = {"gpus": [{"name": "Tesla T4", "cc": 7.5}, {"name": "Tesla T4", "cc": 7.5}]}
    host = replace(host_of(two), inside_container="docker", limits=Limits(shm_mib=64))
    (finding,) = (f for f in diagnose(Scene(host=host)) if f.id == "little-shared-memory")
    assert finding.severity == "watch"
    roomy = replace(host, limits=Limits(shm_mib=8192))
    assert all(f.id != "little-shared-memory" for f in diagnose(Scene(host=roomy)))
    seen = EVERY.scan(io.BytesIO(b"failed to extend /dev/shm/nccl-03v824 to 4194660 bytes"), "log")
    (finding,) = (f for f in diagnose(Scene(host=host, seen=seen)) if f.severity == "error")
    assert finding.id == "little-shared-memory"


class TestForwardCompat:
    """An image's own libcuda, on what an image and a machine say alone."""

    @staticmethod
    def told(apt: dict[str, str], drivers: tuple[str, ...] = (), **host: Any) -> Finding | None:  # noqa: ANN401
        image = replace(image_of({"os": "ubuntu22.04"}), apt=Pairs(apt), drivers=drivers)
        findings = diagnose(Scene(host=host_of(host), image=image))
        return next((one for one in findings if one.id == "forward-compat"), None)

    def test_a_newer_one_on_geforce_is_foretold(self) -> None:
        finding = self.told({"cuda-compat-12-8": "570.211.01-0ubuntu1"}, driver="535.183.01")
        assert finding is not None
        assert finding.severity == "warn"
        assert "804" in finding.says
        assert "cuda-compat-12-8 570.211.01" in finding.says
        assert "cuda-compat-*" in fixes(finding)

    def test_a_file_of_it_says_it_as_well(self) -> None:
        path = "/usr/local/cuda-12.8/compat/libcuda.so.570.211.01"
        assert self.told({}, (path,), driver="535.183.01") is not None

    @pytest.mark.parametrize(
        "host",
        [
            {"driver": "580.95.05"},
            {"driver": "570.86.15"},
            {"driver": "535.183.01", "gpus": [{"name": "Tesla T4", "cc": 7.5}]},
            {"driver": "535.183.01", "wsl": True},
            {"driver": None},
        ],
        ids=["newer-driver", "same-branch", "data-centre", "wsl", "no-driver"],
    )
    def test_nothing_is_foretold_where_it_is_not_put_first_or_served(
        self, host: dict[str, Any]
    ) -> None:
        assert self.told({"cuda-compat-12-8": "570.211.01-0ubuntu1"}, **host) is None

    def test_other_packages_are_none_of_it(self) -> None:
        assert self.told({"cuda-cudart-12-8": "12.8.90-1"}, driver="535.183.01") is None


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (
            "manifest for nvidia/cuda:latest not found: manifest unknown",
            "nvidia/cuda has no latest",
        ),
        ("reading manifest 12.8 in docker.io/nvidia/cuda: manifest unknown", "nvidia/cuda has no"),
        ("manifest for vllm/vllm-tpu:latest not found: manifest unknown", "vllm/vllm-tpu:latest"),
        ("reading manifest v9 in ghcr.io/x/y: manifest unknown", "ghcr.io/x/y"),
    ],
)
def test_a_tag_that_is_not_there_is_told_of_its_own_image(log: str, says: str) -> None:
    finding = found(log)["manifest-unknown"]
    assert says in f"{finding.says} {finding.why}"
    assert ("nvidia/cuda" in f"{finding.says} {finding.why}") is ("nvidia/cuda" in log)


def test_one_cause_of_docker_29_is_told_once() -> None:
    log = (
        'could not select device driver "" with capabilities: [[gpu]]\n'
        "failed to discover GPU vendor from CDI: AMD CDI spec not found\n"
    )
    told = found(log)
    assert "docker29-amd-cdi" in told
    assert not {"docker-no-gpu-driver", "docker29-no-vendor"} & told.keys()


@pytest.mark.parametrize("os", ["fedora-silverblue42", "fedora-ostree43", "rhel-ostree9"])
def test_a_system_that_is_an_image_gets_no_command_of_dnf(os: str) -> None:
    for log in ("error: command 'gcc' failed: No such file or directory", "Python.h: No such file"):
        for finding in found(log, os=os, **PASCAL).values():
            assert not any("dnf" in step.argv for step in finding.steps), finding


def test_a_driver_whose_version_is_no_release_is_no_bug() -> None:
    host = Host(kind="made", platform="wsl2", driver=Driver(version="12.x"))
    told = {finding.id: finding for finding in diagnose(Scene(host=host))}
    assert "12.x" in told["wsl-no-card"].says


@pytest.mark.parametrize("version", ["nan", "x'; reboot #", "$(reboot)"])
def test_a_version_that_is_none_comes_into_no_command(version: str) -> None:
    fabric = Fabric(switches=4, waits=True, os="ubuntu24.04")
    text = " ".join(word for step in fabric_steps(fabric, version) for word in step.argv)
    assert version not in text

"""What real builds of PyTorch printed of themselves. Shortened in the middle of the compiler flags only."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.texts.torch_config import TorchConfig, read_torch_config

# pip, Linux, torch 2.13.0+cpu
LINUX_2_13 = """\
PyTorch built with:
  - GCC 13.3
  - C++ Version: 202002
  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications
  - Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - LAPACK is enabled (usually provided by MKL)
  - NNPACK is enabled
  - CPU capability usage: AVX512
  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, COMMIT_SHA=cf30153c4c131c8164ee7798e5022d810682e2cb, \
CUDA_FLAGS= -DLIBCUDACXX_ENABLE_SIMPLIFIED_COMPLEX_OPERATIONS -DCUDA_HAS_FP16=1, \
CXX_COMPILER=/opt/rh/gcc-toolset-13/root/usr/bin/c++, CXX_FLAGS= -O2 -fPIC -Werror=return-type, LAPACK_INFO=mkl, \
PERF_WITH_AVX=1, PERF_WITH_AVX2=1, TORCH_VERSION=2.13.0, USE_CUDA=0, USE_MKL=ON, USE_MKLDNN=ON, USE_XPU=OFF, 
"""

LINUX_2_13_PARALLEL = """\
ATen/Parallel:
	at::get_num_threads() : 2
	at::get_num_interop_threads() : 2
OpenMP 201511 (a.k.a. OpenMP 4.5)
	omp_get_max_threads() : 2
Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel(R) 64 architecture applications
	mkl_get_max_threads() : 2
Intel(R) MKL-DNN v3.12.0 (Git Hash 80afa71049cd69a3df32adcccb623b12cd7baa22)
std::thread::hardware_concurrency() : 2
Environment variables:
	OMP_NUM_THREADS : [not set]
	MKL_NUM_THREADS : [not set]
ATen parallel backend: OpenMP
"""

# conda, Windows, torch 1.12
WINDOWS_1_12 = """\
PyTorch built with:
  - Intel(R) MKL-DNN v2.6.0 (Git Hash 52b5f107dd9cf10910aaa19cb47f3abf9b349815)
  - CPU capability usage: AVX2
  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, CXX_FLAGS=/DWIN32 /D_WINDOWS /GR /EHsc -openmp:experimental, \
USE_MKL=ON, USE_MKLDNN=ON, USE_OPENMP=ON,
ATen/Parallel:
	at::get_num_threads() : 6
	at::get_num_interop_threads() : 3
OpenMP 2019
	omp_get_max_threads() : 6
Intel(R) Math Kernel Library Version 2020.0.2 Product Build 20200624 for Intel(R) 64 architecture applications
	mkl_get_max_threads() : 6
std::thread::hardware_concurrency() : 6
ATen parallel backend: OpenMP
"""

# a build with OpenBLAS and oneDNN, Linux for Arm, torch 2.1
OPENBLAS_2_1 = """\
PyTorch built with:
  - GCC 10.2
  - Intel(R) MKL-DNN v3.1.1 (Git Hash 64f6bcbcbab628e96f33a62c3e975f8535a7bde4)
  - OpenMP 201511 (a.k.a. OpenMP 4.5)
  - LAPACK is enabled (usually provided by MKL)
  - CPU capability usage: NO AVX
  - Build settings: BLAS_INFO=open, BUILD_TYPE=Release, USE_MKL=OFF, USE_MKLDNN=ON,
"""

# pip, macOS, 2023
MACOS = """\
PyTorch built with:
  - GCC 4.2
  - clang 13.1.6
  - LAPACK is enabled (usually provided by MKL)
  - CPU capability usage: NO AVX
  - Build settings: BLAS_INFO=accelerate, BUILD_TYPE=Release,
"""

# built without OpenMP, macOS on Intel, torch 2.0.1; and one for Arm, 2.14
NO_OPENMP = """\
ATen/Parallel:
	at::get_num_threads() : 4
	at::get_num_interop_threads() : 4
OpenMP not found
Intel(R) oneAPI Math Kernel Library Version 2022.2-Product Build 20220801 for Intel(R) 64 architecture applications
	mkl_get_max_threads() : 1
Intel(R) MKL-DNN v2.7.3 (Git Hash 6dbeffbae1f23cbbeae17adb7b5b13f1f37c080e)
std::thread::hardware_concurrency() : 8
ATen parallel backend: native thread pool
"""
ARM_2_14 = """\
ATen/Parallel:
	at::get_num_threads() : 1
	at::get_num_interop_threads() : 12
OpenMP 202011
	omp_get_max_threads() : 1
MKLDNN not found
std::thread::hardware_concurrency() : 12
ATen parallel backend: OpenMP
"""

# 2019, before the settings were called *_INFO
LINUX_2019 = """\
PyTorch built with:
  - GCC 4.8
  - Intel(R) Math Kernel Library Version 2019.0.3 Product Build 20190125 for Intel(R) 64 architecture applications
  - Intel(R) MKL-DNN v0.18.1 (Git Hash 7de7e5d02bf687f971e7668963649728356e0c20)
  - OpenMP 201107 (a.k.a. OpenMP 3.1)
  - Build settings: BLAS=MKL, BUILD_TYPE=Release, PERF_WITH_AVX=1, USE_MKL=ON, USE_NCCL=True, U
"""


def test_the_linux_wheel() -> None:
    told = read_torch_config(LINUX_2_13 + LINUX_2_13_PARALLEL)
    assert (told.blas, told.blas_version, told.onednn, told.openmp) == ("mkl", "2024.2", "3.12.0", "201511")
    assert told.cpu_capability == "AVX512"
    assert (told.num_threads, told.interop_threads, told.mkl_threads, told.hardware_threads) == (2, 2, 2, 2)
    assert told.parallel_backend == "OpenMP"
    assert told.settings["CXX_FLAGS"] == "-O2 -fPIC -Werror=return-type"
    assert told.settings["CUDA_FLAGS"].endswith("-DCUDA_HAS_FP16=1")
    assert (told.settings["TORCH_VERSION"], told.settings["USE_XPU"]) == ("2.13.0", "OFF")


def test_either_text_alone_names_mkl() -> None:
    assert read_torch_config(LINUX_2_13_PARALLEL).blas == "mkl"
    assert read_torch_config(LINUX_2_13).blas_version == "2024.2"
    assert read_torch_config(LINUX_2_13).num_threads is None


def test_windows_of_conda() -> None:
    told = read_torch_config(WINDOWS_1_12)
    assert (told.blas, told.blas_version, told.onednn, told.openmp) == ("mkl", "2020.0.2", "2.6.0", "2019")
    assert (told.cpu_capability, told.num_threads, told.interop_threads) == ("AVX2", 6, 3)


def test_other_blas_libraries_tell_no_version() -> None:
    openblas, accelerate = read_torch_config(OPENBLAS_2_1), read_torch_config(MACOS)
    assert (openblas.blas, openblas.blas_version, openblas.onednn) == ("openblas", None, "3.1.1")
    assert openblas.cpu_capability == "DEFAULT"
    assert (accelerate.blas, accelerate.blas_version, accelerate.onednn) == ("accelerate", None, None)


def test_what_is_not_found_is_none_and_not_unknown() -> None:
    native, arm = read_torch_config(NO_OPENMP), read_torch_config(ARM_2_14)
    assert (native.openmp, native.parallel_backend) == ("none", "native thread pool")
    assert (native.num_threads, native.mkl_threads, native.hardware_threads) == (4, 1, 8)
    assert (arm.onednn, arm.openmp, arm.blas) == ("none", "202011", None)
    without_mkl = read_torch_config("MKL not found\n")
    assert (without_mkl.mkl_version, without_mkl.blas) == ("none", None)


def test_settings_of_2019_that_were_cut() -> None:
    told = read_torch_config(LINUX_2019)
    assert (told.blas, told.blas_version, told.onednn) == ("mkl", "2019.0.3", "0.18.1")
    assert told.settings["USE_NCCL"] == "True, U"


def test_counts_that_no_machine_has_are_not_believed() -> None:
    text = "at::get_num_threads() : 99999999999\nstd::thread::hardware_concurrency() : 0\n"
    assert read_torch_config(text) == TorchConfig()


@given(st.text() | st.lists(st.sampled_from((LINUX_2_13 + LINUX_2_13_PARALLEL).splitlines())).map("\n".join))
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(read_torch_config(text), TorchConfig)


@given(st.integers(0, 800))
def test_a_text_that_was_cut_says_nothing_else(length: int) -> None:
    whole, cut = read_torch_config(LINUX_2_13), read_torch_config(LINUX_2_13[:length])
    assert cut.blas in (None, whole.blas)
    assert cut.onednn in (None, whole.onednn)
    assert cut.mkl_version in (None, whole.mkl_version)
    assert cut.num_threads is None


def test_the_pytorch_of_this_environment() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("no torch in this environment")
    code = "import torch; print(torch.__config__.show()); print(torch.__config__.parallel_info())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    told = read_torch_config(run.stdout)
    assert told.blas is not None
    assert told.num_threads is not None
    assert told.openmp is not None

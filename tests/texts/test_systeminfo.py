"""systeminfo of Windows, in English and in other languages."""

from __future__ import annotations

import pytest

from doctor.texts.systeminfo import MIB, SystemProcessor, looks_like_systeminfo, read_systeminfo

_ENGLISH = """\

Host Name:                 DESKTOP-A1B2C3D
OS Name:                   Microsoft Windows 11 Pro
OS Version:                10.0.26100 N/A Build 26100
OS Manufacturer:           Microsoft Corporation
OS Configuration:          Standalone Workstation
Registered Owner:          jane.doe@example.org
Product ID:                00330-80000-00000-AA123
System Manufacturer:       ASUS
System Type:               x64-based PC
Processor(s):              1 Processor(s) Installed.
                           [01]: AMD64 Family 25 Model 97 Stepping 2 AuthenticAMD ~4501 Mhz
BIOS Version:              American Megatrends Inc. 3287, 5/15/2025
Windows Directory:         C:\\WINDOWS
Total Physical Memory:     65,190 MB
Available Physical Memory: 48,377 MB
Virtual Memory: Max Size:  69,286 MB
Domain:                    WORKGROUP
Hotfix(s):                 2 Hotfix(s) Installed.
                           [01]: KB5049622
                           [02]: KB5050009
Network Card(s):           1 NIC(s) Installed.
                           [01]: Realtek Gaming 2.5GbE Family Controller
                                 IP address(es)
                                 [01]: 192.168.0.17
"""

#: (version, line before the processors, label of the memory, size, label of what is free of it), as published outputs
#: have them.
_LANGUAGES = {
    "de": ("10.0.19045 Nicht zutreffend Build 19045", "Prozessor(en):  1 Prozessor(en) installiert.",
           "Gesamter physischer Speicher", "6.083 MB", "Verfügbarer physischer Speicher"),
    "fr": ("10.0.19045 N/A version 19045", "Processeur(s):  1 processeur(s) installé(s).",
           "Mémoire physique totale", "16\xa0323 Mo", "Mémoire physique disponible"),
    "es": ("10.0.22631 N/D Compilación 22631", "Procesador(es):  1 Procesadores instalados.",
           "Cantidad total de memoria física", "8.176 MB", "Memoria física disponible"),
    "ru": ("10.0.22631 Н/Д построение 22631", "Процессор(ы):  Число процессоров - 1.",
           "Полный объем физической памяти", "16\xa0302 МБ", "Доступная физическая память"),
    "zh": ("10.0.22000 暂缺 Build 22000", "处理器:  安装了 1 个处理器。",
           "物理内存总量", "16,194 MB", "可用的物理内存"),
    "ja": ("10.0.22631 N/A ビルド 22631", "プロセッサ:  1 プロセッサインストール済みです。",
           "物理メモリの合計", "16,027 MB", "利用できる物理メモリ"),
}  # fmt: skip


def test_english() -> None:
    read = read_systeminfo(_ENGLISH)
    assert looks_like_systeminfo(_ENGLISH) and read is not None
    assert (read.product, read.kernel, read.build) == ("Windows 11 Pro", "10.0.26100", 26100)
    assert read.processors == (SystemProcessor("AuthenticAMD", 25, 97, 2),)
    assert (read.processors_complete, read.total_bytes, read.available_bytes) == (True, 65190 * MIB, 48377 * MIB)
    assert (read.first, read.end) == (2, 16)


@pytest.mark.parametrize("language", _LANGUAGES)
def test_other_languages(language: str) -> None:
    version, processors, total, size, free = _LANGUAGES[language]
    text = (
        f"Name:   Microsoft Windows 10 Pro\nVersion:   {version}\n{processors}\n"
        f"      [01] : AMD64 Family 23 Model 113 Stepping 0 AuthenticAMD ~3593 MHz\n"
        f"{total}:   {size}\n{free}: 1 024 MB\n"
    )
    read = read_systeminfo(text)
    assert looks_like_systeminfo(text) and read is not None
    assert (read.product, read.build) == ("Windows 10 Pro", int(version[-5:]))
    assert [(cpu.family, cpu.model) for cpu in read.processors] == [(23, 113)]
    assert read.processors_complete
    assert read.total_bytes == int("".join(filter(str.isdigit, size))) * MIB
    assert read.available_bytes == 1024 * MIB


def test_an_unknown_language_gives_what_needs_no_label() -> None:
    text = "Nome SO:  Microsoft Windows 11 Home\nVersione SO:  10.0.22631 x Build 22631\n"
    read = read_systeminfo(text + "Memoria fisica totale:  8.192 MB\n")
    assert read is not None
    assert (read.product, read.build, read.total_bytes) == ("Windows 11 Home", 22631, None)


def test_two_sockets() -> None:
    row = "AMD64 Family 23 Model 1 Stepping 2 AuthenticAMD ~2994 Mhz"
    text = f"Processor(s):  2 Processor(s) Installed.\n   [01]: {row}\n   [02]: {row}\n"
    read = read_systeminfo(text)
    assert read is not None and (len(read.processors), read.processors_complete) == (2, True)


@pytest.mark.parametrize("count", ["2 Processor(s) Installed.", "Processors", "1 of 1"])
def test_a_list_of_processors_that_is_not_complete(count: str) -> None:
    text = f"Processor(s):  {count}\n   [01]: AMD64 Family 23 Model 1 Stepping 2 AuthenticAMD ~2994 Mhz\n"
    read = read_systeminfo(text)
    assert read is not None and not read.processors_complete


def test_the_version_must_name_its_build_twice() -> None:
    text = "OS Name: Microsoft Windows 11 Pro\nOS Version: 10.0.26100 N/A Build 26101\n"
    assert read_systeminfo(text) is None


def test_hotfixes_and_network_cards_are_no_processors() -> None:
    assert read_systeminfo("Hotfix(s): 1 Hotfix(s) Installed.\n  [01]: KB5049622\n") is None


def test_texts_of_something_else() -> None:
    for text in ("", "\n", "Microsoft Windows 11 Pro", "OS: Microsoft Windows 11 Pro\nOS version: 10.0.26100\n"):
        assert read_systeminfo(text) is None

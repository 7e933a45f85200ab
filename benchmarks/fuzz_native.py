"""Throws damaged JPEGs at the native decoder, compiled with sanitizers, and holds it to the codec's pixels and verdict.

    python -m benchmarks.fuzz_native --inputs 100000

Compiles the native code anew with AddressSanitizer and UndefinedBehaviorSanitizer, of which the first fault ends the
run, and starts a Python with their runtime and the C library's own allocator, so that a byte too far is seen. Whatever
the decoder takes must have the codec's pixels; what it declines says nothing. A tenth as many pictures are scaled,
which must have OpenCV's pixels. The suite (``tests/native``) runs a part of the same inputs without sanitizers.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.fuzz import mutate
from loader_service.errors import DecodeError
from loader_service.native.build import compile_library, compiler
from loader_service.plan.resized_crop import Box
from loader_service.worker import decode, part_decoder
from loader_service.worker.decode import DecodeLimits, check_header, eighths_shape, reduced_shape
from loader_service.worker.native_jpeg import NativeDecoder, Part
from loader_service.worker.native_scaling import NativeScaler
from loader_service.worker.opencv import opencv
from loader_service.worker.part_decoder import PartDecoder
from loader_service.worker.routes import Route

_SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1")
_LIMITS = DecodeLimits(max_pixels=2**18)
_GUARD = 64
_GUARD_BYTE = 0xA5


def damage(jpeg: bytes, random: Random) -> bytes:
    """Return a JPEG with damage: anywhere, in its segments, or in fields whose meaning is known."""
    scan = jpeg.index(b"\xff\xda")
    way = random.randrange(6)
    if way == 0:
        return jpeg
    if way <= 2:
        return mutate(jpeg[: scan + 14], random) + jpeg[scan + 14 :]
    if way == 3:
        return random.choice(_FIELDS)(jpeg, random)
    return mutate(jpeg, random)


def _with_bytes(jpeg: bytes, at: int, content: bytes) -> bytes:
    return jpeg[:at] + content + jpeg[at + len(content) :]


def _other_size(jpeg: bytes, random: Random) -> bytes:
    """Lie about height or width."""
    at = jpeg.index(b"\xff\xc0") + random.choice((5, 7))
    return _with_bytes(jpeg, at, random.choice((0, 1, 7, 16, 17, 200, 5000, 65535)).to_bytes(2, "big"))


def _other_sampling(jpeg: bytes, random: Random) -> bytes:
    at = jpeg.index(b"\xff\xc0") + 11 + 3 * random.randrange(3)
    return _with_bytes(jpeg, at, bytes((random.choice((0x11, 0x21, 0x22, 0x12, 0x41, 0x44, 0, 255)),)))


def _other_codes(jpeg: bytes, random: Random) -> bytes:
    """Change how many codes there are of some length, or what one stands for."""
    starts = [at for at in range(len(jpeg) - 1) if jpeg[at : at + 2] == b"\xff\xc4"]
    at = random.choice(starts) + random.randrange(2, 60)
    return _with_bytes(jpeg, at, bytes((random.choice((0, 1, 2, 15, 16, 240, 255, random.randrange(256))),)))


def _other_restarts(jpeg: bytes, random: Random) -> bytes:
    return jpeg[:2] + b"\xff\xdd\0\4" + random.choice((0, 1, 2, 3, 5, 65535)).to_bytes(2, "big") + jpeg[2:]


def _other_steps(jpeg: bytes, random: Random) -> bytes:
    at = jpeg.index(b"\xff\xdb") + random.randrange(2, 69)
    return _with_bytes(jpeg, at, bytes((random.choice((0, 1, 16, 255)),)))


def _cut_off_ended(jpeg: bytes, random: Random) -> bytes:
    return jpeg[: random.randrange(len(jpeg))] + b"\xff\xd9"


_FIELDS: tuple[Callable[[bytes, Random], bytes], ...] = (
    _other_size, _other_sampling, _other_codes, _other_codes, _other_restarts, _other_steps, _cut_off_ended,
)  # fmt: skip


def native_verdict(decoder: NativeDecoder, sources: Sequence[bytes], random: Random) -> str:
    """Decode one damaged JPEG, or a part of it, by the decoder and by the codec; return what became of it.

    Who calls has switched the decoder off in `decode_into`: see `codec_alone`.

    Raises
    ------
    AssertionError
        When the decoder took what the codec refuses, gave other pixels, or wrote outside of its memory.
    """
    jpeg = damage(random.choice(sources), random)
    try:
        height, width = check_header(jpeg, _LIMITS)
    except DecodeError:
        height, width = 16, 16  # the decoder reads such a header too, and must decline
    channels, strict, half = random.choice((1, 3)), random.random() < 0.5, random.random() < 0.3
    swapped = channels == 3 and random.random() < 0.5
    frame = (height, width)
    size = eighths_shape(frame, 4) if half and reduced_shape(frame, eighths_shape(frame, 4)) != frame else frame
    box = Box(0, 0, *size)
    if random.random() < 0.5:
        top, left = random.randrange(size[0]), random.randrange(size[1])
        box = Box(top, left, random.randint(1, size[0] - top), random.randint(1, size[1] - left))
    route = Route(frame, size, box, (box.height, box.width), (0, 0))
    room = np.full(box.height * box.width * channels + 2 * _GUARD, _GUARD_BYTE, np.uint8)
    out = room[_GUARD:-_GUARD].reshape(box.height, box.width, channels)
    done = decoder.decode_part(jpeg, out, Part(frame, box, route.eighths == 4, strict), swapped=swapped)
    guards = np.concatenate([room[:_GUARD], room[-_GUARD:]])
    assert (guards == _GUARD_BYTE).all(), f"written outside: {jpeg!r}"
    if not done:
        return "declined"
    assert check_header(jpeg, _LIMITS) == frame
    expected = PartDecoder(channels, swapped=swapped, exact=False, strict=strict).decode(jpeg, route)
    assert np.array_equal(out, expected), f"other pixels than the codec's: {jpeg!r}"
    return "same pixels"


def check_scaling(scaler: NativeScaler, random: Random) -> None:
    """Scale a part of a picture of noise by native code and by OpenCV.

    Raises
    ------
    AssertionError
        When the pixels differ, or something was written outside of them.
    """
    most = random.choice((4, 20, 200))
    height, width, rows, columns = (random.randint(1, most) for _ in range(4))
    top, left, bottom, right = (random.choice((0, 0, 1, 9)) for _ in range(4))
    whole = np.frombuffer(random.randbytes((top + height + bottom) * (left + width + right) * 3), np.uint8)
    pixels = whole.reshape(top + height + bottom, left + width + right, 3)[top : top + height, left : left + width]
    mirrored = random.random() < 0.5
    room = np.full(rows * columns * 3 + 2 * _GUARD, _GUARD_BYTE, np.uint8)
    out = room[_GUARD:-_GUARD].reshape(rows, columns, 3)
    if not scaler.scale(pixels, out, mirrored=mirrored):
        assert (height, width) == (2 * rows, 2 * columns)
        return
    guards = np.concatenate([room[:_GUARD], room[-_GUARD:]])
    assert (guards == _GUARD_BYTE).all(), f"written outside: {pixels.shape!r} to {out.shape!r}"
    expected = opencv().resize(pixels, (columns, rows), interpolation=opencv().INTER_LINEAR)
    assert np.array_equal(out, expected[:, ::-1] if mirrored else expected), f"{pixels.shape!r} to {out.shape!r}"


def codec_alone() -> None:
    """Have `decode_into` and `PartDecoder` decode by the codec alone in this process, from now on."""
    decode.native_decoder = part_decoder.native_decoder = lambda: None
    part_decoder.turbo_library = lambda: None  # type: ignore[assignment]


def sources() -> list[bytes]:
    """Return small JPEGs of each kind that the decoder takes."""
    from tests.native.jpeg_writer import FACTORS, Shape, write_jpeg  # noqa: PLC0415 - as in `benchmarks.fuzz`
    from tests.native.test_jpeg_decoder import encoded, picture, wild_blocks  # noqa: PLC0415

    found = [
        encoded(picture(*size, kind), quality, subsampling)
        for size in ((16, 16), (40, 70))
        for kind in ("noise", "smooth")
        for quality in (50, 90)
        for subsampling in FACTORS
    ]
    for number, subsampling in enumerate(FACTORS):
        shape = Shape(24, 40, subsampling, restart=number % 2 * 3, longest=16)
        found.append(write_jpeg(shape, wild_blocks(shape, np.random.default_rng(number), 3000)))
    return found


def _run(library: Path, inputs: int, seed: int) -> None:
    codec_alone()
    functions = ctypes.CDLL(str(library))
    decoder, scaler = NativeDecoder(functions), NativeScaler(functions)
    jpegs, random, begun = sources(), Random(seed), time.monotonic()
    verdicts = Counter(native_verdict(decoder, jpegs, random) for _ in range(inputs))
    for _ in range(inputs // 10):
        check_scaling(scaler, random)
    print(f"{inputs} inputs, seed {seed}, {time.monotonic() - begun:.0f} s: {dict(verdicts)}", flush=True)


def main() -> None:
    """Compile with sanitizers, and run in a process that has their runtime."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", type=Path, help="one that was compiled already; for the process that is started")
    given = parser.parse_args()
    if given.library is not None:
        _run(given.library, given.inputs, given.seed)
        return
    with tempfile.TemporaryDirectory(prefix="loader-fuzz-") as folder:
        library = Path(folder) / "sanitized.so"
        problem = compile_library(library, _SANITIZERS)
        if problem is not None:
            raise SystemExit(problem)
        runtimes = [
            subprocess.run(
                [*(compiler() or ()), f"-print-file-name={name}"], capture_output=True, text=True, check=True
            )
            for name in ("libasan.so", "libubsan.so")
        ]
        environment = {
            **os.environ,
            "LD_PRELOAD": ":".join(each.stdout.strip() for each in runtimes),
            "ASAN_OPTIONS": "detect_leaks=0",  # Python frees little at its end
            "PYTHONMALLOC": "malloc",
        }
        command = [sys.executable, "-m", "benchmarks.fuzz_native", "--library", str(library)]
        command += ["--inputs", str(given.inputs), "--seed", str(given.seed)]
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()

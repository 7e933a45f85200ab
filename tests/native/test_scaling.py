"""The scaling of native code gives OpenCV's pixels to the bit, of whatever it takes."""

from __future__ import annotations

from random import Random

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import fuzz_native
from loader_service.native import build
from loader_service.plan.image_draws import ImageDraws
from loader_service.protocol.spec import Image
from loader_service.worker import image, native_scaling
from loader_service.worker.image import ImageWriter
from loader_service.worker.native_scaling import NativeScaler, native_scaler, scaling_problem

Pixels = NDArray[np.uint8]


@pytest.fixture
def scaler() -> NativeScaler:
    if scaling_problem() and (build.compiler() is None or scaling_problem() == "this processor has no AVX2"):
        pytest.skip(scaling_problem())
    found = native_scaler()
    assert found is not None, f"{scaling_problem()}; run `make native`"
    return found


def noise(*shape: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def by_opencv(pixels: Pixels, height: int, width: int, *, mirrored: bool) -> Pixels:
    scaled = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.flip(scaled, 1) if mirrored else scaled)


@pytest.mark.parametrize("mirrored", [False, True])
def test_every_side_becomes_every_other_as_opencv_has_it(scaler: NativeScaler, mirrored: bool) -> None:
    for side in range(1, 400, 3):
        for wanted in (1, 2, 3, 7, 8, 9, 10, 64, 111, 224):
            columns, rows = noise(2, side, 3), noise(side, 2, 3)
            for pixels, height, width in ((columns, 3, wanted), (rows, wanted, 3)):
                out = np.empty((height, width, 3), np.uint8)
                assert scaler.scale(pixels, out, mirrored=mirrored)
                expected = by_opencv(pixels, height, width, mirrored=mirrored)
                assert np.array_equal(out, expected), (pixels.shape, out.shape)


def test_pictures_of_any_size_and_parts_of_them_are_scaled_as_opencv_scales_them(scaler: NativeScaler) -> None:
    """The short form of `python -m benchmarks.fuzz_native`, which has sanitizers."""
    random = Random(0)
    for _ in range(1500):
        fuzz_native.check_scaling(scaler, random)


def test_the_lightest_and_the_darkest_pixels_stay_what_they_are(scaler: NativeScaler) -> None:
    for value in (0, 255):
        out = np.empty((224, 224, 3), np.uint8)
        assert scaler.scale(np.full((301, 97, 3), value, np.uint8), out, mirrored=False)
        assert (out == value).all()


def test_what_opencv_averages_and_what_has_other_channels_is_declined(scaler: NativeScaler) -> None:
    assert not scaler.scale(noise(60, 80, 3), np.empty((30, 40, 3), np.uint8), mirrored=False)
    assert scaler.scale(noise(60, 80, 3), np.empty((30, 41, 3), np.uint8), mirrored=False)
    assert not scaler.scale(noise(60, 80, 1), np.empty((30, 41, 1), np.uint8), mirrored=False)
    assert not scaler.scale(noise(60, 80, 3)[:, ::2], np.empty((30, 41, 3), np.uint8), mirrored=False)
    assert not scaler.scale(noise(60, 80, 3)[::-1], np.empty((30, 41, 3), np.uint8), mirrored=False)
    assert not scaler.scale(noise(60, 80, 3), np.empty((30, 82, 3), np.uint8)[:, ::2], mirrored=False)
    assert not scaler.scale(noise(60, 80, 3), np.empty((30, 41, 3), np.int8), mirrored=False)  # type: ignore[arg-type]


def test_a_scaler_that_does_not_agree_with_opencv_is_not_used(
    monkeypatch: pytest.MonkeyPatch, scaler: NativeScaler
) -> None:
    right, calls = cv2.resize, iter(range(1, 99))
    assert native_scaling.agrees(scaler)
    for wrong in range(1, 5):
        calls = iter(range(1, 99))

        def other(*given: object, wrong: int = wrong, calls: object = calls, **options: object) -> object:
            return right(*given, **options) ^ np.uint8(next(calls) == wrong)  # type: ignore[call-overload]

        monkeypatch.setattr(cv2, "resize", other)
        assert not native_scaling.agrees(scaler), f"call {wrong} gave other pixels"


@pytest.mark.parametrize("asked", [
    Image(size=50, crop="resized"), Image(size=(100, 130)), Image(size=(40, 50), crop="random", short_side=90),
    Image(size=50, crop="resized", colors="bgr", channels=3), Image(size=50, crop="resized", channels=1),
])  # fmt: skip
def test_samples_are_the_same_with_and_without_it(
    monkeypatch: pytest.MonkeyPatch, scaler: NativeScaler, asked: Image
) -> None:
    del scaler
    pixels, taken = noise(120, 170, 3), []
    scale = image._scale

    def noted(*given: Pixels, mirrored: bool) -> bool:
        taken.append(scale(*given, mirrored=mirrored))
        return taken[-1]

    monkeypatch.setattr(image, "_scale", noted)
    channels = asked.channels or 3
    size = (asked.size, asked.size) if isinstance(asked.size, int) else asked.size
    for number in range(12):
        draws = ImageDraws((number * 2**59, number * 2**60), flip=number % 2 == 1, box=number * 2**58)
        samples = []
        for native in (native_scaler(), None):
            monkeypatch.setattr(image, "native_scaler", lambda native=native: native)
            out = np.empty((*size, channels), np.uint8)
            ImageWriter(asked, out.shape).write_pixels(pixels, out, draws)
            samples.append(out)
        assert np.array_equal(*samples)
    assert any(taken) == (channels == 3)

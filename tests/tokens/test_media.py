"""What media cost, and reading an image's size from its first bytes."""

import struct

import pytest

from compactor.messages.image import image_size
from compactor.messages.message import Media
from compactor.tokens.media import media_tokens


@pytest.mark.parametrize(
    ("media", "tokens"),
    [
        (Media("image", "a", width=8_000, height=6_000), 1_600),
        (Media("image", "a", width=750, height=400), 400),
        (Media("image", "a", width=1, height=1), 85),
        (Media("image", "a", size=1_000_000), 1_600),
        (Media("audio", "a"), 1_000),
        (Media("audio", "a", size=160_000), 321),
        (Media("audio", "a", size=10**12), 20_000),
        (Media("video", "a", size=10**12), 100_000),
        (Media("file", "a", size=60_000), 2_001),
        (Media("file", "a", size=10**12), 50_000),
        (Media("hologram", "a"), 2_000),
    ],
)
def test_the_cost_is_by_size_and_capped(media: Media, tokens: int) -> None:
    assert media_tokens(media) == tokens


def jpeg(width: int, height: int, *, preview: int = 0) -> bytes:
    application = b"\xff\xe1" + struct.pack(">H", preview + 2) + b"\x00" * preview
    return b"\xff\xd8" + application + b"\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03"


HEADERS = {
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 800, 600) + b"\x08\x06",
    "gif": b"GIF89a" + struct.pack("<HH", 800, 600) + b"\xf7",
    "jpeg": jpeg(800, 600),
    "jpeg with a preview": jpeg(800, 600, preview=3_000),
    "webp, lossy": b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a"
    + struct.pack("<HH", 800, 600),
    "webp, lossless": b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f"
    + struct.pack("<I", 799 | 599 << 14)
    + b"\x00" * 9,
    "webp, extended": b"RIFF\x00\x00\x00\x00WEBPVP8X" + b"\x00" * 8 + b"\x1f\x03\x00\x57\x02\x00",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_the_size_is_read_from_the_header(kind: str) -> None:
    assert image_size(HEADERS[kind]) == (800, 600)


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_that_is_cut_off_anywhere_is_no_error(kind: str) -> None:
    for length in range(len(HEADERS[kind])):
        assert image_size(HEADERS[kind][:length]) in (None, (800, 600))


@pytest.mark.parametrize(
    "data", [b"", b"%PDF-1.7", b"\xff\xd8\xff\xd9", b"RIFF\x00\x00\x00\x00WAVEfmt ", b"\xff\xd8" + b"\xff" * 50]
)
def test_anything_else_has_no_size(data: bytes) -> None:
    assert image_size(data) is None

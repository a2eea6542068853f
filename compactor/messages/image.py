"""How large an image is, from the header of its data."""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from the first bytes of a PNG, JPEG, GIF or WebP file.

    A prefix of the file is enough: 30 bytes, for JPEG as far as its frame header (a few kB where it carries a
    preview). None when the format is another one or the header is not all there.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        size = _big(data[16:20]), _big(data[20:24])
    elif data.startswith((b"GIF87a", b"GIF89a")) and len(data) >= 10:
        size = _little(data[6:8]), _little(data[8:10])
    elif data.startswith(b"\xff\xd8"):
        size = _jpeg_size(data)
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        size = _webp_size(data)
    else:
        return None
    return size if size[0] and size[1] else None


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """From the first start-of-frame segment; zeros when it is not within ``data``."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a fill byte before the marker
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # markers that have no body
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        else:
            at += 2 + _big(data[at + 2 : at + 4])
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    """From the chunk that comes first: extended, lossless or lossy; zeros when it is cut off."""
    chunk = data[12:16]
    if len(data) < 30:
        return 0, 0
    if chunk == b"VP8X":
        return _little(data[24:27]) + 1, _little(data[27:30]) + 1
    if chunk == b"VP8L":
        bits = _little(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 ":
        return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    return 0, 0


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")

"""Content blocks, as they stand in the content lists of several providers."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from compactor.messages.image import image_size
from compactor.messages.message import Media, Opaque, Raw, Reasoning, Text

_TEXT_KEYS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_MEDIA_KINDS = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "input_audio": "audio",
    "audio": "audio",
    "audio_url": "audio",
    "video_url": "video",
    "video": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
}
_REASONING_KINDS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning.text", "reasoning.encrypted"})
_HEADER_CHARS = 2_048  # of base64: the size of an image stands within these, but for JPEGs that carry a preview
_JPEG_HEADER_CHARS = 90_000
_JPEG_START = "/9j/"


def parse_block(block: Any) -> Text | Media | Reasoning | Opaque:
    """The value of one content block; anything that is not understood becomes ``Opaque``."""
    if isinstance(block, str):
        return Text(block)
    if not isinstance(block, Mapping):
        return Opaque(type(block).__name__, block)
    kind = block.get("type")
    if not isinstance(kind, str):
        return Opaque("content without a type", block)
    if kind in _TEXT_KEYS:
        text = block.get(_TEXT_KEYS[kind])
        return Text(text, block) if isinstance(text, str) else Opaque(kind, block)
    if kind in _MEDIA_KINDS:
        return _media(_MEDIA_KINDS[kind], block)
    if kind in _REASONING_KINDS:
        return _reasoning(block)
    return Opaque(kind, block)


def render_text(part: Text) -> dict[str, Any]:
    """The block of a text: as it came when unchanged, its other keys kept when it was edited."""
    raw = part.raw if part.raw is not None else {"type": "text", "text": part.text}
    key = _TEXT_KEYS[raw["type"]]
    return dict(raw) if raw[key] == part.text else {**raw, key: part.text}


def _reasoning(block: Raw) -> Reasoning:
    text = block.get("thinking", block.get("text", ""))
    if not isinstance(text, str):
        text = ""
    summary = block.get("summary")
    if not text and isinstance(summary, list):
        pieces = [item.get("text") for item in summary if isinstance(item, Mapping)]
        text = "\n".join(piece for piece in pieces if isinstance(piece, str))
    signed = any(block.get(key) for key in ("signature", "data", "encrypted_content"))
    return Reasoning(text, signed, block)


def _media(kind: str, block: Raw) -> Media:
    source = _source(block)
    mime, data = _inline(source)
    if data is None:
        url = source if isinstance(source, str) else ""
        place = url.split("?", 1)[0][:120] if "://" in url[:20] else "referenced"
        return Media(kind, f"{kind} {place}", raw=block)
    size = len(data) * 3 // 4
    width, height = _pixels(data) if kind == "image" else (None, None)
    pixels = f", {width}x{height} pixels" if width else ""
    return Media(kind, f"{mime or kind}, {size:,} bytes{pixels}", size, width, height, block)


def _source(block: Raw) -> Any:
    """Where the data or its address stands: providers nest it under various keys."""
    for key in ("image_url", "video_url", "audio_url", "input_audio", "source", "file", "file_data", "url", "data"):
        value = block.get(key)
        if value is not None:
            return value.get("url", value.get("file_data", value)) if isinstance(value, Mapping) else value
    return None


def _inline(source: Any) -> tuple[str | None, str | None]:
    """(mime type, base64 text) of data that is inline, else (None, None)."""
    if isinstance(source, str):
        if not source.startswith("data:"):
            return None, None
        head, _, data = source.partition(",")
        return head[5:].split(";", 1)[0] or None, data
    if isinstance(source, Mapping) and isinstance(source.get("data"), str):
        mime = source.get("media_type", source.get("format"))
        return mime if isinstance(mime, str) else None, source["data"]
    return None, None


def _pixels(data: str) -> tuple[int, int] | tuple[None, None]:
    try:
        length = _JPEG_HEADER_CHARS if data.startswith(_JPEG_START) else _HEADER_CHARS
        return image_size(base64.b64decode(data[:length])) or (None, None)
    except (binascii.Error, ValueError):
        return None, None

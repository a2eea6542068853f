"""What media cost in tokens.

Media are never counted as text. Providers price images by their pixels and sound and video by their length; all
of them scale down what is too large, so every cost has a cap.
"""

from compactor.messages.message import Media

# Images: one token per 750 pixels, at most about 1,600, because larger images are scaled down before the model
# sees them (Anthropic's documentation of vision). OpenAI's tiles of 512 pixels lie below that: 1024x1024 is 765
# there and 1,399 here; their floor of 85 is the floor here.
PIXELS_PER_TOKEN = 750
IMAGE_MIN, IMAGE_MAX = 85, 1_600

# Other kinds: bytes per token, the cost when the size is unknown, and the cap. Audio is 32 tokens a second and
# video 263 (Gemini's documentation), at common rates of 16 kB and 250 kB a second; a PDF page of about 60 kB
# comes to about 2,000 tokens of text and image (Anthropic's documentation of PDF support).
_BY_BYTES = {
    "audio": (500, 1_000, 20_000),
    "video": (1_000, 5_000, 100_000),
    "file": (30, 2_000, 50_000),
}


def media_tokens(media: Media) -> int:
    """Tokens that a piece of media costs, whatever its data look like as text.

    An image of unknown size counts as a large one: to compact a little early is cheaper than to overflow.
    Kinds other than image, audio and video count as files.
    """
    if media.kind == "image":
        return _image_tokens(media.width, media.height)
    per_token, unknown, cap = _BY_BYTES.get(media.kind, _BY_BYTES["file"])
    return unknown if media.size is None else min(cap, media.size // per_token + 1)


def _image_tokens(width: int | None, height: int | None) -> int:
    if not width or not height:
        return IMAGE_MAX
    return max(IMAGE_MIN, min(IMAGE_MAX, width * height // PIXELS_PER_TOKEN))

"""Keeps a note of every compaction in a file, and tells the summarizer how many there were."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

import compactor
from compactor.extension.events import PostCompress, PreCompress


class Plugin:
    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid")

        path: Path = Field(description="The file with the notes.")
        prefix: str = Field("note", description="What a note begins with.")

    def __init__(self, config: Config) -> None:
        self.config = config

    @compactor.hookimpl
    def on_pre_compress(self, event: PreCompress) -> str:
        return f"{self.config.prefix}: {len(event.folded)} of {len(event.messages)} messages are folded"

    @compactor.hookimpl
    async def on_post_compress(self, event: PostCompress) -> None:
        with self.config.path.open("a", encoding="utf-8") as notes:
            notes.write(f"{self.config.prefix}: {event.outcome}\n")

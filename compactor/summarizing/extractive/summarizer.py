"""The offline summarizer: a summary from the facts of the folded messages, without a model."""

from compactor.extension.protocols import SummaryReply, SummaryRequest
from compactor.facts import recognize
from compactor.summarizing.extractive.candidates import candidates
from compactor.summarizing.extractive.carrying import carry
from compactor.summarizing.extractive.filling import fill
from compactor.summarizing.extractive.layout import layout_of
from compactor.summarizing.extractive.previous import read_back
from compactor.summarizing.extractive.salience import Salience


class ExtractiveSummarizer:
    """Fills the policy's headings by rule with lines that stand in the conversation. Deterministic, no network.

    Every line is a quotation or a count; the result is within ``request.budget_tokens`` whenever the bare headings
    are.
    """

    def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary of ``request.folded``, merged with ``request.previous`` where there is one."""
        layout = layout_of(request.sections)
        facts = recognize(request.folded)
        carried = carry(read_back(request.previous or "", layout), facts)
        pool = candidates(facts, len(request.folded), carried)
        salience = Salience(request.folded, request.focus)
        text = fill(layout, pool, salience, request.budget_tokens, request.counter)
        return SummaryReply(text, finish_reason="stop", model="extractive")

    async def asummarize(self, request: SummaryRequest) -> SummaryReply:
        """The same as ``summarize``."""
        return self.summarize(request)

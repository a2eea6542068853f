"""The policy of a session, made ready for each model that it talks to, and read again when its files change."""

from collections.abc import Callable

from compactor.engine import Compactor
from compactor.errors import CompactorError
from compactor.session.policy_files import PolicyFiles
from compactor.session.provider_errors import ErrorTable, error_table

Make = Callable[[str | None], Compactor]
"""Makes the compactor for a model, by its name. Raises ``CompactorError`` for a policy with mistakes."""


class Policies:
    """``errors`` is the table by which refusals of providers are told apart."""

    errors: ErrorTable

    def __init__(self, make: Make, model: str | None) -> None:
        """Raises ``PolicyError`` with every mistake in the policy."""
        self._make = make
        self._begin(make(model), model)

    def for_model(self, model: str | None) -> Compactor:
        """The compactor for a model.

        While the policy's file has mistakes, one that was made before for another model lends its policy.
        """
        if model not in self._made:
            try:
                self._made[model] = self._make(model)
            except CompactorError:
                self._made[model] = self._newest.for_model(model)
        return self._made[model]

    def refresh(self, model: str | None) -> str | None:
        """Reads the policy again if its files were edited: None where they were not, or the policy's name.

        Raises ``CompactorError`` where the edited policy has mistakes: the one before stays, until the next edit.
        """
        if not self._files.changed():
            return None
        self._begin(self._make(model), model)
        return self._made[model].policy.name

    def _begin(self, compactor: Compactor, model: str | None) -> None:
        self._made = {model: compactor}
        self._newest = compactor
        self._files = PolicyFiles(compactor.prepared.files)
        self.errors = error_table(compactor.policy.errors)

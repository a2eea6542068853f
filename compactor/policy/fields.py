"""The keys that the models know, by their place: for suggestions, the schema's docs and nothing else."""

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from compactor.policy.base import PolicyModel
from compactor.policy.models import Policy
from compactor.policy.wording import Key


def model_of(annotation: Any) -> type[PolicyModel] | None:
    """The model that a field holds, itself or in a list; None for fields that hold something else."""
    if isinstance(annotation, type) and issubclass(annotation, PolicyModel):
        return annotation
    if get_origin(annotation) in (tuple, Annotated, Union, types.UnionType):
        return next((found for argument in get_args(annotation) if (found := model_of(argument))), None)
    return None


def is_list(annotation: Any) -> bool:
    """Whether a field holds a list."""
    return get_origin(annotation) is tuple


def fields_at(key: Key) -> Mapping[str, FieldInfo]:
    """The fields that the mapping at ``key`` may have; empty where the models do not prescribe any."""
    model: type[PolicyModel] | None = Policy
    for part in key:
        if isinstance(part, str):
            field = model.model_fields.get(part) if model else None
            model = model_of(field.annotation) if field else None
    return model.model_fields if model else {}


def all_keys(model: type[PolicyModel] = Policy, above: Key = ()) -> Iterator[tuple[Key, FieldInfo]]:
    """Every key of the models with its field, in order, mappings before what is in them.

    For a list, the keys of its entries follow it directly, without a position.
    """
    for name, field in model.model_fields.items():
        key = (*above, name)
        yield key, field
        if below := model_of(field.annotation):
            yield from all_keys(below, key)

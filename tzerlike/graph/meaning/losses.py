"""Losses, attention, and normalisations over groups of channels."""

from __future__ import annotations

import math

import numpy as np

from tzerlike.graph.meaning.elementwise import Array
from tzerlike.graph.meaning.reduction import softmax


def cross_entropy(predictions: Array, labels: Array) -> Array:
    return np.asarray(-np.sum(predictions * labels) / len(predictions))


def nll_loss(predictions: Array, targets: Array, weights: Array, reduction: str, ignore_index: int) -> Array:
    whole = targets.astype(np.int64)
    found = -np.take_along_axis(predictions, whole[:, None], axis=1)[:, 0] * weights[whole]
    if reduction == "none":
        return np.asarray(found)
    return np.asarray(found.sum() / weights[whole].sum() if reduction == "mean" else found.sum())


def group_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    num_groups: int,
    channel_axis: int,
    axes: tuple[int, ...],
    epsilon: float,
    center: bool,
    scale: bool,
) -> Array:
    parts = x.reshape(x.shape[0], num_groups, -1)
    mean, variance = parts.mean(axis=2, keepdims=True), parts.var(axis=2, keepdims=True)
    channels = (-1, *(1,) * (x.ndim - 2))
    normal = ((parts - mean) / np.sqrt(variance + epsilon)).reshape(x.shape)
    return np.asarray(normal * gamma.reshape(channels) + beta.reshape(channels))


def instance_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    channel_axis: int,
    axes: tuple[int, ...],
    epsilon: float,
    center: bool,
    scale: bool,
) -> Array:
    return group_norm(x, gamma, beta, x.shape[1], channel_axis, axes, epsilon, center, scale)


def attention(
    query: Array, key: Array, value: Array, bias: Array | None = None, causal_mask: str | None = None
) -> Array:
    """Layout: batch, place, head, feature. The mask lets a place see those before it, aligned at one corner. Several
    heads of the query may share one of the others."""
    if query.shape[2] % key.shape[2] == 0:
        key, value = (np.repeat(one, query.shape[2] // key.shape[2], axis=2) for one in (key, value))
    scores = np.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
    scores = scores if bias is None else scores + bias
    if causal_mask is not None:
        shift = scores.shape[3] - scores.shape[2] if causal_mask == "BottomRight" else 0
        scores = np.where(np.tril(np.ones(scores.shape[2:]), k=shift) > 0, scores, -1e30)
    return np.asarray(np.einsum("bhqk,bkhe->bqhe", softmax(scores, 3), value))

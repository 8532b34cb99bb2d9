"""Fitted models are bit-identical to those of golden_models.json."""

import json

import pytest
from golden_models import CASES, FILE, golden_digest

KNOWN = json.loads(FILE.read_text())


def test_every_configuration_has_a_digest():
    assert list(KNOWN) == list(CASES)
    assert len(CASES) >= 80


@pytest.mark.core
@pytest.mark.parametrize("name", CASES)
def test_golden_model(name):
    assert golden_digest(CASES[name]) == KNOWN[name]

"""Fitted models are, byte for byte, those of golden_models.json."""

import json

import pytest
from golden_models import CASES, FILE, golden_digest

KNOWN = json.loads(FILE.read_text())


def test_every_configuration_is_known():
    assert list(KNOWN) == list(CASES)
    assert len(CASES) >= 80


@pytest.mark.core
@pytest.mark.parametrize("name", CASES)
def test_golden_model(name):
    assert golden_digest(CASES[name]) == KNOWN[name]

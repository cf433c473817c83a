"""Tests, one folder a room."""

import pytest

# Before the first import: a failed assertion there gives its values, as one of a test does.
pytest.register_assert_rewrite("tests.support")

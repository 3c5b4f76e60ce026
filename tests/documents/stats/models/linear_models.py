"""Models of scikit-learn; without it, tests that import them are skipped."""

import pytest

linear_model = pytest.importorskip("sklearn.linear_model", reason="needs pip install -e '.[dev]'")
LinearRegression, Ridge = linear_model.LinearRegression, linear_model.Ridge

"""Models of scikit-learn; without it, tests that import them are skipped."""

import numpy as np
import pytest

linear_model = pytest.importorskip("sklearn.linear_model", reason="needs pip install -e '.[dev]'")
LinearRegression, Ridge = linear_model.LinearRegression, linear_model.Ridge


def plain_fits(dgp, rng, n_rep, n_train, *sizes):
    """One fit after the other: its squared distance, its intercept, and errors of new samples."""
    train = dgp.draw(rng, n_rep, n_train)
    samples = [dgp.draw(rng, n_rep, size, train.coefficients) for size in sizes]
    for rep in range(n_rep):
        model = LinearRegression().fit(train.features[rep], train.y[rep])
        distance = np.sum((train.coefficients[rep] - model.coef_) ** 2)
        errors = [new.y[rep] - model.predict(new.features[rep]) for new in samples]
        yield distance, model.intercept_, errors

"""Readers of exported models, which use no part of dics."""

import math

import numpy as np


def encoded_row(plain, row):
    """Encode the categories of a row as the docstring of to_json explains."""
    found = list(row)
    for column in plain["categories"]:
        numbers = dict(zip(column["categories"], column["numbers"], strict=True))
        found[column["feature"]] = numbers.get(row[column["feature"]], math.nan)
    for pair in plain["pairs"]:
        first, second = pair["features"]
        keys = zip(pair["first"], pair["second"], strict=True)
        numbers = dict(zip(keys, pair["numbers"], strict=True))
        found.append(numbers.get((row[first], row[second]), math.nan))
    return found


def leaf(tree, row):
    """Return the value of the leaf of an encoded row."""
    node = 0
    while tree["feature"][node] >= 0:
        x, members = row[tree["feature"][node]], tree["sets"].get(str(node))
        if math.isnan(x):
            left = tree["missing_left"][node]
        elif members is None:
            left = x < float(tree["threshold"][node])
        else:
            left = x in members
        node = tree["left" if left else "right"][node]
    return tree["value"][node]


def predict_json(plain, row):
    """Predict as the docstring of to_json explains, in plain Python."""
    row = encoded_row(plain, row)
    scores = list(plain["base"])
    for tree in plain["trees"]:
        scores = [s + v for s, v in zip(scores, leaf(tree, row), strict=True)]
    if plain["link"] == "logistic":
        second = 1 / (1 + math.exp(-scores[0]))
        return [1 - second, second]
    if plain["link"] == "softmax":
        powers = [math.exp(s - max(scores)) for s in scores]
        return [p / sum(powers) for p in powers]
    if plain["link"] == "exp":
        scores = [math.exp(s) for s in scores]
    return [s * f for s, f in zip(scores, plain["factor"], strict=True)]


def run_onnx(onnx_model, rows):
    """Return the outputs by name; inputs of one column are x0, x1 and so on."""
    import onnxruntime

    content = onnx_model.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    feed = {}
    for given in session.get_inputs():
        column = rows if given.name == "X" else rows[:, [int(given.name[1:])]]
        if given.type == "tensor(string)":
            missing = np.equal(column, None)
            feed[given.name] = np.where(missing, "", column).astype(object)
        else:
            is_single = given.type == "tensor(float)"
            feed[given.name] = column.astype(np.float32 if is_single else np.float64)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def folded(values, pairs, n_features):
    """Give half of the SHAP values of a column of a pair to each of its features."""
    found = values[:, :n_features].copy()
    for pair, of_pair in zip(pairs, values[:, n_features:].swapaxes(0, 1), strict=True):
        for feature in pair:
            found[:, feature] += of_pair / 2
    return found

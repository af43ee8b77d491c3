"""PyDaddy: polynomials with its own choice of the threshold, for one coordinate."""

import numpy as np
import protocol
import pydaddy


def fit(records, interval, states, degree):
    if records.shape[-1] > 1:
        raise SystemExit("the script has one coordinate only")
    series = np.concatenate([np.append(record[:, 0], np.nan) for record in records])
    described = pydaddy.Characterize([series], t=interval, show_summary=False)
    drift = described.fit("F", order=degree, tune=True)
    squared = described.fit("G", order=degree, tune=True)
    x = states[:, 0]
    return drift(x), squared(x) / 2


protocol.run(fit)

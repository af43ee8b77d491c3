"""Training steps of small networks in PyTorch: the peer of `cargo bench --bench nn`.

The same networks and the same step, written the way a PyTorch user would write
them: `nn.Sequential` with SiLU between the layers, the mean-square error against
given targets, `backward`, and `torch.optim.Adam`, on one thread. The step is
timed as it stands (keys `torch_*`) and, where it can be, with the network and
the loss compiled by `torch.compile` (keys `torch_compiled_*`).

Prints one JSON object on stdout, with steps per second. Writes no files.
"""

import json
import sys
import time

import torch
from torch import nn

NETWORKS = [(5, 256, 128, 2), (2, 128, 64, 2)]
STATES = 4096
ROUNDS = 300


def network(widths):
    """Linear layers of these widths, with SiLU between them."""
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


def training(widths, compiled):
    """A function that does one step."""
    torch.manual_seed(1)
    model = network(widths)
    x = torch.randn(STATES, widths[0])
    targets = torch.randn(STATES, widths[-1])
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss_of(x, targets):
        return nn.functional.mse_loss(model(x), targets)

    if compiled:
        loss_of = torch.compile(loss_of)

    def step():
        optimiser.zero_grad()
        loss = loss_of(x, targets)
        loss.backward()
        optimiser.step()
        return loss

    return step


def seconds(step):
    """Wall time of a step."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def steps_per_second(widths, compiled):
    """The best of ROUNDS timings, after a warm-up that must lower the loss."""
    step = training(widths, compiled)
    first = step().item()
    for _ in range(20):
        last = step().item()
    if not last < first:
        sys.exit(f"{widths}: training does not lower the loss")
    return 1.0 / min(seconds(step) for _ in range(ROUNDS))


def compiled_figure(widths):
    """Steps per second of the compiled network; nothing where there is no compiler."""
    try:
        return {"torch_compiled_steps_per_s": steps_per_second(widths, compiled=True)}
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        print(f"torch.compile is not available here: {reason}", file=sys.stderr)
        return {}


def main():
    torch.set_num_threads(1)
    networks = {}
    for widths in NETWORKS:
        name = "-".join(map(str, widths))
        networks[name] = {"torch_steps_per_s": steps_per_second(widths, compiled=False)}
        networks[name].update(compiled_figure(widths))
    print(json.dumps({"networks": networks, "versions": {"torch": torch.__version__}}))


if __name__ == "__main__":
    main()

"""PyTorch for CUDA on the simulator: ``orias exec -- python examples/torch_softmax.py`` (needs torch and zstandard)."""

import torch


def loss(x: torch.Tensor) -> torch.Tensor:
    """Of a normalised matrix, the sum of squares of the softmax of its rows."""
    y = torch.nn.functional.layer_norm(x, x.shape[-1:])
    return (torch.softmax(y, -1) ** 2).sum()


def main() -> None:
    """The same gradient on both devices."""
    torch.manual_seed(1)
    host = torch.randn(32, 100, requires_grad=True)
    x = host.detach().cuda().requires_grad_()
    loss(host).backward()
    loss(x).backward()
    assert host.grad is not None and x.grad is not None
    print("right" if torch.allclose(host.grad, x.grad.cpu(), atol=1e-6) else "wrong", torch.cuda.get_device_name())


if __name__ == "__main__":
    main()

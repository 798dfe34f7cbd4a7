"""Linear algebra, Fourier transforms and sparse matrices: cuSOLVER, cuBLAS, cuFFT, cuSPARSE, forward and backward."""
import torch
from shared import told

SIZE, BATCH = 8, 3


def matrix(*shape):
    return torch.randn(*shape, device="cuda").requires_grad_()


def sparse(make):
    at, values = torch.zeros(2, 5, dtype=torch.long, device="cuda"), torch.zeros(5, device="cuda")
    return make(torch.sparse_coo_tensor(at, values, (SIZE, SIZE)).coalesce())


# Each is asked of one matrix and of a batch of them. Left out: eigvals and matrix_exp, which look at what the device has
# computed, and give up when that is zero.
OF_MATRICES = {
    "solve": lambda a: torch.linalg.solve(a, a),
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "svd": lambda a: torch.linalg.svd(a, full_matrices=False)[1],
    "svdvals": torch.linalg.svdvals,
    "cholesky": torch.linalg.cholesky,
    "cholesky_solve": lambda a: torch.cholesky_solve(a, a),
    "qr": lambda a: torch.linalg.qr(a)[1],
    "eigh": lambda a: torch.linalg.eigh(a)[0],
    "lstsq": lambda a: torch.linalg.lstsq(a, a)[0],
    "lu_factor": lambda a: torch.linalg.lu_factor(a)[0],
    "solve_triangular": lambda a: torch.linalg.solve_triangular(a, a, upper=True),
    "pinv": torch.linalg.pinv,
    "fft": torch.fft.fft,
    "fft2": torch.fft.fft2,
    "rfft": torch.fft.rfft,
    "irfft": lambda a: torch.fft.irfft(torch.fft.rfft(a)),
    "matmul": lambda a: a @ a,
    "dot": lambda a: torch.dot(a.flatten(), a.flatten()),
    "mv": lambda a: a.reshape(-1, SIZE) @ a.flatten()[:SIZE],
    "baddbmm": lambda a: torch.baddbmm(a.view(-1, SIZE, SIZE), a.view(-1, SIZE, SIZE), a.view(-1, SIZE, SIZE)),
}
OTHERS = {
    "sparse coup @ dense": lambda: sparse(lambda s: s) @ matrix(SIZE, SIZE),
    "sparse csr @ dense": lambda: sparse(torch.Tensor.to_sparse_csr) @ matrix(SIZE, SIZE),
    "sparse csr @ vector": lambda: sparse(torch.Tensor.to_sparse_csr) @ matrix(SIZE),
    "sparse @ sparse": lambda: sparse(lambda s: s) @ sparse(lambda s: s),
    "complex solve": lambda: torch.linalg.solve(matrix(SIZE, SIZE) * 1j, matrix(SIZE, SIZE) * 1j).abs(),
    "double cholesky": lambda: torch.linalg.cholesky(matrix(SIZE, SIZE).double()),
    "jiterated": lambda: torch.special.airy_ai(torch.zeros(SIZE, device="cuda")),
}


def attempt(name, make):
    """True unless it fails, which is told with the reason."""
    try:
        made = make()
        if made.requires_grad:
            (made.abs() if made.is_complex() else made).sum().backward()
        torch.cuda.synchronize()
    except (RuntimeError, NotImplementedError) as error:
        print(name, "FAILS:", str(error).split("\n")[0])
        return False
    return True


def main():
    done = sum(attempt(name, lambda of=of, shape=shape: of(matrix(*shape)))
               for name, of in OF_MATRICES.items() for shape in ((SIZE, SIZE), (BATCH, SIZE, SIZE)))
    done += sum(attempt(name, make) for name, make in OTHERS.items())
    told(done=done, of=2 * len(OF_MATRICES) + len(OTHERS))


if __name__ == "__main__":
    main()

"""Products, solutions and decompositions on a BLAS with threads, called from threads too."""
import threading

import numpy

random = numpy.random.default_rng(1)
left, right = random.random((400, 300)), random.random((300, 500))
exact = numpy.einsum("ij,jk->ik", left, right, optimize=False)
close = [False] * 4


def multiply(number):
    close[number] = all(numpy.allclose(left @ right, exact, rtol=1e-10) for _ in range(10))


threads = [threading.Thread(target=multiply, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
square = random.random((300, 300)) + 300 * numpy.eye(300)
solved = numpy.allclose(square @ numpy.linalg.solve(square, left[:300]), left[:300], rtol=1e-8)
values = numpy.linalg.svd(square, compute_uv=False)
print(close, solved, len(values), numpy.allclose(values.prod(), abs(numpy.linalg.det(square)), rtol=1e-6))

"""Products, solutions and decompositions on a BLAS with threads, called from threads too."""
import threading

import numpy

random = numpy.random.default_rng(1)
left, right = random.random((200, 150)), random.random((150, 250))
exact = numpy.einsum("ij,jk->ik", left, right, optimize=False)
close = [False] * 4


def multiply(number):
    close[number] = all(numpy.allclose(left @ right, exact, rtol=1e-10) for _ in range(3))


threads = [threading.Thread(target=multiply, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
square = random.random((150, 150)) + 150 * numpy.eye(150)
solved = numpy.allclose(square @ numpy.linalg.solve(square, left[:150]), left[:150], rtol=1e-8)
values = numpy.linalg.svd(square, compute_uv=False)
print(close, solved, len(values), numpy.allclose(values.prod(), abs(numpy.linalg.det(square)), rtol=1e-6))

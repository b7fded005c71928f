"""A picture in PPM that is always the same. Usage: picture.py WIDTH HEIGHT"""
import sys

width, height = map(int, sys.argv[1:])
sys.stdout.buffer.write(b"P6\n%d %d\n255\n" % (width, height))
for y in range(height):
    row = ((x + y & 255, x * y >> 7 & 255, 3 * x - 2 * y & 255) for x in range(width))
    sys.stdout.buffer.write(bytes(value for pixel in row for value in pixel))

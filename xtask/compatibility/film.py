"""A film in YUV4MPEG2 that is always the same. Usage: film.py WIDTH HEIGHT FRAMES"""
import sys

width, height, frames = map(int, sys.argv[1:])
out = sys.stdout.buffer
out.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n" % (width, height))
for frame in range(frames):
    rows = [bytes((3 * x + 2 * y + 5 * frame + (x * y >> 6)) & 255 for x in range(width)) for y in range(height)]
    chroma = bytes((x + frame) & 255 for x in range(width // 2)) * (height // 2)
    out.write(b"FRAME\n" + b"".join(rows) + 2 * chroma)

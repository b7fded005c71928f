//! Benchmark bodies, generic over the platform.

// Nothing, with as many 64-bit arguments as whoever compiles it names in PARAMETERS.

extern "C" __global__ void arguments(PARAMETERS) {}

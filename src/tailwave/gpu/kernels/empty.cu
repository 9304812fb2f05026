// Nothing: what is timed is the launch.

extern "C" __global__ void empty() {}

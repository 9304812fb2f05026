// Multiply-adds that the compiler can neither drop nor move out of order.
#pragma once

constexpr float FACTOR = 1.000001f;

__device__ __forceinline__ void fma_in_place(float &value)
{
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(value) : "f"(FACTOR));
}

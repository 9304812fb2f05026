"""Cures that need the program's source: rows that say what to do, when, and in which lines.

They are named by findings and never run. Lines of a recording's cures are PyTorch's, those of a
kernel's are CUDA C++; names in them stand for the program's own.
"""

from __future__ import annotations

from tailwave.cures.catalogue.base import Entry

_OF_THE_STEP = (
    Entry(
        "remove-sync",
        "the host never waits for the GPU",
        "Keep what the host waits for on the GPU: torch.where instead of if, a tensor for the "
        "loss, logging every n steps; or copy it without waiting and read it a step later.",
        "A value that the host can do without, or can have later.",
        (
            "total += loss.detach()                        # instead of loss.item()",
            "x = torch.where(mask, a, b)                   # instead of if mask.any(): ...",
            'host = loss.to("cpu", non_blocking=True)      # read a step later',
        ),
    ),
    Entry(
        "gpu-preprocessing",
        "decoding and augmentation on the GPU",
        "Move decoding and augmentation to the GPU (torchvision v2, NVIDIA DALI).",
        "Preparation of a batch takes the host longer than a step takes the GPU.",
        (
            "from torchvision.transforms import v2",
            "augment = v2.Compose([v2.RandomResizedCrop(224), v2.RandomHorizontalFlip()])",
            'batch = augment(batch.to("cuda", non_blocking=True))',
        ),
    ),
    Entry(
        "free-the-gil",
        "no other Python thread holds the interpreter",
        "Move the Python work of other threads to processes, or to code that releases Python's "
        "lock, so that the thread that issues the GPU's work can run.",
        "Threads of the program run Python beside the one that issues.",
        (
            "from concurrent.futures import ProcessPoolExecutor",
            "pool = ProcessPoolExecutor()                  # instead of ThreadPoolExecutor()",
            "future = pool.submit(prepare, sample)",
        ),
    ),
    Entry(
        "prefetch-pages",
        "pages of managed memory move before they are touched",
        "Ask for managed memory where it is used next: on the GPU in the stream of the kernel, on "
        "the host before it reads; advise where it stays.",
        "Memory of cudaMallocManaged that host and GPU touch in turns.",
        (
            "cudaMemPrefetchAsync(x, bytes, device, stream);  // before the kernel that needs it",
            "cudaMemPrefetchAsync(y, bytes, cudaCpuDeviceId, stream);  // before the host reads",
            "cudaMemAdvise(w, bytes, cudaMemAdviseSetReadMostly, device);  // both sides read it",
        ),
    ),
    Entry(
        "pinned-copies",
        "memory of the GPU's own, and copies of pinned memory",
        "Keep what kernels use in cudaMalloc, what the host uses in cudaMallocHost, and copy in "
        "large pieces.",
        "It is known beforehand what the other side needs.",
        (
            "cudaMallocHost(&host, bytes);                 // instead of cudaMallocManaged",
            "cudaMalloc(&device, bytes);",
            "cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);",
        ),
    ),
    Entry(
        "split-work",
        "more, smaller pieces of the same work",
        "Make small grids larger: split-k, smaller tiles, a larger batch.",
        "A grid has fewer CTAs than the chip has SMs.",
        (
            "dim3 grid(tiles_m * tiles_n, split_k);        // K is divided among blockIdx.y",
            "int k = blockIdx.y * k_per_split;",
            "atomicAdd(&c[i], partial);                    // or a second kernel that adds up",
        ),
    ),
    Entry(
        "merge-small-grids",
        "small independent kernels at once",
        "Batch small independent kernels into one, or run them at once on several streams.",
        "Kernels that do not need each other's results follow each other, each too small.",
        (
            "out = torch.bmm(torch.stack(a), torch.stack(b))  # instead of a product for each",
            "with torch.cuda.stream(side): y = branch(x)      # or beside each other",
            "torch.cuda.current_stream().wait_stream(side)",
        ),
    ),
    Entry(
        "whole-waves",
        "a grid of whole waves",
        "Choose tiles so that the grid is a whole number of waves (split-k, stream-k).",
        "The last wave of CTAs is a small part of one, of few waves.",
        (
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, shared);",
            "int wave = per_sm * sm_count, waves = (ctas + wave - 1) / wave;",
            "float filled = float(ctas) / (waves * wave);  // of all tile sizes take the fullest",
        ),
    ),
    Entry(
        "persistent-kernel",
        "as many CTAs as fit the chip, each taking tiles",
        "Launch as many CTAs as fit the chip, each taking tiles until none is left.",
        "CTAs are many and short, or the last wave is a small part of one.",
        (
            "kernel<<<per_sm * sm_count, threads>>>(tiles);",
            "for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)",
            "    process(tile);",
        ),
    ),
    Entry(
        "whole-warps",
        "CTAs of a multiple of 32 threads",
        "Give a CTA 128 or 256 threads, and take as many fewer CTAs: each thread has one of the "
        "items that CTAs had before.",
        "CTAs have fewer threads than a warp, or a few more than some whole ones.",
        (
            "int i = blockIdx.x * blockDim.x + threadIdx.x;  // instead of blockIdx.x",
            "if (i < items) process(i);",
            "kernel<<<(items + 255) / 256, 256>>>(items);  // instead of <<<items, 1>>>",
        ),
    ),
    Entry(
        "fewer-bytes",
        "less over the link between host and GPU",
        "Copy narrow types and widen them on the GPU; keep there what is used again, and compute "
        "there what can be computed.",
        "Copies take longer than the GPU's work, at the link's full speed.",
        (
            'x = uint8.to("cuda", non_blocking=True).float()  # a quarter of the bytes',
            'table = table.to("cuda")                      # once, before the loop',
            'mask = torch.arange(n, device="cuda") < length  # made there, not copied',
        ),
    ),
)

_OF_A_KERNEL = (
    Entry(
        "balance-ctas",
        "each CTA has the same work",
        "Divide the work by what it costs and not by its number of items.",
        "Some SMs are busy long after the others, for their CTAs had more to do.",
        (
            "// first[]: where each CTA begins, by the running total of the items' cost",
            "for (int i = first[blockIdx.x]; i < first[blockIdx.x + 1]; ++i)",
            "    process(i);",
        ),
    ),
    Entry(
        "work-queue",
        "persistent CTAs that take items from a counter",
        "Let CTAs take small items from a counter until none is left.",
        "What an item costs is not known before it is done.",
        (
            "if (threadIdx.x == 0) item = atomicAdd(next, 1);  // item: in shared memory",
            "__syncthreads();",
            "if (item >= items) return;                    // else process it, and take another",
        ),
    ),
    Entry(
        "more-in-flight",
        "several loads before the first is used",
        "Load several elements before the first is used: unroll, cp.async, prefetch.",
        "Warps wait for memory, and its bandwidth is not used up.",
        (
            "float a = x[i], b = x[i + n], c = x[i + 2 * n], d = x[i + 3 * n];",
            "sum += f(a) + f(b) + f(c) + f(d);             // n: the threads of the grid",
        ),
    ),
    Entry(
        "break-chains",
        "independent chains side by side in one thread",
        "Let a thread follow several chains whose steps do not need each other.",
        "The address of each load comes from the load before it.",
        (
            "for (; p && q; p = next[p], q = next[q]) {    // two lists a thread",
            "    sum += value[p] + value[q];",
            "}",
        ),
    ),
    Entry(
        "locality",
        "what is loaded is near, and in cache",
        "Order the work, or pack the data, so that neighbours are used together.",
        "Loads are spread over more memory than the caches hold.",
        (
            "int group = blockIdx.x / (8 * tiles_m), within = blockIdx.x % (8 * tiles_m);",
            "int tile_n = group * 8 + within % 8;          // 8 columns of tiles at a time,",
            "int tile_m = within / 8;                      // so that CTAs at once share inputs",
        ),
    ),
    Entry(
        "balance-warps",
        "each warp of a CTA has the same work",
        "Deal items to the warps of a CTA in turn, or let them take from a counter.",
        "Warps wait at a barrier for the one that has most to do.",
        (
            "for (int i = threadIdx.x / 32; i < items; i += blockDim.x / 32)",
            "    process(i);                               // in turn, not in one run each",
        ),
    ),
    Entry(
        "smaller-ctas",
        "more CTAs an SM",
        "Take fewer threads a CTA, so that other CTAs run while one waits at its barrier.",
        "CTAs are large, and the algorithm does not need them so.",
        ("kernel<<<4 * ctas, 256>>>(x);                 // instead of <<<ctas, 1024>>>",),
    ),
    Entry(
        "coalesce",
        "neighbouring lanes on neighbouring words",
        "Swap loops, or transpose through shared memory.",
        "A warp's access touches more sectors than its bytes need.",
        (
            "int column = blockIdx.x * blockDim.x + threadIdx.x;  // the fastest index",
            "float v = x[row * width + column];            // instead of x[column * height + row]",
        ),
    ),
    Entry(
        "structure-of-arrays",
        "fields apart instead of records",
        "Keep each field in an array of its own.",
        "A kernel reads some fields of each record.",
        (
            "struct Particles { float *x, *y, *z, *mass; };  // instead of Particle[]",
            "float m = particles.mass[i];",
        ),
    ),
    Entry(
        "split-kernel",
        "two kernels instead of a wait within one",
        "Let two kernels, or two nodes of a graph, order themselves without polling.",
        "CTAs poll a flag that other CTAs of the kernel set.",
        (
            "produce<<<grid, threads, 0, stream>>>(x);",
            "consume<<<grid, threads, 0, stream>>>(x);     // begins when all of it is there",
        ),
    ),
    Entry(
        "fewer-pollers",
        "one thread a CTA polls, and sleeps between",
        "Let one thread of a CTA read the flag, with a pause between two reads.",
        "The wait within a kernel has to stay.",
        (
            "cuda::atomic_ref<int, cuda::thread_scope_device> flag(*ready);",
            "if (threadIdx.x == 0) while (!flag.load()) __nanosleep(100);",
            "__syncthreads();",
        ),
    ),
    Entry(
        "block-size",
        "a CTA of whole warps that divide the SM's",
        "Choose the threads of a CTA by what an SM can hold.",
        "The size is no multiple of 32, or so small or odd that an SM's warps are not filled.",
        (
            "int grid, threads;                            // threads is a multiple of 32",
            "cudaOccupancyMaxPotentialBlockSize(&grid, &threads, kernel);",
            "kernel<<<(n + threads - 1) / threads, threads>>>(x, n);",
        ),
    ),
    Entry(
        "sort-work",
        "lanes of a warp take the same way",
        "Sort the items by the way that they take.",
        "Lanes of a warp branch apart by what their items are.",
        (
            "thrust::sort_by_key(kind, kind + n, item);    // once, before the kernel",
            "process(kind[i], item[i]);",
        ),
    ),
    Entry(
        "warp-per-item",
        "a warp together on one item",
        "Give an item to a warp instead of a lane.",
        "Items are of very different length.",
        (
            "int item = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;",
            "for (int j = begin[item] + lane; j < end[item]; j += 32) sum += x[j];",
            "sum = cg::reduce(warp, sum, cg::plus<float>());",
        ),
    ),
    Entry(
        "fewer-registers",
        "fewer registers a thread",
        "Tell the compiler how many CTAs an SM should hold; look for spills after.",
        "Registers are what limits the warps of an SM.",
        (
            "__global__ void __launch_bounds__(256, 4) kernel(float *x);  // threads, CTAs an SM",
            "nvcc -maxrregcount=64 -Xptxas -v kernel.cu    # or for the whole file",
        ),
    ),
    Entry(
        "less-shared",
        "less shared memory a CTA",
        "Take smaller tiles, or fewer stages of a pipeline.",
        "Shared memory is what limits the warps of an SM.",
        (
            "constexpr int kStages = 2;                    // instead of 4",
            "__shared__ float tile[kStages][64][64];",
        ),
    ),
    Entry(
        "fewer-barriers",
        "fewer barriers a CTA",
        "Use one named barrier again instead of one for each purpose.",
        "Barriers are what limits the CTAs of an SM.",
        (
            "__syncthreads();                              // barrier 0, for all phases",
            'asm volatile("bar.sync 1, 128;");             // one more, for 4 warps, used again',
        ),
    ),
    Entry(
        "more-ctas",
        "a grid with more CTAs",
        "Split the work further, so that each SM has several CTAs.",
        "The grid is what limits the warps of an SM.",
        (
            "constexpr int kPerThread = 1;                 // instead of 4",
            "kernel<<<(n + threads * kPerThread - 1) / (threads * kPerThread), threads>>>(x, n);",
        ),
    ),
    Entry(
        "more-ilp",
        "several independent elements a thread",
        "Let a thread work on several elements that do not need each other.",
        "More warps do not fit, and schedulers idle.",
        (
            "#pragma unroll",
            "for (int k = 0; k < 4; ++k)                   // n: the threads of the grid",
            "    y[i + k * n] = f(x[i + k * n]);",
        ),
    ),
    Entry(
        "locality-domains",
        "memory and SMs of one L2 partition together",
        "Give the SMs of each partition of the L2 the data that lies in its memory.",
        "A chip whose L2 has two partitions, CUDA 13.4 or later, data that can be divided.",
        (
            "from flashinfer.green_ctx import split_device_green_ctx_by_locality_domain",
            "streams, _ = split_device_green_ctx_by_locality_domain(...)",
            "with torch.cuda.stream(streams[0]): first = model(first_half)",
        ),
    ),
    Entry(
        "reuse-in-sm",
        "tiles in shared memory instead of the L2",
        "Keep what is read again in shared memory, or in a cluster's distributed shared memory.",
        "CTAs read the same lines of the L2 over and over.",
        (
            "__shared__ float tile[32][33];",
            "tile[threadIdx.y][threadIdx.x] = x[row * width + column];",
            "__syncthreads();                              // from here on read the tile",
        ),
    ),
    Entry(
        "pad-shared",
        "rows of shared memory one word longer",
        "Make a row 33 words instead of 32, so that a column lies in different banks.",
        "Lanes of a warp read a column.",
        ("__shared__ float tile[32][33];                // instead of [32][32]",),
    ),
    Entry(
        "swizzle",
        "columns exchanged by an XOR with the row",
        "Store a column under its XOR with the row.",
        "Padding costs too much shared memory, or breaks alignment.",
        (
            "__shared__ float tile[32][32];",
            "tile[row][column ^ row] = v;                  // and so for each read",
        ),
    ),
    Entry(
        "aggregate-atomics",
        "one atomic a warp or CTA",
        "Add up within the warp or the CTA first.",
        "Many threads add to the same few addresses.",
        (
            "int sum = cg::reduce(warp, value, cg::plus<int>());",
            "if (warp.thread_rank() == 0) atomicAdd(counter, sum);",
        ),
    ),
    Entry(
        "privatise",
        "several copies of what is added to",
        "Give each CTA a copy in shared memory, and add the copies up at the end.",
        "The addresses are more than a warp can reduce and few enough for copies.",
        (
            "__shared__ int bins[256];                     // cleared, then one barrier",
            "atomicAdd(&bins[key], 1); __syncthreads();",
            "atomicAdd(&total[threadIdx.x], bins[threadIdx.x]);",
        ),
    ),
)

ADVICE: tuple[Entry, ...] = (*_OF_THE_STEP, *_OF_A_KERNEL)

/* A CUPTI that records a GPU which is not there: built by the tests, loaded by the hook.

   Each call of fake_launch is one launch: two of the driver's calls, of which the first only asks
   for the context, and a kernel of 1 us, 2 us after them; fake_range is one NVTX range. The records
   have the sizes and offsets of CUPTI 13.0. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef void (*requested_t)(uint8_t **, size_t *, size_t *);
typedef void (*completed_t)(void *, uint32_t, uint8_t *, size_t, size_t);

static requested_t request;
static completed_t complete;
static uint8_t *buffer;
static size_t size, used;
static uint64_t now = 1000000;
static uint32_t correlation;
static uint8_t kinds[64], silent[64];
static const char *KERNEL = "_Z4fakePfi", *RANGE = "epoch";

static const size_t SIZES[64] = {[1] = 96, [2] = 88, [4] = 40, [10] = 216,
                                 [12] = 56, [36] = 56, [38] = 56};

static void hand_over(void) {
  if (buffer && used) complete(NULL, 0, buffer, size, used);
  buffer = NULL;
  used = 0;
}

static uint8_t *record(uint32_t kind) {
  size_t most;
  static uint8_t nowhere[256];
  if (!kinds[kind]) return nowhere;
  if (buffer && used + SIZES[kind] > size) hand_over();
  if (!buffer) request(&buffer, &size, &most);
  uint8_t *at = buffer + used;
  memset(at, 0, SIZES[kind]);
  memcpy(at, &kind, 4);
  used += SIZES[kind];
  return at;
}

static void put32(uint8_t *at, size_t offset, uint32_t value) { memcpy(at + offset, &value, 4); }
static void put64(uint8_t *at, size_t offset, uint64_t value) { memcpy(at + offset, &value, 8); }

static void call(uint32_t number) {
  if (!kinds[4] || silent[number]) return;
  uint8_t *call = record(4);
  put32(call, 4, number);
  put64(call, 8, now);
  put64(call, 16, now + 500);
  put32(call, 24, 1);
  put32(call, 28, 77);
  put32(call, 32, correlation);
}

void fake_launch(void) {
  correlation++;
  call(6);
  call(7);
  uint8_t *kernel = record(10);
  kernel[6] = 24;
  put64(kernel, 16, now + 2000);
  put64(kernel, 24, now + 3000);
  put32(kernel, 44, 1);
  put32(kernel, 48, 7);
  for (size_t side = 52; side < 76; side += 4) put32(kernel, side, 2);
  put32(kernel, 76, 16);
  put32(kernel, 80, 32);
  put32(kernel, 92, correlation);
  put64(kernel, 104, (uint64_t)KERNEL);
  now += 10000;
}

void fake_other_kernel(void) { KERNEL = "other"; }

void fake_range(void) {
  uint8_t *begin = record(12);
  put32(begin, 4, 2);
  put64(begin, 8, now);
  put32(begin, 16, 1);
  put32(begin, 20, 2);
  put32(begin, 28, 77);
  put64(begin, 40, (uint64_t)RANGE);
  now += 1000;
  uint8_t *end = record(12);
  put32(end, 4, 4);
  put64(end, 8, now);
  put32(end, 16, 1);
}

int cuptiGetVersion(uint32_t *version) { *version = 130001; return 0; }
int cuptiGetTimestamp(uint64_t *time) { *time = now; return 0; }
int cuptiSetThreadIdType(int type) { return type != 1; }
int cuptiActivitySetAttribute(int a, size_t *s, void *v) { (void)a; (void)s; (void)v; return 0; }
int cuptiActivityRegisterCallbacks(requested_t r, completed_t c) { request = r; complete = c; return 0; }
int cuptiActivityEnable(int kind) {
  if (getenv("FAKE_CUPTI_REFUSES")) return 35;
  kinds[kind] = 1;
  return 0;
}
int cuptiActivityEnableDriverApi(uint32_t number, uint8_t on) { silent[number] = !on; return 0; }
int cuptiActivityFlushPeriod(uint32_t each) { (void)each; return 0; }
int cuptiActivityFlushAll(uint32_t flag) { (void)flag; hand_over(); return 0; }
int cuptiActivityGetNumDroppedRecords(void *c, uint32_t s, size_t *n) { (void)c; (void)s; *n = 0; return 0; }
int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, uint8_t **found) {
  uint32_t kind;
  uint8_t *next = from;
  if (*found) {
    memcpy(&kind, *found, 4);
    next = *found + SIZES[kind];
  }
  if (next >= from + valid) return 12;
  *found = next;
  return 0;
}
int cuptiGetCallbackName(uint32_t domain, uint32_t number, const char **name) {
  static const char *NAMES[] = {"INVALID", "cuCtxGetCurrent", "cuLaunchKernel", "cuEventRecord"};
  if (domain != 1 || number < 5 || number > 8) return 1;
  *name = NAMES[number - 5];
  return 0;
}
int cuptiGetResultString(int code, const char **text) {
  *text = code == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return 0;
}

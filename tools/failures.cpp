// Library for LD_PRELOAD (see failures.py) that injects failures of memory and threads.
//
// Only allocations of dics._core itself are counted and fail, because failures of other
// libraries are not under test.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Module {
    const char* name = nullptr;
    std::uintptr_t begin = 0, end = 0;
};

Module module;
std::atomic<long> n_allocations{0};
std::atomic<long> first_failure{-1};  // -1: none
std::atomic<bool> rest_fails{false}, threads_fail{false};

int find_module(dl_phdr_info* info, std::size_t, void*) {
    if (!std::strstr(info->dlpi_name, module.name))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
            continue;
        module.begin = info->dlpi_addr + segment.p_vaddr;
        module.end = module.begin + segment.p_memsz;
    }
    return 1;
}

bool must_fail(const void* caller) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    if (address < module.begin || address >= module.end)
        return false;
    const long number = n_allocations.fetch_add(1), first = first_failure.load();
    return first >= 0 && (rest_fails.load() ? number >= first : number == first);
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
    if (must_fail(caller))
        return nullptr;
    size = size == 0 ? 1 : size;
    if (alignment == 0)
        return std::malloc(size);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment, const void* caller) {
    void* space = allocate(size, alignment, caller);
    if (!space)
        throw std::bad_alloc();
    return space;
}

}  // namespace

#define CALLER __builtin_return_address(0)

// operator delete of the C++ library calls free, so malloc is right here.
void* operator new(std::size_t size) { return allocate_or_throw(size, 0, CALLER); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, 0, CALLER); }
void* operator new(std::size_t size, std::align_val_t align) {
    return allocate_or_throw(size, static_cast<std::size_t>(align), CALLER);
}
void* operator new[](std::size_t size, std::align_val_t align) {
    return allocate_or_throw(size, static_cast<std::size_t>(align), CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, 0, CALLER);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, 0, CALLER);
}

extern "C" {

// Finds a loaded library by its name; returns 0 if it is not loaded.
int failures_watch(const char* name) {
    module.name = name;
    return dl_iterate_phdr(find_module, nullptr);
}

// From now on, allocation `first` fails (-1: none), with `rest` also those after it, and
// with `threads` every new thread. Returns the number of allocations since the last call.
long failures_set(long first, int rest, int threads) {
    rest_fails = rest != 0;
    threads_fail = threads != 0;
    first_failure = first;
    return n_allocations.exchange(0);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*start)(void*), void* argument) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create =
        reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return threads_fail ? EAGAIN : create(thread, attributes, start, argument);
}
}

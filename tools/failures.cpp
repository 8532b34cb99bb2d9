// Preloaded into Python (see failures.py): memory and threads fail when asked to.
//
// Only what dics._core allocates itself is counted and refused; other libraries have
// failures of their own.
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
std::atomic<long> first_refused{-1};  // -1: none
std::atomic<bool> refuses_rest{false}, refuses_threads{false};

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

bool is_refused(const void* caller) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    if (address < module.begin || address >= module.end)
        return false;
    const long number = n_allocations.fetch_add(1), first = first_refused.load();
    return first >= 0 && (refuses_rest.load() ? number >= first : number == first);
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
    if (is_refused(caller))
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

// The library's operator delete frees what malloc has given.
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

// Looks for a loaded library; false if there is none of that name.
int failures_watch(const char* name) {
    module.name = name;
    return dl_iterate_phdr(find_module, nullptr);
}

// From now on: refuses allocation number `first` (-1: none), and those after it if
// `rest`; and all new threads if `threads`. Returns how many allocations there were.
long failures_set(long first, int rest, int threads) {
    refuses_rest = rest != 0;
    refuses_threads = threads != 0;
    first_refused = first;
    return n_allocations.exchange(0);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*start)(void*), void* argument) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create =
        reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return refuses_threads ? EAGAIN : create(thread, attributes, start, argument);
}
}

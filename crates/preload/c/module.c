/*
 * Which module (program or shared object) an address belongs to. In C, since only the C library's headers know where a
 * link map has its fields, and whether there is _dl_find_object (glibc 2.35), which takes no lock and is quick.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

/* src/module.rs, `Found`, keeps the same order. */
struct turnwise_module {
    /* What is added to the file's addresses. */
    uintptr_t base;
    /* Where the first segment lies: the ELF header, unless the linker left it out. */
    uintptr_t start, end;
    /* Empty for the program itself. */
    const char *name;
};

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

#ifdef DLFO_STRUCT_HAS_EH_DBASE

static int find(uintptr_t address, struct turnwise_module *found)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)address, &object) != 0)
        return 0;
    found->base = object.dlfo_link_map->l_addr;
    found->start = (uintptr_t)object.dlfo_map_start;
    found->end = (uintptr_t)object.dlfo_map_end;
    found->name = object.dlfo_link_map->l_name;
    return 1;
}

#else

struct search {
    uintptr_t address;
    struct turnwise_module *found;
};

static int look(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    uintptr_t start = UINTPTR_MAX, end = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD)
            continue;
        uintptr_t first = info->dlpi_addr + (p->p_vaddr & -p->p_align);
        uintptr_t last = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        start = first < start ? first : start;
        end = last > end ? last : end;
    }
    if (search->address < start || search->address >= end)
        return 0;
    *search->found = (struct turnwise_module){info->dlpi_addr, start, end, info->dlpi_name};
    return 1;
}

static int find(uintptr_t address, struct turnwise_module *found)
{
    struct search search = {address, found};
    return dl_iterate_phdr(look, &search);
}

#endif

/* Whether there is such a module, other than this library. */
int turnwise_find_module(uintptr_t address, struct turnwise_module *found)
{
    return find(address, found) && found->start != (uintptr_t)__ehdr_start;
}

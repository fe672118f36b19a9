// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Slab and page allocator events. */
#include "emit.h"
#include "names.h"

#define FILL_SIZES(r, ctx)                                \
	do {                                              \
		struct alloc_sizes s_ = alloc_sizes(ctx); \
                                                          \
		(r).bytes_req = s_.req;                   \
		(r).bytes_alloc = s_.alloc;               \
		(r).gfp_flags = s_.gfp;                   \
	} while (0)

/* kmalloc(call_site, ptr, bytes_req, bytes_alloc, gfp_flags, node) */
FILL(kmalloc)
{
	r->call_site = ctx[0];
	r->ptr = ctx[1];
	FILL_SIZES(*r, ctx);
	r->node = features.kmalloc_has_node ? (s32)ctx[5] : -1;
}

EVENT_PROGRAM(kmalloc)
{
	return RECORD(kmalloc, node, hit_matches(EVENT_kmalloc));
}

/* kfree(call_site, ptr) */
FILL(kfree)
{
	r->call_site = ctx[0];
	r->ptr = ctx[1];
}

EVENT_PROGRAM(kfree)
{
	return RECORD(kfree, ptr, hit_matches(EVENT_kfree));
}

/* kmem_cache_alloc(call_site, ptr, struct kmem_cache *, gfp_flags, node); before
 * 6.1 (call_site, ptr, bytes_req, bytes_alloc, gfp_flags) */
FILL(kmem_cache_alloc)
{
	r->call_site = ctx[0];
	r->ptr = ctx[1];
	if (features.cache_alloc_is_cache) {
		struct kmem_cache *cache = (void *)ctx[2];

		r->name = name_of_cache(cache);
		r->bytes_req = READ(cache, object_size);
		r->bytes_alloc = READ(cache, size);
		r->gfp_flags = ctx[3];
		r->node = ctx[4];
	} else {
		r->name = features.alloc_has_extra_cache ? name_of_cache((void *)ctx[2]) : 0;
		FILL_SIZES(*r, ctx);
		r->node = -1;
	}
}

EVENT_PROGRAM(kmem_cache_alloc)
{
	return RECORD(kmem_cache_alloc, node, hit_matches(EVENT_kmem_cache_alloc));
}

/* kmem_cache_free(call_site, ptr, const struct kmem_cache *); see enum cache_free_arg */
FILL(kmem_cache_free)
{
	r->call_site = ctx[0];
	r->ptr = ctx[1];
	if (features.cache_free_arg == CACHE_FREE_CACHE)
		r->name = name_of_cache((void *)ctx[2]);
	else if (features.cache_free_arg == CACHE_FREE_NAME)
		r->name = name_at((const char *)ctx[2], ctx[2]);
	else
		r->name = 0;
}

EVENT_PROGRAM(kmem_cache_free)
{
	return RECORD(kmem_cache_free, name, hit_matches(EVENT_kmem_cache_free));
}

/* mm_page_alloc(page, order, gfp_flags, migratetype); page is NULL when it failed */
FILL(mm_page_alloc)
{
	r->page = ctx[0];
	r->order = ctx[1];
	r->gfp_flags = ctx[2];
	r->migratetype = ctx[3];
}

EVENT_PROGRAM(mm_page_alloc)
{
	return RECORD(mm_page_alloc, migratetype, hit_matches(EVENT_mm_page_alloc));
}

/* mm_page_free(page, order) */
FILL(mm_page_free)
{
	r->page = ctx[0];
	r->order = ctx[1];
}

EVENT_PROGRAM(mm_page_free)
{
	return RECORD(mm_page_free, order, hit_matches(EVENT_mm_page_free));
}

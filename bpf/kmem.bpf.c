// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Slab and page allocator events. */
#include "emit.h"
#include "names.h"

/* kmalloc(call_site, ptr, bytes_req, bytes_alloc, gfp_flags, node) */
EVENT_PROGRAM(kmalloc)
{
	struct rec_kmalloc r = {};

	if (!hit_wanted(EVENT_kmalloc))
		return 0;
	r.call_site = ctx[0];
	r.ptr = ctx[1];
	r.bytes_req = alloc_arg(ctx, 2);
	r.bytes_alloc = alloc_arg(ctx, 3);
	r.gfp_flags = alloc_arg(ctx, 4);
	r.node = features.kmalloc_has_node ? (s32)ctx[5] : -1;
	return EMIT(kmalloc, &r);
}

/* kfree(call_site, ptr) */
EVENT_PROGRAM(kfree)
{
	struct rec_kfree r = {};

	if (!hit_wanted(EVENT_kfree))
		return 0;
	r.call_site = ctx[0];
	r.ptr = ctx[1];
	return EMIT(kfree, &r);
}

/* kmem_cache_alloc(call_site, ptr, struct kmem_cache *, gfp_flags, node); before
 * 6.1 (call_site, ptr, bytes_req, bytes_alloc, gfp_flags) */
EVENT_PROGRAM(kmem_cache_alloc)
{
	struct rec_kmem_cache_alloc r = {};

	if (!hit_wanted(EVENT_kmem_cache_alloc))
		return 0;
	r.call_site = ctx[0];
	r.ptr = ctx[1];
	if (features.cache_alloc_is_cache) {
		struct kmem_cache *cache = (void *)ctx[2];

		r.name = name_of_cache(cache);
		r.bytes_req = READ(cache, object_size);
		r.bytes_alloc = READ(cache, size);
		r.gfp_flags = ctx[3];
		r.node = ctx[4];
	} else {
		if (features.alloc_has_extra_cache)
			r.name = name_of_cache((void *)ctx[2]);
		r.bytes_req = alloc_arg(ctx, 2);
		r.bytes_alloc = alloc_arg(ctx, 3);
		r.gfp_flags = alloc_arg(ctx, 4);
		r.node = -1;
	}
	return EMIT(kmem_cache_alloc, &r);
}

/* kmem_cache_free(call_site, ptr, const struct kmem_cache *); see enum cache_free_arg */
EVENT_PROGRAM(kmem_cache_free)
{
	struct rec_kmem_cache_free r = {};

	if (!hit_wanted(EVENT_kmem_cache_free))
		return 0;
	r.call_site = ctx[0];
	r.ptr = ctx[1];
	if (features.cache_free_arg == CACHE_FREE_CACHE)
		r.name = name_of_cache((void *)ctx[2]);
	else if (features.cache_free_arg == CACHE_FREE_NAME)
		r.name = name_at((const char *)ctx[2], ctx[2]);
	return EMIT(kmem_cache_free, &r);
}

/* mm_page_alloc(page, order, gfp_flags, migratetype); page is NULL when it failed */
EVENT_PROGRAM(mm_page_alloc)
{
	struct rec_mm_page_alloc r = {};

	if (!hit_wanted(EVENT_mm_page_alloc))
		return 0;
	r.page = ctx[0];
	r.order = ctx[1];
	r.gfp_flags = ctx[2];
	r.migratetype = ctx[3];
	return EMIT(mm_page_alloc, &r);
}

/* mm_page_free(page, order) */
EVENT_PROGRAM(mm_page_free)
{
	struct rec_mm_page_free r = {};

	if (!hit_wanted(EVENT_mm_page_free))
		return 0;
	r.page = ctx[0];
	r.order = ctx[1];
	return EMIT(mm_page_free, &r);
}

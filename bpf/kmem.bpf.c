// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Slab and page allocator events. */
#include "catcher.h"
#include "names.h"

/* kmalloc(call_site, ptr, bytes_req, bytes_alloc, gfp_flags, node) */
CAUGHT_EVENT(kmalloc, 1, OF_CURRENT, struct rec_kmalloc *r, const struct hit *hit)
{
	struct alloc_sizes sizes;

	/* The node first: it may take a call, and no other value must outlive that. */
	r->page_node = node_of_address(hit->args[1]);
	sizes = alloc_sizes(hit->args);
	r->call_site = hit->args[0];
	r->ptr = hit->args[1];
	r->bytes_req = sizes.req;
	r->bytes_alloc = sizes.alloc;
	r->gfp_flags = sizes.gfp;
	r->node = features.kmalloc_has_node ? (node_t)hit->args[5] : -1;
}

/* kfree(call_site, ptr) */
CAUGHT_EVENT(kfree, 1, OF_CURRENT, struct rec_kfree *r, const struct hit *hit)
{
	r->call_site = hit->args[0];
	r->ptr = hit->args[1];
}

/* kmem_cache_alloc(call_site, ptr, struct kmem_cache *, gfp_flags, node); before
 * 6.1 (call_site, ptr, bytes_req, bytes_alloc, gfp_flags) */
CAUGHT_EVENT(kmem_cache_alloc, 1, OF_CURRENT, struct rec_kmem_cache_alloc *r, const struct hit *hit)
{
	struct kmem_cache *cache = (void *)hit->args[2];

	/* The node and the name first: they may take calls, and no other value must outlive
	 * these. */
	r->page_node = node_of_address(hit->args[1]);
	if (features.cache_alloc_is_cache) {
		r->name = name_of_cache(cache);
		r->bytes_req = READ(cache, object_size);
		r->bytes_alloc = READ(cache, size);
		r->gfp_flags = hit->args[3];
		r->node = hit->args[4];
	} else {
		struct alloc_sizes sizes = alloc_sizes(hit->args);

		r->name = features.alloc_has_extra_cache ? name_of_cache(cache) : 0;
		r->bytes_req = sizes.req;
		r->bytes_alloc = sizes.alloc;
		r->gfp_flags = sizes.gfp;
		r->node = -1;
	}
	r->call_site = hit->args[0];
	r->ptr = hit->args[1];
}

/* kmem_cache_free(call_site, ptr, const struct kmem_cache *); see enum cache_free_arg */
CAUGHT_EVENT(kmem_cache_free, 1, OF_CURRENT, struct rec_kmem_cache_free *r, const struct hit *hit)
{
	if (features.cache_free_arg == CACHE_FREE_CACHE)
		r->name = name_of_cache((void *)hit->args[2]);
	else if (features.cache_free_arg == CACHE_FREE_NAME)
		r->name = name_at((const char *)hit->args[2], hit->args[2]);
	else
		r->name = 0;
	r->call_site = hit->args[0];
	r->ptr = hit->args[1];
}

/* mm_page_alloc(page, order, gfp_flags, migratetype); page is NULL when it failed */
CAUGHT_EVENT(mm_page_alloc, 0, OF_CURRENT, struct rec_mm_page_alloc *r, const struct hit *hit)
{
	r->page_node = node_of_page(hit->args[0]);
	r->page = hit->args[0];
	r->order = hit->args[1];
	r->gfp_flags = hit->args[2];
	r->migratetype = hit->args[3];
}

/* mm_page_free(page, order) */
CAUGHT_EVENT(mm_page_free, 0, OF_CURRENT, struct rec_mm_page_free *r, const struct hit *hit)
{
	r->page = hit->args[0];
	r->order = hit->args[1];
}

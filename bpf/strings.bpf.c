// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The strings that system calls get: paths, names, and the addresses of sockets.
 *
 * A program here cannot wait until a page is read from disk, so some strings cannot be
 * read when the call begins. The kernel reads them itself during the call. They are read
 * again when it returns, and recorded as another event, because they may have changed.
 */
#include "catcher.h"
#include "syscall.h"

enum {
	/* Room for the text in a record: one byte more than is kept shows that it is cut, and
	 * then the NUL. A multiple of 8. */
	TEXT_ROOM = 264,
	TEXT_AT = __builtin_offsetof(struct rec_sys_enter_string, text),
	RAW_ADDRESS_AT = 128, /* in the text: the address of a socket before it is formatted */
	RAW_ADDRESS_MAX = 32, /* of the families that are formatted: sizeof(struct sockaddr_in6) is 28 */
	VALUES_AT =
		RAW_ADDRESS_AT + RAW_ADDRESS_MAX, /* in the text: what is formatted; the stack has no room */
	VALUES_MAX = 3,
	UNIX_PATH_MAX = 108, /* sizeof(sockaddr_un.sun_path) */
	INET_SIZE = 8,       /* of a sockaddr_in, up to the end of the address */
	INET6_SIZE = 24,     /* of a sockaddr_in6, up to the end of the address */
	AF_UNIX = 1,
	AF_INET = 2,
	AF_INET6 = 10,
	UNREAD_MAX = 1024,
};

_Static_assert(TEXT_AT == __builtin_offsetof(struct rec_sys_exit_string, text),
	       "both events have the same fields");
_Static_assert(TEXT_AT % 8 == 0 && STRING_MAX + 2 <= TEXT_ROOM, "the text fits and is aligned");
_Static_assert(VALUES_AT % 8 == 0 && VALUES_AT + VALUES_MAX * 8 <= TEXT_ROOM, "the values fit and are aligned");

const char inet_format[] SEC(".rodata.inet_format") = "%pI4:%u";
const char inet6_format[] SEC(".rodata.inet6_format") = "[%pI6]:%u";
const char inet6_zone_format[] SEC(".rodata.inet6_zone_format") = "[%pI6%%%u]:%u";
const char family_format[] SEC(".rodata.family_format") = "family %u";

/* A call that has begun, with strings that could not be read. */
struct unread_call {
	u64 pointers[STRING_ARGS];
	u32 nr;
	u32 strings; /* bits as in enum string_args */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, UNREAD_MAX);
	__type(key, u32); /* tid */
	__type(value, struct unread_call);
} unread_strings SEC(".maps");

/* One of the two events, with the room for its text. */
union string_record {
	struct record h;
	struct rec_sys_enter_string entered;
	struct rec_sys_exit_string returned;
	struct {
		u8 head[TEXT_AT];
		char text[TEXT_ROOM];
	};
};

static __always_inline u32 strings_of_call(u32 abi, u32 nr)
{
	nr &= ~X32_SYSCALL_BIT;
	barrier_var(nr); /* the verifier must see the bound on the value that is used */
	return abi < SYSCALL_ABIS && nr < SYSCALL_MAX ? control.string_args[abi][nr] : 0;
}

/* Both return the bytes of the text without its NUL; negative if it cannot be read. */
static __always_inline long read_string(union string_record *r, u64 pointer)
{
	long length = bpf_probe_read_user_str(r->text, STRING_MAX + 2, (void *)pointer);

	if (length < 0)
		return -1;
	if (length > 0) /* some kernels do not count the NUL of an empty string */
		length--;
	if (length > STRING_MAX) {
		r->entered.cut = 1;
		length = STRING_MAX;
		r->text[STRING_MAX] = 0;
	}
	return length;
}

/* The path. Of an abstract address, whose first byte is a NUL, all bytes, with an @ for each NUL. */
static __always_inline long read_unix_path(union string_record *r, u64 pointer, u32 size)
{
	u32 room = size - sizeof(u16);
	long length;

	if (room == 0)
		return 0;
	if (room > UNIX_PATH_MAX)
		room = UNIX_PATH_MAX;
	barrier_var(room);
	if (room > UNIX_PATH_MAX || bpf_probe_read_user(r->text, 1, (void *)pointer))
		return -1;
	if (r->text[0]) {
		length = bpf_probe_read_user_str(r->text, room + 1, (void *)pointer);
		return length > 0 ? length - 1 : -1;
	}
	if (room == 1)
		return 0;
	if (bpf_probe_read_user(r->text, room, (void *)pointer))
		return -1;
	for (u32 i = 0; i < UNIX_PATH_MAX && i < room; i++)
		if (!r->text[i])
			r->text[i] = '@';
	return room;
}

static __always_inline long read_address(union string_record *r, u64 pointer, u32 size)
{
	u8 *raw = (u8 *)r->text + RAW_ADDRESS_AT;
	u64 *values = (u64 *)(r->text + VALUES_AT);
	long length;
	u16 family;

	if (size < sizeof(u16))
		return 0;
	if (bpf_probe_read_user(&family, sizeof(family), (void *)pointer))
		return -1;
	if (family == AF_UNIX)
		return read_unix_path(r, pointer + sizeof(u16), size);
	if (size > RAW_ADDRESS_MAX)
		size = RAW_ADDRESS_MAX;
	barrier_var(size);
	if (size > RAW_ADDRESS_MAX || bpf_probe_read_user(raw, size, (void *)pointer))
		return -1;
	values[1] = raw[2] << 8 | raw[3]; /* the port */
	if (family == AF_INET && size >= INET_SIZE) {
		values[0] = (u64)(raw + 4);
		length = bpf_snprintf(r->text, RAW_ADDRESS_AT, inet_format, values, 2 * sizeof(u64));
	} else if (family == AF_INET6 && size >= INET6_SIZE) {
		/* The kernel ignores it if the address ends before its end. */
		u32 zone = size >= INET6_SIZE + sizeof(u32) ? *(u32 *)(raw + INET6_SIZE) : 0;

		values[0] = (u64)(raw + 8);
		if (zone) {
			values[2] = values[1];
			values[1] = zone;
			length = bpf_snprintf(r->text, RAW_ADDRESS_AT, inet6_zone_format, values,
					      3 * sizeof(u64));
		} else {
			length = bpf_snprintf(r->text, RAW_ADDRESS_AT, inet6_format, values, 2 * sizeof(u64));
		}
	} else {
		values[0] = family;
		length = bpf_snprintf(r->text, RAW_ADDRESS_AT, family_format, values, sizeof(u64));
	}
	__builtin_memset(raw, 0, RAW_ADDRESS_MAX + VALUES_MAX * sizeof(u64));
	return length > 0 ? length - 1 : -1;
}

/* What a record is about. One u64: a global function takes at most five arguments, all of
 * them scalars. */
union string_place {
	u64 word;
	struct {
		u16 nr; /* without X32_SYSCALL_BIT: below SYSCALL_MAX */
		u8 abi;
		u8 arg;
		u16 event;
		u16 reserved;
	};
};

static __always_inline u32 emit_string(union string_record *r, u64 pointer, u64 word, long length, u32 sessions)
{
	union string_place place = { .word = word };
	u32 unreadable = length < 0, event = place.event, size;

	if (unreadable)
		length = 0;
	r->entered.pointer = pointer;
	r->entered.nr = place.nr | (place.abi == ABI_X32 ? X32_SYSCALL_BIT : 0);
	r->entered.abi = place.abi;
	r->entered.arg = place.arg;
	r->entered.length = length;
	r->entered.unreadable = unreadable;
	size = (TEXT_AT + (u32)length + 1 + 7) & ~7U;
	barrier_var(size);  /* the verifier must see the bound on the value that is used */
	barrier_var(event); /* the verifier must see the bound on the value that is used */
	if (size <= sizeof(*r))
		emit(&r->h, event, size, sessions);
	return unreadable;
}

/* These record an argument, and return 1 if it could not be read. They are functions of
 * their own for the stack, and global ones because the verifier checks those once, not at
 * each call. */
__noinline u32 record_string(u64 pointer, u64 place, u32 sessions)
{
	union string_record r = {};
	long length = read_string(&r, pointer);

	return emit_string(&r, pointer, place, length, sessions);
}

__noinline u32 record_address(u64 pointer, u32 size, u64 place, u32 sessions)
{
	union string_record r = {};
	long length = read_address(&r, pointer, size);

	return emit_string(&r, pointer, place, length, sessions);
}

static __always_inline u64 string_place(u32 event, u32 abi, u32 nr, u32 arg)
{
	union string_place place = { .nr = nr & ~X32_SYSCALL_BIT, .abi = abi, .arg = arg, .event = event };

	return place.word;
}

/* Drops what an earlier call of this thread has left, whose return was missed. */
static __always_inline void drop_unread(u32 tid)
{
	if (!bpf_map_delete_elem(&unread_strings, &tid))
		__sync_fetch_and_sub(&control.unread_strings, 1);
}

static __always_inline u64 argument(const struct pt_regs *regs, u32 abi, u32 arg)
{
	hex_t args[6];

	read_args(args, regs, abi);
	return args[arg];
}

/* Nothing, if no session records the event of the return. */
static __noinline int note_unread(const u64 *ctx, u32 abi, u32 nr, u32 strings)
{
	const struct pt_regs *regs = TYPED_ARGUMENT(ctx, 0, struct pt_regs);
	struct unread_call call = { .nr = nr, .strings = strings };
	u32 tid = current_task()->pid;
	hex_t args[6];

	if (!(control.event_ways[EVENT_sys_exit_string] & WAY_SESSIONS))
		return 0;
	read_args(args, regs, abi);
	__builtin_memcpy(call.pointers, args, sizeof(call.pointers));
	if (!bpf_map_update_elem(&unread_strings, &tid, &call, BPF_ANY))
		__sync_fetch_and_add(&control.unread_strings, 1);
	return 0;
}

/* The number of the call is in the place that it has in the arguments of sys_enter. */
static __always_inline u32 matching_string(u32 sessions, struct task_struct *current, const u64 *args,
					   u32 other __attribute__((unused)))
{
	return matching_call(sessions, current, call_of(current, args[1]));
}

DECLARE_EVENT(sys_enter_string, OF_CURRENT_IF(matching_string))
DECLARE_EVENT(sys_exit_string, OF_CURRENT_IF(matching_string))

/* These count a hit. They are functions of their own, so that their stack is free again when the
 * record is built. */
__noinline u32 sessions_of_entered(u32 nr)
{
	const u64 args[] = { 0, nr };

	return sessions_of_sys_enter_string(args, current_task());
}

__noinline u32 sessions_of_returned(u32 nr)
{
	const u64 args[] = { 0, nr };

	return sessions_of_sys_exit_string(args, current_task());
}

/* Each string is a hit of its own. */
static __always_inline u32 enter_string(const u64 *ctx, u32 abi, u32 arg, bool address)
{
	const struct pt_regs *regs = TYPED_ARGUMENT(ctx, 0, struct pt_regs);
	u32 sessions = sessions_of_entered(ctx[1]);
	u64 place = string_place(EVENT_sys_enter_string, abi, ctx[1], arg);

	if (!sessions)
		return 0;
	return address ? record_address(argument(regs, abi, arg), argument(regs, abi, 2), place, sessions)
		       : record_string(argument(regs, abi, arg), place, sessions);
}

/* sys_enter(regs, nr) */
static __always_inline int run_sys_enter_string(u64 *ctx)
{
	struct task_struct *current = current_task();
	u32 abi = syscall_abi(current, ctx[1]), strings = strings_of_call(abi, ctx[1]), unread = 0;

	if (!strings)
		return 0;
	if (control.unread_strings)
		drop_unread(current->pid);
#pragma unroll
	for (u32 arg = 0; arg < STRING_ARGS; arg++)
		if (strings & 1 << arg && enter_string(ctx, abi, arg, false))
			unread |= 1 << arg;
	if (strings & STRING_ADDRESS && enter_string(ctx, abi, 1, true))
		unread |= STRING_ADDRESS;
	return unread ? note_unread(ctx, abi, ctx[1], unread) : 0;
}
DEFINE_CATCHER_AS(__always_inline, "?raw_tracepoint/sys_enter", sys_enter_string, 1)

/* Not after a successful execve(): it has replaced the registers, and the memory. */
static __always_inline void exit_string(const u64 *ctx, const struct unread_call *call, u32 abi, u32 arg,
					bool address)
{
	const struct pt_regs *regs = TYPED_ARGUMENT(ctx, 0, struct pt_regs);
	u64 pointer = call->pointers[arg], place = string_place(EVENT_sys_exit_string, abi, call->nr, arg);
	u32 sessions;

	if (argument(regs, abi, arg) != pointer)
		return;
	sessions = sessions_of_returned(call->nr);
	if (!sessions)
		return;
	if (address)
		record_address(pointer, call->pointers[2], place, sessions);
	else
		record_string(pointer, place, sessions);
}

/* sys_exit(regs, ret) */
static __always_inline int run_sys_exit_string(u64 *ctx)
{
	const struct pt_regs *regs = TYPED_ARGUMENT(ctx, 0, struct pt_regs);
	struct task_struct *current = current_task();
	u32 tid, abi, strings;
	struct unread_call *call;

	if (!control.unread_strings)
		return 0;
	tid = current->pid;
	call = bpf_map_lookup_elem(&unread_strings, &tid);
	if (!call)
		return 0;
	abi = syscall_abi(current, call->nr);
	strings = call->nr == (u32)READ(regs, orig_ax) ? call->strings : 0;
#pragma unroll
	for (u32 arg = 0; arg < STRING_ARGS; arg++)
		if (strings & 1 << arg)
			exit_string(ctx, call, abi, arg, false);
	if (strings & STRING_ADDRESS)
		exit_string(ctx, call, abi, 1, true);
	drop_unread(tid);
	return 0;
}
/* Inlined: the stack has no room for one more function. */
DEFINE_CATCHER_AS(__always_inline, "?raw_tracepoint/sys_exit", sys_exit_string, 1)

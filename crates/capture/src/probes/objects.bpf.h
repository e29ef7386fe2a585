/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * Identities: from a descriptor to the file, pipe or socket behind it, and once for each of those
 * an announcement with its path or addresses. Inode numbers are reused at once by some file
 * systems, so the key of an object mixes the inode's generation in.
 */
#ifndef TIMESINK_OBJECTS_H
#define TIMESINK_OBJECTS_H

struct ts_announced_key {
	u64 key;
	u64 device;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct ts_announced_key);
	__type(value, u32);
} announced SEC(".maps");

/* A walk from a file up to the root, across mounts. */
struct ts_walk {
	struct dentry *dentry;
	struct mount *mount;
	u32 length;
	u32 arrived;
};

/* Where something is sent on a socket that is not connected: its peer, if it has no other. */
struct ts_destination {
	u64 key; /* of the socket */
	u16 family; /* 0: none */
	u16 port;
	u8 address[16];
	u32 pad;
};

struct ts_object_work {
	struct ts_object object;
	struct ts_walk walk;
	struct ts_destination destination;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ts_object_work);
} object_scratch SEC(".maps");

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

static __always_inline u32 kind_of_mode(u16 mode)
{
	switch (mode & 0170000) {
	case 0100000:
		return TS_O_FILE;
	case 0040000:
		return TS_O_DIR;
	case 0020000:
		return TS_O_CHAR;
	case 0060000:
		return TS_O_BLOCK;
	case 0010000:
		return TS_O_PIPE;
	case 0140000:
		return TS_O_SOCKET;
	case 0:
		return TS_O_ANON;
	}
	return TS_O_OTHER;
}

static __always_inline u64 key_of(u64 inode, u32 generation)
{
	return inode ^ ((u64)generation << 32);
}

/* The file behind a descriptor, its inode and the inode's file system. */
static __always_inline bool identify_directly(struct file **slot, struct ts_identity *id)
{
	struct list_head *word = AS(list_head, slot)->next;
	struct inode *inode;
	struct file *file;

	if (!word)
		return false;
	file = AS(file, word);
	inode = file->f_inode;
	if (!inode)
		return false;
	id->key = key_of(inode->i_ino, inode->i_generation);
	id->device = inode->i_sb->s_dev;
	id->kind = kind_of_mode(inode->i_mode);
	return true;
}

static __always_inline bool identify_file(struct file *file, struct ts_identity *id)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	if (!inode)
		return false;
	id->key = key_of(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_generation));
	id->device = BPF_CORE_READ(inode, i_sb, s_dev);
	id->kind = kind_of_mode(BPF_CORE_READ(inode, i_mode));
	return true;
}

static __always_inline bool identify_by_reading(struct file **slot, struct ts_identity *id)
{
	struct file *file = NULL;

	bpf_probe_read_kernel(&file, sizeof(file), slot);
	return file && identify_file(file, id);
}

/* The address of the file, as a number: announce() takes no pointer whose type the verifier knows. */
static __always_inline u64 file_at(u64 slot)
{
	u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), (void *)slot);
	return address;
}

/* What stands behind a task's descriptor. False if nothing does. */
static __always_inline bool identify(struct task_struct *task, u64 fd, struct ts_identity *id)
{
	struct fdtable *table;
	bool found;

	task = plain(task);
	if (!task->files || fd > 0x7fffffff)
		return false;
	table = task->files->fdt;
	if (!table || fd >= table->max_fds)
		return false;
	if (bpf_ksym_exists(bpf_rdonly_cast))
		found = identify_directly(table->fd + fd, id);
	else
		found = identify_by_reading(table->fd + fd, id);
	id->slot = (u64)(table->fd + fd);
	/* All eventfds, epolls and their like share one inode: the file itself tells them apart. */
	if (found && id->kind == TS_O_ANON)
		id->key = file_at(id->slot);
	return found;
}

static __always_inline void describe_socket(struct ts_object *o, struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);

	if (!sk)
		return;
	o->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	o->sock_type = BPF_CORE_READ(socket, type);
	o->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (o->family == AF_INET) {
		*(u32 *)o->local = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
		*(u32 *)o->remote = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	} else if (o->family == AF_INET6) {
		bpf_probe_read_kernel(o->local, 16,
				      (void *)sk + bpf_core_field_offset(struct sock, __sk_common.skc_v6_rcv_saddr));
		bpf_probe_read_kernel(o->remote, 16,
				      (void *)sk + bpf_core_field_offset(struct sock, __sk_common.skc_v6_daddr));
	}
	if (o->family == AF_INET || o->family == AF_INET6) {
		o->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
		o->remote_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	} else if (o->family == AF_UNIX) {
		struct unix_sock *us = (void *)sk;
		struct sock *peer = BPF_CORE_READ(us, peer);
		struct unix_address *address = BPF_CORE_READ(us, addr);

		/* A server's accepted end has no name of its own, its peer's end has the server's. */
		if (peer) {
			o->peer = BPF_CORE_READ(peer, sk_socket, file, f_inode, i_ino);
			if (!address)
				address = BPF_CORE_READ((struct unix_sock *)peer, addr);
		}
		if (address) {
			/* struct unix_address: a count, a length, then struct sockaddr_un. */
			u32 length = BPF_CORE_READ(address, len);
			void *path = (void *)address + bpf_core_field_offset(struct unix_address, len) + 4 + 2;

			if (length > 2 && length <= 110) {
				bpf_probe_read_kernel(o->path, 108, path);
				o->path_length = length - 2;
			}
		}
	}
}

/* One step up. 1: no further. */
static long step_up(u64 index, struct ts_object_work **work)
{
	struct ts_object *o = &(*work)->object;
	struct ts_walk *w = &(*work)->walk;
	struct dentry *dentry = w->dentry;
	struct mount *mount = w->mount;
	struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
	const unsigned char *name;
	u32 length = w->length;
	bool top = dentry == parent || dentry == BPF_CORE_READ(mount, mnt.mnt_root);
	long copied;

	if (top && length) {
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount || !dentry) {
			w->arrived = true;
			return 1;
		}
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = above;
		return 0;
	}
	/* What stands in no directory (memfd, eventfd) has a name all the same, and a root has one
	 * too, which user space leaves out. */
	if (length > TS_PATH - 256)
		return 1;
	name = BPF_CORE_READ(dentry, d_name.name);
	barrier_var(length);
	copied = bpf_probe_read_kernel_str(o->path + (length & 511), 256, name);
	if (copied <= 0)
		return 1;
	w->length = length + copied;
	if (!top)
		w->dentry = parent;
	return 0;
}

/* The path, from the last component to the first. */
static __always_inline void describe_path(struct ts_object_work *work, struct file *file)
{
	struct vfsmount *vfsmount = BPF_CORE_READ(file, f_path.mnt);
	struct ts_walk *w = &work->walk;

	w->dentry = BPF_CORE_READ(file, f_path.dentry);
	w->mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
	w->length = 0;
	w->arrived = false;
	LOOP(60, 24, step_up, &work);
	work->object.truncated = !w->arrived;
	work->object.path_length = w->length;
}

#define TS_FIRST_EPHEMERAL 32768

/*
 * A socket that is not connected has the peer that it sends to. Not if that has a port as those who ask are given them: then
 * this is an answer.
 */
static __always_inline void describe_destination(struct ts_object *o, struct ts_destination *to)
{
	bool asks = to->port < TS_FIRST_EPHEMERAL && (!o->local_port || o->local_port > to->port);

	if (to->key != o->key || to->family != o->family || o->remote_port || !asks)
		return;
	__builtin_memcpy(o->remote, to->address, sizeof(o->remote));
	o->remote_port = to->port;
}

/*
 * Send an announcement. A function of its own (global, so that the verifier looks at it once and
 * not for each caller); the file comes as a number and is read with checks. Not 0 if there was no room.
 */
__attribute__((noinline)) int announce(u64 file_address, u64 key, u32 thread)
{
	struct file *file = (void *)file_address;
	u32 zero = 0;
	struct ts_object_work *work = bpf_map_lookup_elem(&object_scratch, &zero);
	struct ts_object *o;
	struct inode *inode;

	if (!work)
		return 0;
	o = &work->object;
	inode = BPF_CORE_READ(file, f_inode);
	__builtin_memset(o, 0, __builtin_offsetof(struct ts_object, path));
	head(&o->head, TS_OBJECT, thread, bpf_ktime_get_ns());
	o->key = key;
	o->inode = BPF_CORE_READ(inode, i_ino);
	o->size = BPF_CORE_READ(inode, i_size);
	o->device = BPF_CORE_READ(inode, i_sb, s_dev);
	o->rdev = BPF_CORE_READ(inode, i_rdev);
	o->mode = BPF_CORE_READ(inode, i_mode);
	bpf_probe_read_kernel_str(o->filesystem, sizeof(o->filesystem),
				  BPF_CORE_READ(inode, i_sb, s_type, name));
	if (kind_of_mode(o->mode) == TS_O_SOCKET) {
		describe_socket(o, file);
		describe_destination(o, &work->destination);
	} else {
		describe_path(work, file);
	}
	if (!has_room(TS_OBJECT) || bpf_ringbuf_output(&ring, o, sizeof(*o), BPF_RB_NO_WAKEUP)) {
		struct ts_announced_key k = { .key = key, .device = o->device };

		count_lost(TS_OBJECT, 1);
		bpf_map_delete_elem(&announced, &k);
		return -1;
	}
	return 0;
}

/* Make sure that user space knows the object behind this file; again if it may have changed (a connected socket). */
static __always_inline void make_file_known(struct ts_thread *st, struct ts_identity *id, u64 file, bool again)
{
	u64 mark = id->key ^ ((u64)id->device << 40) ^ 1;
	u32 slot = (id->key ^ (id->key >> 8)) & (TS_KNOWN - 1);
	struct ts_announced_key k = { .key = id->key, .device = id->device };
	u32 one = 1;

	if (!again) {
		if (st->known[slot] == mark)
			return;
		st->known[slot] = mark;
		if (bpf_map_lookup_elem(&announced, &k))
			return;
	}
	bpf_map_update_elem(&announced, &k, &one, BPF_ANY);
	if (announce(file, id->key, st->id))
		st->known[slot] = 0;
}

static __always_inline void make_known(struct ts_thread *st, struct ts_identity *id, bool again)
{
	make_file_known(st, id, file_at(id->slot), again);
}

#endif

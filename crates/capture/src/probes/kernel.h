/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0 */
/*
 * The kernel types that the probes read, and only the fields that they read. Offsets come from
 * the running kernel's BTF (preserve_access_index), so the order and the size here mean nothing.
 * A name ending in ___old is the same type as an older kernel had it.
 */
#ifndef TIMESINK_KERNEL_H
#define TIMESINK_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s16 s16;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0

/* From the kernel's interface to user space (uapi/linux/bpf.h), which clang cannot include here
 * without the machine's own headers for the bpf target. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

#define KERNEL_TYPES _Pragma("clang attribute push (__attribute__((preserve_access_index)), apply_to = record)")
#define KERNEL_TYPES_END _Pragma("clang attribute pop")

KERNEL_TYPES

struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, r14, r15;
	unsigned long ax, orig_ax, ip, cs, sp, bp, bx;
};

/* Two words, for reading memory that is known to be there as such. */
struct list_head {
	struct list_head *next, *prev;
};

struct qstr {
	const unsigned char *name;
	u32 len;
};
struct work_struct {
	void *func;
};
struct super_block;
struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_generation;
	u32 i_rdev;
	long long i_size;
};
struct file_system_type {
	const char *name;
};
struct super_block {
	u32 s_dev;
	struct file_system_type *s_type;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct file {
	struct inode *f_inode;
	void *private_data;
	struct path f_path;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};

struct in6_addr {
	u8 s6_addr_first; /* the address is read as 16 bytes from here */
};
struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};
struct device {
	struct device *parent;
};
struct net_device {
	struct device dev;
};
struct dst_entry {
	struct net_device *dev;
};
struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	u16 sk_protocol;
	struct socket *sk_socket;
	struct dst_entry *sk_dst_cache;
};
struct inet_bind_bucket {
	signed char fastreuse;
};
struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
};
struct socket {
	short type;
	struct file *file;
	struct sock *sk;
};
struct unix_address {
	int len;
	/* struct sockaddr_un name[] follows */
};
struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct percpu_counter {
	s64 count;
};
typedef struct {
	s64 counter;
} atomic_long_t;
struct mm_rss_stat___old {
	atomic_long_t count[4];
};
struct mm_struct___old {
	struct mm_rss_stat___old rss_stat;
};
struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
	unsigned long start_stack;
	struct percpu_counter rss_stat[4];
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};
struct rq {
	u64 clock;
	u64 clock_task;
};
struct cfs_rq {
	int throttle_count;
	struct rq *rq;
};
struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 nr_migrations;
	struct cfs_rq *cfs_rq;
};
struct thread_info {
	u32 status;
};
struct thread_struct {
	unsigned long fsbase;
};
typedef struct {
	u32 val;
} kuid_t;
struct cred {
	kuid_t uid;
};
struct cpumask {
	unsigned long bits[1]; /* as many as the kernel was built for */
};
struct task_io_accounting {
	u64 syscr;
	u64 syscw;
};
struct task_struct {
	struct thread_info thread_info;
	struct thread_struct thread;
	int wake_cpu; /* where it runs, or did last */
	unsigned int __state;
	unsigned int flags;
	unsigned int on_cpu; /* one byte since 7.2: only what has no sign is loaded in its true size */
	int static_prio;
	unsigned int rt_priority;
	unsigned int policy;
	int nr_cpus_allowed;
	struct cpumask cpus_mask;
	int exit_code;
	int exit_state;
	s32 pid;
	s32 tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct files_struct *files;
	struct sched_entity se;
	struct sched_info sched_info;
	u64 utime;
	u64 stime;
	u64 start_time;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	const struct cred *cred;
	char comm[16];
	struct task_io_accounting ioac;
	unsigned in_iowait : 1;
	unsigned in_execve : 1;
};
struct task_struct___throttled {
	bool throttled;
};
struct linux_binprm {
	const char *filename;
};

struct address_space {
	struct inode *host;
};
struct folio {
	struct address_space *mapping;
};
/* What the page cache was made of before 5.16. */
struct page {
	struct address_space *mapping;
};

struct block_device {
	u32 bd_dev;
};
struct request {
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct block_device *part;
};

struct bpf_perf_event_data;
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

KERNEL_TYPES_END

/* The context of a perf_event program: user-space interface, fixed layout. */
/* Helpers that newer kernels have; which one is there is asked when the programs load. */
enum bpf_func_id {
	BPF_FUNC_kallsyms_lookup_name = 179,
	BPF_FUNC_loop = 181,
};

struct user_pt_regs_x86 {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
		cs, flags, sp, ss;
};
struct bpf_perf_event_data_x86 {
	struct user_pt_regs_x86 regs;
	u64 sample_period;
	u64 addr;
};

struct timespec_user {
	s64 sec;
	s64 nsec;
};
struct pollfd_user {
	s32 fd;
	s16 events;
	s16 revents;
};
struct epoll_event_user {
	u32 events;
	u64 data;
} __attribute__((packed));

#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_STOPPED_OR_TRACED (4 | 8)
#define TASK_DEAD 0x80
/* The static priority of a task with nice value 0. */
#define TASK_NICE_0 120
#define PF_KTHREAD 0x00200000
#define PF_WQ_WORKER 0x00000020
#define TS_COMPAT 2

#endif

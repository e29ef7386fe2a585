//! The file systems that were used, and the devices below them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use timesink_recording::words::FactKind::*;

use super::{chosen, read, Facts};

/// File systems that a process or another machine serves: asking them how much is free may take for ever.
const SERVED: [&str; 9] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "9p",
    "ceph",
    "glusterfs",
    "afs",
    "autofs",
];

/// `devices`: as the kernel numbers them.
pub fn add(facts: &mut Facts, devices: &BTreeSet<u32>) {
    let mounts = read("/proc/self/mountinfo");
    let mut seen = BTreeSet::new();
    for line in mounts.lines() {
        // 36 35 98:0 /root /mnt/point rw,noatime shared:1 - ext3 /dev/root rw,errors=continue
        let Some((before, after)) = line.split_once(" - ") else {
            continue;
        };
        let before: Vec<&str> = before.split(' ').collect();
        let after: Vec<&str> = after.split(' ').collect();
        let ([_, _, device, _, point, options, ..], [kind, _, of_all, ..]) =
            (before.as_slice(), after.as_slice())
        else {
            continue;
        };
        let number = device.split_once(':').and_then(|(major, minor)| {
            Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
        });
        if !number.is_some_and(|number| devices.contains(&number) && seen.insert(number)) {
            continue;
        }
        facts.add(Mount, format!("{point}, type"), kind);
        // Which files lie on it: the table of objects has the same number.
        if let Some(number) = number {
            facts.add(Mount, format!("{point}, number"), number.to_string());
        }
        facts.add(
            Mount,
            format!("{point}, options"),
            format!("{options},{of_all}"),
        );
        let served = SERVED.contains(kind) || kind.starts_with("fuse");
        if !served {
            add_free(facts, point);
        }
        let layer = match *kind {
            "overlay" => "overlay",
            _ if served => "served by others",
            _ => "",
        };
        facts.add(Layers, *point, layer);
        add_device(facts, point, device);
    }
}

fn add_free(facts: &mut Facts, point: &str) {
    // Blanks and their like stand as numbers in the list of mounts.
    let point_on_disk = point.replace("\\040", " ");
    if let Ok(about) = rustix::fs::statvfs(point_on_disk.as_str()) {
        let free = about.f_bavail.saturating_mul(about.f_frsize) >> 20;
        facts.add(FreeSpace, format!("{point}, MiB"), free.to_string());
        facts.add(
            FreeSpace,
            format!("{point}, inodes"),
            about.f_favail.to_string(),
        );
    }
}

fn add_device(facts: &mut Facts, point: &str, device: &str) {
    let folder = format!("/sys/dev/block/{device}");
    // A partition has its queue in the whole disk's folder.
    let own = Path::new(&folder).join("queue");
    let queue = if own.exists() {
        own
    } else {
        Path::new(&folder).join("../queue")
    };
    let name = fs::read_link(&folder).unwrap_or_default();
    let name = name
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    facts.add(Disk, format!("{point}, device"), name.unwrap_or_default());
    let at = |name: &str| read(queue.join(name));
    facts.add(Disk, format!("{point}, rotational"), at("rotational"));
    facts.add(
        Disk,
        format!("{point}, scheduler"),
        chosen(&at("scheduler")),
    );
    for name in ["nr_requests", "read_ahead_kb"] {
        facts.add(Disk, format!("{point}, {name}"), at(name));
    }
    for name in [
        "minimum_io_size",
        "optimal_io_size",
        "logical_block_size",
        "write_cache",
    ] {
        facts.add(DiskQueue, format!("{point}, {name}"), at(name));
    }
    let mapped = read(format!("{folder}/dm/uuid"));
    let kind = mapped.split('-').next().unwrap_or_default();
    facts.add(Layers, format!("{point}, device mapper"), kind);
}

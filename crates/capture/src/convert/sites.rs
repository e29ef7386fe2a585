//! From where calls were made. What was called, its path and its stack come as events of their own that have thread and
//! moment in common; here they meet.

use std::collections::HashMap;

use timesink_recording::tables::call_sites::CallSite;
use timesink_recording::{ObjectId, RecordingWriter};

use crate::convert::calls::{errno_name, CallNames};
use crate::convert::lives::Lives;
use crate::convert::objects::Objects;
use crate::convert::stacks::StackRows;
use crate::error::Error;
use crate::probes::{events as e, text};

struct Site {
    event: e::ts_site,
    object: Option<ObjectId>,
    path: String,
}

#[derive(Default)]
pub struct Sites {
    sites: Vec<Site>,
    /// Of each thread the last path that it looked up, and when.
    paths: HashMap<u32, (u64, String)>,
    /// By thread and moment.
    nodes: HashMap<(u32, u64), u32>,
}

impl Sites {
    pub fn lookup(&mut self, lookup: &e::ts_lookup) {
        let of_thread = self.paths.entry(lookup.head.thread).or_default();
        of_thread.0 = lookup.head.t;
        of_thread.1 = text(&lookup.path);
    }

    pub fn site(&mut self, site: &e::ts_site, objects: &mut Objects) {
        let object = objects.find(site.device, site.key, site.object_kind);
        let path = self.paths.get(&site.head.thread);
        let path = path.filter(|(t, _)| *t == site.head.t);
        self.sites.push(Site {
            event: *site,
            object: object.map(|object| object.id),
            path: path.map(|(_, path)| path.clone()).unwrap_or_default(),
        });
    }

    pub fn stack(&mut self, seen: &e::ts_seen) {
        self.nodes
            .insert((seen.head.thread, seen.head.t), seen.node);
    }

    pub fn write(
        &self,
        lives: &Lives,
        stacks: &StackRows,
        out: &mut RecordingWriter,
    ) -> Result<(), Error> {
        let mut names = CallNames::default();
        for site in &self.sites {
            let event = &site.event;
            let Some(thread) = lives.thread(event.head.thread) else {
                continue;
            };
            let node = self.nodes.get(&(event.head.thread, event.head.t));
            let error = match event.error {
                0 => String::new(),
                errno => errno_name(errno),
            };
            out.push(CallSite {
                thread,
                call: names.of(event.call, event.compat).into(),
                object: site.object,
                path: site.path.clone(),
                error,
                occurrence: u64::from(event.occurrence),
                t: lives.at(event.head.t),
                stack: node.and_then(|&node| stacks.of(node)),
            })?;
        }
        Ok(())
    }
}

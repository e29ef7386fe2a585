//! The names that a drawing gave to code so far.

use crate::ids::{FrameId, ModuleId, StackId};
use std::collections::BTreeMap;

/// What code was named so far, and its numbers.
#[derive(Default)]
pub(super) struct CodeNames {
    pub(super) frames: BTreeMap<String, FrameId>,
    pub(super) modules: BTreeMap<String, ModuleId>,
    pub(super) stacks: BTreeMap<(Option<StackId>, FrameId, bool), StackId>,
}

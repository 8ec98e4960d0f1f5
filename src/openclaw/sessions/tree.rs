//! The active branch of a transcript, for when OpenClaw's own index of it is stale.
//!
//! Events name their parents; the last one that is part of the conversation is the leaf, unless a
//! control row chose another; from there the parents lead back. What OpenClaw 2026.9.6 does when it
//! rebuilds its index is done here step by step, its corrections of stale parents included.

use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Which events are part of the conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Active {
    /// These, in their order.
    Path(Vec<i64>),
    /// All: none of them says what comes before it.
    Everything,
}

/// An event's place as it states it.
struct Place {
    id: String,
    parent: Option<String>,
    /// What the leaf is after it: unchanged, or this.
    #[expect(
        clippy::option_option,
        reason = "the inner one is a leaf, of which there may be none"
    )]
    leaf: Option<Option<String>>,
    append_parent: Option<String>,
    is_side: bool,
    is_control: bool,
}

struct Node {
    seq: i64,
    parent: Option<String>,
    is_control: bool,
}

/// Finds the branch from the events in the order of their numbers.
#[derive(Default)]
pub(super) struct Tree {
    nodes: HashMap<String, Node>,
    leaf: Option<String>,
    append_parent: Option<String>,
    latest_reset: Option<String>,
    after_reset: HashSet<String>,
    invalid_controls: HashSet<String>,
    has_control: bool,
}

impl Tree {
    pub(super) fn push(&mut self, seq: i64, event: &Value) {
        let mut stated = place(event);
        if let Some(control) = stated.as_mut().filter(|place| place.is_control) {
            self.hold_after_reset(control);
            let target = control.leaf.clone().flatten();
            if !self.is_known(target.as_ref()) || !self.is_known(control.append_parent.as_ref()) {
                // It chooses what is not there: nothing is chosen.
                self.invalid_controls.insert(control.id.clone());
                let parent = stated_parent(event).flatten();
                let node = Node { seq, parent, is_control: true };
                self.nodes.insert(control.id.clone(), node);
                return;
            }
        }
        let has_parent = stated.is_some();
        let Some(mut place) = stated.or_else(|| self.place_of_parentless(event)) else {
            return;
        };
        if is_canonical(event) {
            place.parent = self.canonical_parent(&place, has_parent);
        }
        let is_reset = event.get("type").and_then(Value::as_str) == Some("reset");
        if is_reset {
            self.latest_reset = Some(place.id.clone());
            self.after_reset = HashSet::from([place.id.clone()]);
        } else if self.latest_reset.is_some() && self.is_after_reset(place.parent.as_ref()) {
            self.after_reset.insert(place.id.clone());
        }
        self.append_parent = place.append_parent;
        if let Some(leaf) = place.leaf {
            self.leaf = leaf;
        }
        self.has_control |= place.is_control;
        let node = Node { seq, parent: place.parent, is_control: place.is_control };
        self.nodes.insert(place.id, node);
    }

    /// A control row cannot lead back to before a reset.
    fn hold_after_reset(&self, control: &mut Place) {
        let Some(target) = &control.leaf else { return };
        if self.latest_reset.is_some()
            && self.leaf.is_some()
            && !self.is_after_reset(target.as_ref())
        {
            control.parent.clone_from(&self.leaf);
            control.leaf = Some(self.leaf.clone());
            control.append_parent.clone_from(&self.leaf);
        }
    }

    fn is_after_reset(&self, id: Option<&String>) -> bool {
        id.is_some_and(|id| self.after_reset.contains(id))
    }

    fn is_known(&self, id: Option<&String>) -> bool {
        id.is_none_or(|id| self.nodes.contains_key(id) && !self.invalid_controls.contains(id))
    }

    /// The place of an event of the conversation that states no parent: after the leaf.
    fn place_of_parentless(&self, event: &Value) -> Option<Place> {
        if !is_canonical(event) || event.get("parentId").is_some() {
            return None;
        }
        let id = non_blank(event.get("id")?)?;
        Some(Place { parent: self.leaf.clone(), ..placed(id, None, event) })
    }

    /// The parent of an event of the conversation, where the stated one cannot be right.
    fn canonical_parent(&self, place: &Place, has_parent: bool) -> Option<String> {
        let is_before_reset =
            self.latest_reset.is_some() && !self.is_after_reset(place.parent.as_ref());
        let is_stale = has_parent
            && self.leaf.is_some()
            && place.parent.as_ref().is_some_and(|parent| !self.nodes.contains_key(parent));
        let is_beside =
            has_parent && place.parent == self.append_parent && self.leaf != self.append_parent;
        let at_leaf = !place.is_side && (is_before_reset || is_stale || is_beside);
        let mut at = if at_leaf { self.leaf.clone() } else { place.parent.clone() };
        let mut seen = HashSet::new();
        while let Some(id) = &at {
            match self.nodes.get(id) {
                // Control rows stand for what they chose.
                Some(node) if node.is_control => {
                    if !seen.insert(id.clone()) {
                        break;
                    }
                    at.clone_from(&node.parent);
                }
                _ => break,
            }
        }
        at
    }

    /// The branch that leads to the leaf.
    pub(super) fn active(&self) -> Active {
        let mut path = Vec::new();
        let mut seen = HashSet::new();
        let mut at = self.leaf.as_ref();
        while let Some(id) = at {
            if !seen.insert(id) {
                path.clear();
                break;
            }
            let Some(node) = self.nodes.get(id) else { break };
            if !node.is_control {
                path.push(node.seq);
            }
            at = node.parent.as_ref();
        }
        if path.is_empty() && !self.has_control {
            return Active::Everything;
        }
        path.reverse();
        Active::Path(path)
    }
}

/// The place that an event states; `None` for one that states none.
fn place(event: &Value) -> Option<Place> {
    let kind = event.get("type").and_then(Value::as_str);
    if kind == Some("session") {
        return None;
    }
    let parent = stated_parent(event)?;
    let id = non_blank(event.get("id")?)?;
    if kind != Some("leaf") {
        return Some(placed(id, parent, event));
    }
    let target = reference(event.get("targetId")?)?;
    let append_parent = match event.get("appendParentId") {
        None => target.clone(),
        Some(stated) => reference(stated)?,
    };
    let is_side = match event.get("appendMode") {
        None => false,
        Some(mode) if mode == "side" => true,
        Some(_) => return None,
    };
    let (parent, leaf) = (target.clone(), Some(target));
    Some(Place { id, parent, leaf, append_parent, is_side, is_control: true })
}

/// The place of an event that is no control row.
fn placed(id: String, parent: Option<String>, event: &Value) -> Place {
    let is_side = event.get("appendMode").is_some_and(|mode| mode == "side");
    let leaf = (is_canonical(event) && !is_side).then(|| Some(id.clone()));
    Place { parent, leaf, append_parent: Some(id.clone()), id, is_side, is_control: false }
}

/// The parent that an event states: one, or that it has none. `None` where it states nothing.
#[expect(clippy::option_option, reason = "the outer one says whether anything is stated")]
fn stated_parent(event: &Value) -> Option<Option<String>> {
    reference(event.get("parentId")?)
}

#[expect(clippy::option_option, reason = "the outer one says whether anything is stated")]
fn reference(value: &Value) -> Option<Option<String>> {
    if value.is_null() { Some(None) } else { non_blank(value).map(Some) }
}

fn non_blank(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    (!text.chars().all(crate::classify::text::is_js_space)).then(|| text.to_owned())
}

/// Whether an event is of a type that the conversation is made of.
fn is_canonical(event: &Value) -> bool {
    const TYPES: [&str; 10] = [
        "message",
        "thinking_level_change",
        "model_change",
        "compaction",
        "reset",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
    ];
    event.get("type").and_then(Value::as_str).is_some_and(|kind| TYPES.contains(&kind))
}

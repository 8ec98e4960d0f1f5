//! Was it ours: own texts, and what they excuse.

pub mod text;

//! One transaction: the signal log.

//! What the system says of a process: memory, time on a core, how often it woke.

use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::process::Child;
use std::time::Duration;

/// How often the threads of a process went to sleep by themselves.
#[derive(Clone, Copy)]
pub(crate) struct Sleeps {
    /// The thread that works.
    pub(crate) worker: u64,
    /// All threads together.
    pub(crate) all: u64,
}

/// A number of `/proc/<pid>/status` (memory in KiB).
fn status(path: &str, name: &str) -> u64 {
    let status = fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
}

fn threads(id: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).unwrap();
    tasks.map(|task| task.unwrap().path().to_str().unwrap().to_owned()).collect()
}

/// Memory now, in bytes.
pub(crate) fn memory(process: &Child) -> u64 {
    status(&format!("/proc/{}/status", process.id()), "VmRSS") << 10
}

/// The most memory since `forget_peak`, in bytes.
pub(crate) fn peak(process: &Child) -> u64 {
    status(&format!("/proc/{}/status", process.id()), "VmHWM") << 10
}

pub(crate) fn forget_peak(process: &Child) {
    fs::write(format!("/proc/{}/clear_refs", process.id()), "5").unwrap();
}

/// The time on a core of all threads that live, exact for those that sleep.
pub(crate) fn cpu(process: &Child) -> Duration {
    let nanoseconds = |task: &String| -> u64 {
        let schedstat = fs::read_to_string(format!("{task}/schedstat")).unwrap();
        schedstat.split_whitespace().next().unwrap().parse().unwrap()
    };
    Duration::from_nanos(threads(process.id()).iter().map(nanoseconds).sum())
}

/// The time on a core of the thread that asks.
pub(crate) fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}

pub(crate) fn sleeps(process: &Child) -> Sleeps {
    let mut sleeps = Sleeps { worker: 0, all: 0 };
    for task in threads(process.id()) {
        let count = status(&format!("{task}/status"), "voluntary_ctxt_switches");
        sleeps.all += count;
        if fs::read_to_string(format!("{task}/comm")).unwrap().trim() == "work" {
            sleeps.worker += count;
        }
    }
    sleeps
}

pub(crate) fn signal(process: &Child, signal: Signal) {
    let id = Pid::from_raw(process.id().cast_signed()).unwrap();
    kill_process(id, signal).unwrap();
}

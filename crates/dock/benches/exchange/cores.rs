//! Whose the processor was.

use std::collections::BTreeSet;
use std::path::Path;

/// Of Linux's clock that counts processor time.
const TICKS_A_SECOND: f64 = 100.0;

/// The threads of this process.
pub fn threads() -> BTreeSet<u32> {
    let tasks = std::fs::read_dir("/proc/self/task");
    let names = tasks.into_iter().flatten().flatten();
    let numbers = names.filter_map(|task| task.file_name().to_str()?.parse().ok());
    numbers.collect()
}

/// Seconds of processor time that these threads had.
pub fn of_threads(threads: &BTreeSet<u32>) -> f64 {
    let each = threads.iter();
    each.map(|thread| seconds(Path::new(&format!("/proc/self/task/{thread}/stat"))))
        .sum()
}

/// The same of a process.
pub fn of_process(process: u32) -> f64 {
    seconds(Path::new(&format!("/proc/{process}/stat")))
}

/// Nothing of what has ended, or where there is no `/proc`.
fn seconds(stat: &Path) -> f64 {
    let text = std::fs::read_to_string(stat).unwrap_or_default();
    // behind the name, which may contain anything; user and system time are the 14th and the 15th
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks = ticks.filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_A_SECOND
}

//! Whose the processor was.

/// Of Linux's clock that counts processor time.
const TICKS_A_SECOND: f64 = 100.0;

/// Seconds of processor time that a process had, with all its threads; nothing where there is no `/proc`.
pub fn of_process(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    let text = stat.unwrap_or_default();
    // behind the name, which may contain anything; user and system time are the 14th and the 15th
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks = ticks.filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_A_SECOND
}

/// The same of all programs together, with what other machines took of a virtual one.
pub fn of_machine() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    // user, nice, system, idle, waiting for disks, two of interrupts, stolen
    let fields = first.split_whitespace().skip(1).take(8).enumerate();
    let busy = fields.filter(|(place, _)| ![3, 4].contains(place));
    let ticks = busy.filter_map(|(_, field)| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_A_SECOND
}

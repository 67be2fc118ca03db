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

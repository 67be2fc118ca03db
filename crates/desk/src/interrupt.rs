//! Ctrl-C asks to stop: long work checks a flag and ends with what it has.

use crate::new_file;
use nix::sys::signal::{SigSet, Signal};
use std::fmt;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code that shells give to a process ended by Ctrl-C.
pub const EXIT_CODE: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static HANDLER: Once = Once::new();

/// The flag that the first Ctrl-C sets; the second ends the process at once.
pub fn stop_on_interrupt() -> &'static AtomicBool {
    HANDLER.call_once(|| {
        if is_hangup_ignored() {
            // threads to come inherit it
            let _ = SigSet::from(Signal::SIGHUP).thread_block();
        }
        // without a handler Ctrl-C ends the process, which is what it does anyway
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                new_file::remove_pending();
                std::process::exit(i32::from(EXIT_CODE));
            }
        });
    });
    &STOP
}

/// Whether `nohup` asked that the end of a terminal be passed over; a handler would undo that.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 << (Signal::SIGHUP as i32 - 1) != 0)
}

/// The work ended early because the user wished so; what there was to say has been said.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}
